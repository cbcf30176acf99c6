//! The frames of a scan before they are read, wherever they are.

mod joined;

use super::file_state::FileState;
use ndarray::{Array2, Array3, ArrayView2, ArrayViewMut2, ArrayViewMut3, Axis, s};
use rayon::prelude::*;
use std::ops::Range;
use warpstride_core::system::{Bytes, can_allocate};
use warpstride_files::IoError;
use warpstride_files::source::{
    ADVICE_SPARSE, ADVICE_UNCOMPRESSED, DIFFERENT, GREATEST_RATIO, LOOKED_AT, Look, LookFrom,
    Numbers, RATIO, UNJUDGED, check_stored, is_alike,
};
use warpstride_formats::{Element, FrameFile};

/// Frames (frame, row, column) that have not been read.
pub(super) struct FrameStack<'s> {
    shape: [usize; 3],
    scan_shape: Option<[usize; 2]>,
    stored: Stored<'s>,
    /// Factors (row, column) of the counts, and the least count that has none.
    factors: Option<(Array2<f32>, f32)>,
}

enum Stored<'s> {
    /// Datasets of rank 3 or 4, one after the other.
    Datasets(Vec<Numbers<'s>>),
    /// A file of frames.
    File {
        name: String,
        file: Box<dyn FrameFile>,
    },
    /// A file of frames that is opened whenever frames of it are read.
    Closed(FileState),
    /// Stacks with the same rows and columns, one after the other.
    Several(Vec<FrameStack<'s>>),
}

/// Most frames of a compressed file that are looked at before it is read, and most pixels.
const LOOKED_AT_FRAMES: usize = 8;
const LOOKED_AT_PIXELS: usize = 1 << 23;
/// Pixels that a thread reads of a file of frames before it takes others.
const BLOCK_PIXELS: usize = 1 << 18;

/// What frames have to be.
const RANK: &str = "rank 3 (frame, row, column) or 4 (slow, fast, row, column)";

/// Frames, rows and columns of a dataset, and the points of the raster (slow, fast) that its first
/// two axes are.
type Stack = ([usize; 3], Option<[usize; 2]>);

/// The frames of one dataset.
fn stack_of(numbers: &Numbers<'_>) -> Result<Stack, IoError> {
    let (shape, raster) = match numbers.shape() {
        [n, r, c] => ([*n, *r, *c], None),
        [slow, fast, r, c] => {
            let frames = slow.checked_mul(*fast);
            let frames = frames.ok_or_else(|| numbers.bad_shape("fewer frames"))?;
            ([frames, *r, *c], Some([*slow, *fast]))
        }
        _ => return Err(numbers.bad_shape(RANK)),
    };
    if shape.contains(&0) {
        return Err(numbers.bad_shape("at least one frame of at least one pixel"));
    }
    Ok((shape, raster))
}

impl<'s> FrameStack<'s> {
    /// The frames of one dataset: (frame, row, column), or (slow, fast, row, column) of a raster.
    ///
    /// # Errors
    /// Another rank, or no frames.
    pub(super) fn of_dataset(numbers: Numbers<'s>) -> Result<Self, IoError> {
        let (shape, scan_shape) = stack_of(&numbers)?;
        Ok(Self {
            shape,
            scan_shape,
            stored: Stored::Datasets(vec![numbers]),
            factors: None,
        })
    }

    /// The frames (frame, row, column) of several datasets, at least one, one after the other. The
    /// caller has checked that they have the same rows and columns.
    ///
    /// # Errors
    /// Another rank, or no frames.
    pub(super) fn of_datasets(datasets: Vec<Numbers<'s>>) -> Result<Self, IoError> {
        let mut all = [0_usize; 3];
        for numbers in &datasets {
            let (shape, _) = stack_of(numbers)?;
            let frames = all[0].checked_add(shape[0]);
            let frames = frames.ok_or_else(|| numbers.bad_shape("fewer frames"))?;
            all = [frames, shape[1], shape[2]];
        }
        Ok(Self {
            shape: all,
            scan_shape: None,
            stored: Stored::Datasets(datasets),
            factors: None,
        })
    }

    /// Multiplies counts below `least` by `factors` (row, column) when they are read; others mean
    /// no data and become infinite.
    pub(super) fn multiplied(mut self, factors: Array2<f32>, least: f32) -> Self {
        self.factors = Some((factors, least));
        self
    }

    /// The frames of a file of another format than HDF5.
    pub(super) fn of_file(name: &str, file: Box<dyn FrameFile>) -> Self {
        Self {
            shape: file.shape(),
            scan_shape: file.scan_shape(),
            stored: Stored::File {
                name: name.to_owned(),
                file,
            },
            factors: None,
        }
    }

    /// What errors and notes call the frames: a dataset, or what a file of frames has.
    pub(super) fn path(&self) -> &str {
        match &self.stored {
            Stored::Datasets(all) => all.first().map_or("", Numbers::path),
            Stored::Several(stacks) => stacks.first().map_or("", Self::path),
            Stored::File { .. } | Stored::Closed(_) => "frames",
        }
    }

    /// The file of the frames, or the first one.
    fn file(&self) -> &str {
        match &self.stored {
            Stored::Datasets(all) => all.first().map_or("", Numbers::file),
            Stored::Several(stacks) => stacks.first().map_or("", Self::file),
            Stored::File { name, .. } => name,
            Stored::Closed(state) => state.name(),
        }
    }

    /// Memory for counts (frame, row, column), all 0.
    ///
    /// # Errors
    /// The system refuses it, as under a limit of the address space.
    pub(super) fn zeros(&self, shape: [usize; 3]) -> Result<Array3<f32>, IoError> {
        let bytes = shape.iter().product::<usize>() as u64 * 4;
        // What was reserved is given back at once, as the system zeroes memory by itself only when
        // it is asked for it.
        match can_allocate(bytes) {
            Ok(()) => Ok(Array3::zeros(shape)),
            Err([needed, available]) => Err(IoError::TooLarge {
                file: self.file().to_owned(),
                dataset: self.path().to_owned(),
                needed,
                available,
            }),
        }
    }

    /// Numbers of frames, rows and columns, none of them 0.
    pub(super) fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Points of a raster (slow, fast), if the frames are stored as one, or a file of frames says
    /// so: then there may be more frames, or fewer.
    pub(super) fn scan_shape(&self) -> Option<[usize; 2]> {
        self.scan_shape
    }

    /// Refuses counts of which the file stores almost nothing, before memory is taken for them;
    /// ranges as for [`FrameStack::counts`]. `of_scan` says whether the option `data.sparse`
    /// permits them.
    ///
    /// # Errors
    /// As for `check_stored`: they were never written, or are almost all the same.
    pub(super) fn check_stored(
        &self,
        frames: Range<usize>,
        [rows, columns]: [&Range<usize>; 2],
        of_scan: bool,
    ) -> Result<(), IoError> {
        match &self.stored {
            Stored::Datasets(all) => {
                let mut blocks = blocks_of(all, frames)?;
                for (_, parts) in &mut blocks {
                    parts.extend([rows.clone(), columns.clone()]);
                }
                check_stored(&blocks, size_of::<f32>())
            }
            Stored::File { name, file } => check_stored_file(name, &**file, frames, of_scan),
            Stored::Closed(state) => {
                let file = self.reopened(state)?;
                check_stored_file(state.name(), &*file, frames, of_scan)
            }
            Stored::Several(stacks) => {
                let mut parts = parts(stacks, &frames).into_iter();
                parts.try_for_each(|(stack, range)| {
                    stack.check_stored(range, [rows, columns], of_scan)
                })
            }
        }
    }

    /// Like [`FrameStack::check_stored`], for all counts of several stacks together.
    ///
    /// # Errors
    /// They were never written, or are almost all the same.
    pub(super) fn check_all_stored<'a>(
        stacks: impl Iterator<Item = &'a Self>,
    ) -> Result<(), IoError>
    where
        's: 'a,
    {
        let mut all: Vec<(&Numbers<'_>, Vec<Range<usize>>)> = Vec::new();
        for stack in stacks {
            if let Stored::Datasets(datasets) = &stack.stored {
                for numbers in datasets {
                    all.push((numbers, numbers.shape().iter().map(|n| 0..*n).collect()));
                }
            }
        }
        check_stored(&all, size_of::<f32>())
    }

    /// Reads counts (frame, row, column) of ranges, which the caller has checked against the shape,
    /// and the memory for them.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn counts(
        &self,
        frames: Range<usize>,
        rows: &Range<usize>,
        columns: &Range<usize>,
    ) -> Result<Array3<f32>, IoError> {
        let mut counts = self.zeros([frames.len(), rows.len(), columns.len()])?;
        let to = counts.as_slice_mut().unwrap_or_default();
        self.counts_into(frames, [rows, columns], to, None)?;
        Ok(counts)
    }

    /// Like [`FrameStack::counts`], into memory for these counts, 0 before. `look` sees whole rows
    /// of them, unless they are not as the file has them, or it does not have all.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn counts_into(
        &self,
        frames: Range<usize>,
        window: [&Range<usize>; 2],
        to: &mut [f32],
        look: Option<&dyn Look<f32>>,
    ) -> Result<(), IoError> {
        let look = look.filter(|_| self.factors.is_none());
        let [rows, columns] = window;
        match &self.stored {
            Stored::Datasets(all) => counts_of(all, frames, window, to, look)?,
            Stored::File { name, file } => {
                counts_of_file((name, &**file), frames, window, to, look)?;
            }
            Stored::Closed(state) => {
                let file = self.reopened(state)?;
                counts_of_file((state.name(), &*file), frames, window, to, look)?;
            }
            Stored::Several(stacks) => counts(stacks, &frames, window, to, look)?,
        }
        if let Some((factors, least)) = &self.factors {
            let factors = factors.slice(s![rows.clone(), columns.clone()]);
            for frame in to.chunks_mut(factors.len().max(1)) {
                for (count, factor) in frame.iter_mut().zip(&factors) {
                    *count = if *count < *least {
                        *count * factor
                    } else {
                        f32::INFINITY
                    };
                }
            }
        }
        Ok(())
    }
}

/// Blocks of datasets with the range of points along their first axes.
type Blocks<'n, 's> = Vec<(&'n Numbers<'s>, Vec<Range<usize>>)>;

/// The datasets that have `frames`, and the range of points along their first axes.
fn blocks_of<'n, 's>(
    datasets: &'n [Numbers<'s>],
    frames: Range<usize>,
) -> Result<Blocks<'n, 's>, IoError> {
    let mut blocks = Vec::new();
    let mut begin = 0;
    for numbers in datasets {
        let ([count, ..], raster) = stack_of(numbers)?;
        let first = frames.start.max(begin) - begin;
        let end = frames.end.min(begin + count).max(begin) - begin;
        begin += count;
        if first >= end {
            continue;
        }
        match raster {
            None => blocks.push((numbers, std::iter::once(first..end).collect())),
            Some([_, fast]) => {
                let parts = raster_parts(first..end, fast).into_iter();
                blocks.extend(parts.map(|points| (numbers, points)));
            }
        }
    }
    Ok(blocks)
}

/// Reads a range of the frames of datasets that follow one another.
fn counts_of(
    datasets: &[Numbers<'_>],
    frames: Range<usize>,
    [rows, columns]: [&Range<usize>; 2],
    to: &mut [f32],
    look: Option<&dyn Look<f32>>,
) -> Result<(), IoError> {
    let pixels = rows.len() * columns.len();
    let all = to.len();
    let mut left = to;
    for (numbers, mut block) in blocks_of(datasets, frames)? {
        let some: usize = block.iter().map(ExactSizeIterator::len).product();
        let first = all - left.len();
        let to = left.split_off_mut(..some * pixels);
        let to = to.ok_or_else(|| numbers.bad_shape(RANK))?;
        block.extend([rows.clone(), columns.clone()]);
        let look = look.map(|look| LookFrom { first, look });
        numbers.part_into(&block, to, look.as_ref().map(|look| look as &dyn Look<f32>))?;
    }
    Ok(())
}

/// The frames of a raster with `fast` points in a row, as blocks (slow, fast): whole rows together.
fn raster_parts(frames: Range<usize>, fast: usize) -> Vec<Vec<Range<usize>>> {
    let mut parts = Vec::new();
    let mut at = frames.start;
    while at < frames.end {
        let (slow, first) = (at / fast, at % fast);
        let left = frames.end - at;
        let (slow, points) = if first == 0 && left >= fast {
            (slow..slow + left / fast, 0..fast)
        } else {
            (slow..slow + 1, first..fast.min(first + left))
        };
        at += slow.len() * points.len();
        parts.push(vec![slow, points]);
    }
    parts
}

/// Refuses frames of which a compressed file stores almost nothing.
fn check_stored_file(
    name: &str,
    file: &dyn FrameFile,
    frames: Range<usize>,
    of_scan: bool,
) -> Result<(), IoError> {
    let [all, rows, columns] = file.shape().map(|n| n as u128);
    let pixels = rows.saturating_mul(columns);
    let bytes = |frames: u128, bits: u8| {
        (frames.saturating_mul(pixels)).saturating_mul(u128::from(bits) / 8)
    };
    let bits = match file.element() {
        Element::Unsigned(bits) | Element::Signed(bits) | Element::Float(bits) => bits.max(8),
        Element::Bool => 8,
    };
    let Some(stored) = file.stored_bytes() else {
        return Ok(());
    };
    let decoded = bytes(all, bits);
    let ratio = decoded / u128::from(stored.max(1));
    if bytes(frames.len() as u128, 32) <= UNJUDGED || ratio <= LOOKED_AT {
        return Ok(());
    }
    let expected = if ratio > GREATEST_RATIO {
        RATIO
    } else if first_frames_are_alike(file, frames)? {
        DIFFERENT
    } else {
        return Ok(());
    };
    Err(IoError::Unsupported {
        file: name.to_owned(),
        dataset: "frames".to_owned(),
        expected,
        found: format!("{} in {}", Bytes(decoded), Bytes(stored.into())),
        advice: if of_scan {
            ADVICE_SPARSE
        } else {
            ADVICE_UNCOMPRESSED
        },
    })
}

/// Whether the numbers of the first of `frames` are almost all the same, or too many to look at.
fn first_frames_are_alike(file: &dyn FrameFile, frames: Range<usize>) -> Result<bool, IoError> {
    let [_, rows, columns] = file.shape();
    let pixels = rows.saturating_mul(columns);
    let (mut changes, mut numbers) = (0, 0);
    for frame in frames.take((LOOKED_AT_PIXELS / pixels.max(1)).min(LOOKED_AT_FRAMES)) {
        let mut values = vec![0.0_f64; pixels];
        file.read_f64(frame..frame + 1, &mut values)?;
        changes += values.windows(2).filter(|two| two[0] != two[1]).count();
        numbers += pixels;
    }
    Ok(is_alike(changes, numbers))
}

/// Reads a range of the frames of a file.
fn counts_of_file(
    (name, file): (&str, &dyn FrameFile),
    frames: Range<usize>,
    [rows, columns]: [&Range<usize>; 2],
    to: &mut [f32],
    look: Option<&dyn Look<f32>>,
) -> Result<(), IoError> {
    let [_, all_rows, all_columns] = file.shape();
    let damaged = |reason: String| IoError::Damaged {
        file: name.to_owned(),
        dataset: "frames".to_owned(),
        reason,
    };
    let whole = rows.len() == all_rows && columns.len() == all_columns;
    // Integers of 32 bits mark pixels without data and are rounded as those of HDF5 files.
    let rounded = matches!(
        file.element(),
        Element::Unsigned(32..) | Element::Signed(32..) | Element::Float(64..)
    );
    let mut to = ArrayViewMut3::from_shape((frames.len(), rows.len(), columns.len()), to)
        .map_err(|e| damaged(e.to_string()))?;
    let of_window = rows.len() * columns.len();
    let pixels = all_rows * all_columns;
    let see = |to: &mut ArrayViewMut2<'_, f32>, number: usize| {
        if let (Some(look), Some(counts)) = (look, to.as_slice_mut()) {
            look.at((number - frames.start) * of_window)(counts);
        }
    };
    // One frame after the other, of the whole frame the window.
    let read = |(mut block, first): (ArrayViewMut3<'_, f32>, usize)| -> Result<(), IoError> {
        let mut singles = vec![0.0_f32; if whole && !rounded { 0 } else { pixels }];
        let mut doubles = vec![0.0_f64; if rounded { pixels } else { 0 }];
        for (mut to, number) in block.outer_iter_mut().zip(first..) {
            let range = number..number + 1;
            if rounded {
                file.read_f64(range, &mut doubles)?;
                for (to, from) in singles.iter_mut().zip(&doubles) {
                    *to = *from as f32;
                }
            } else if let (true, Some(counts)) = (whole, to.as_slice_mut()) {
                file.read(range, counts)?;
                see(&mut to, number);
                continue;
            } else {
                file.read(range, &mut singles)?;
            }
            let read = ArrayView2::from_shape((all_rows, all_columns), &singles)
                .map_err(|e| damaged(e.to_string()))?;
            to.assign(&read.slice(s![rows.clone(), columns.clone()]));
            see(&mut to, number);
        }
        Ok(())
    };
    if file.is_sequential() {
        read((to.view_mut(), frames.start))?;
    } else {
        let together = (BLOCK_PIXELS / pixels.max(1)).max(1);
        let blocks = to.axis_chunks_iter_mut(Axis(0), together);
        let blocks: Vec<_> = blocks.zip(frames.clone().step_by(together)).collect();
        blocks.into_par_iter().try_for_each(read)?;
    }
    Ok(())
}

/// The stacks that have some of `frames`, of stacks that follow one another, and which frames of
/// each.
fn parts<'n, 's>(
    stacks: &'n [FrameStack<'s>],
    frames: &Range<usize>,
) -> Vec<(&'n FrameStack<'s>, Range<usize>)> {
    let mut parts = Vec::new();
    let mut begin = 0;
    for stack in stacks {
        let [count, ..] = stack.shape;
        let first = frames.start.max(begin) - begin;
        let end = frames.end.min(begin + count).max(begin) - begin;
        begin += count;
        if first < end {
            parts.push((stack, first..end));
        }
    }
    parts
}

/// Reads a range of the frames of stacks that follow one another.
fn counts(
    stacks: &[FrameStack<'_>],
    frames: &Range<usize>,
    window: [&Range<usize>; 2],
    to: &mut [f32],
    look: Option<&dyn Look<f32>>,
) -> Result<(), IoError> {
    let pixels = window[0].len() * window[1].len();
    let mut first = 0;
    for (stack, range) in parts(stacks, frames) {
        let end = first + range.len() * pixels;
        let some = to.get_mut(first..end).unwrap_or_default();
        let look = look.map(|look| LookFrom { first, look });
        let look = look.as_ref().map(|look| look as &dyn Look<f32>);
        stack.counts_into(range, window, some, look)?;
        first = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_64_bits_are_rounded() {
        let file = "formats/tests/vectors/numpy/largest.npy";
        let path = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(file);
        let stack = FrameStack::of_file(file, warpstride_formats::open(&path).unwrap());
        let counts = stack.counts(0..1, &(0..1), &(1..4)).unwrap();
        // 2^24 + 1, 2^63 and 2^64 - 1.
        let expected = [16_777_216.0, 2_f32.powi(63), 2_f32.powi(64)];
        assert_eq!(counts.into_raw_vec_and_offset().0, expected);
    }

    #[test]
    fn blocks_of_a_raster_are_its_frames_in_their_order() {
        for fast in 1..5 {
            for first in 0..9 {
                for end in first..13 {
                    let parts = raster_parts(first..end, fast);
                    let frames: Vec<usize> = (parts.iter())
                        .flat_map(|block| {
                            let points = block[1].clone();
                            block[0]
                                .clone()
                                .flat_map(move |row| points.clone().map(move |n| row * fast + n))
                        })
                        .collect();
                    assert_eq!(frames, (first..end).collect::<Vec<_>>(), "{fast}");
                    assert!(parts.len() <= 3);
                }
            }
        }
    }
}
