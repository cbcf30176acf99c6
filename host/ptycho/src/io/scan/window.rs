//! Selection of frames, rows and columns, and reading of frames and masks within it.

use super::ReadOptions;
use super::frame_stack::FrameStack;
use super::prepare::layout::{Layout, misfit};
use crate::data::{FrameWriter, Frames, Inspection, Mask, StoredPixels};
use crate::{Centre, CentreSetting};
use ndarray::{Array2, Array3, Axis, Ix2, Ix3, Slice, s};
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use warpstride_files::source::{Look, Numbers, OfSome};
use warpstride_files::{InputFile, IoError};

/// Bytes of a pixel in a reconstruction with all counts in host memory: 4 of counts, 4 of √counts,
/// up to 4 of what goes to the device, and 2 for object and probe, whose size is not known yet.
pub(super) const RECONSTRUCTED: u128 = 14;

/// Most pixels that are read at once into a temporary file: 64 MiB.
const PART_PIXELS: usize = 1 << 24;

/// Frames, rows and columns to read, which are those that the options keep of the frames as they
/// are stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Window {
    pub(super) frames: Range<usize>,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
    /// Frames, rows and columns of the file.
    pub(super) stored: [usize; 3],
    /// Points (slow, fast) of the raster that the frames of the file are stored as, if they are.
    pub(super) raster: Option<[usize; 2]>,
    /// Rows and columns by which frames have been shifted cyclically after reading.
    pub(super) roll: [isize; 2],
    /// Whether frames are read of which the file stores almost nothing.
    pub(super) sparse: bool,
    /// Whether the counts are taken as they are read: options neither change nor select pixels or
    /// frames afterwards.
    pub(super) as_read: bool,
    /// Frames of the file that are left out, as they have no position.
    pub(super) without_position: HashSet<usize>,
    /// Metres of a number of the positions in their file.
    pub(super) metres_of_position: Option<f64>,
    /// What is doubtful about the positions of the frames.
    pub(super) doubts: Vec<String>,
}

impl Window {
    /// The window that `options` select from frames of `shape` (frame, row, column).
    pub(super) fn new(
        file: &str,
        shape: [usize; 3],
        options: &ReadOptions,
    ) -> Result<Self, IoError> {
        let refuse = |option, reason| Err(misfit(file, (option, reason)));
        let [count, rows, columns] = shape;
        let frames = match options.frames {
            None => 0..count,
            Some([first, end]) if first < end && end <= count => first..end,
            Some([first, end]) => {
                return refuse(
                    "data.frames",
                    format!(
                        "expected [first, end] with 0 <= first < end <= {count}, found [{first}, {end}]"
                    ),
                );
            }
        };
        let new = |centre| {
            Layout::new([rows, columns], options, centre).map_err(|error| misfit(file, error))
        };
        let [rows, columns] = match options.centre {
            None => new(None)?.window(),
            Some(Centre::At(centre)) => new(Some(centre))?.window(),
            // The centre is found in whole frames, which are shifted as a whole, and other options
            // have to fit at once.
            Some(Centre::Setting(CentreSetting::Auto | CentreSetting::Shifted)) => {
                new(None)?;
                [0..rows, 0..columns]
            }
        };
        Ok(Self {
            frames,
            rows,
            columns,
            stored: shape,
            raster: None,
            roll: [0; 2],
            sparse: options.sparse,
            as_read: !(options.prepares_pixels() || options.selects_frames()),
            without_position: HashSet::new(),
            metres_of_position: None,
            doubts: Vec::new(),
        })
    }

    /// The same for frames that are stored as a raster (slow, fast), if they are.
    pub(super) fn with_raster(mut self, raster: Option<[usize; 2]>) -> Self {
        self.raster = raster;
        self
    }

    /// Where the pixels of frames that are only cut are in the file.
    pub(super) fn in_file(&self) -> StoredPixels {
        let first = [self.rows.start, self.columns.start];
        StoredPixels {
            roll: self.roll,
            turned: [self.stored[1], self.stored[2]],
            swapped: false,
            inverted: [false; 2],
            first: first.map(|first| i64::try_from(first).unwrap_or(i64::MAX)),
            bin: 1,
        }
    }

    /// A sentence on light around the first pixel of the frames that were read, with what moves it
    /// to the middle. Frames may have been `shifted` because an option said so.
    pub(super) fn remedy_of_corner(&self, shifted: bool) -> String {
        let sides = [self.stored[1], self.stored[2]];
        let [row, column] = sides.map(|side| side / 2);
        if shifted {
            return format!(
                "--centre shifted (data.centre) moves the light of these frames from their middle to the first pixel, (0, 0): without it, or with --centre {row},{column}, they are taken as they are stored"
            );
        }
        let found = "expected the zero frequency in the middle of the frames, found the light around the first pixel, (0, 0)";
        if self.roll == [0; 2] {
            return format!(
                "{found}, as a Fourier transform has it; --centre shifted moves it to the middle, and --centre {row},{column} takes the frames as they are"
            );
        }
        // Where the light was before the file's centre was moved to the middle: of odd sides, a
        // pixel beside it.
        let [row, column] = [0, 1].map(|axis| {
            let side = sides[axis].max(1);
            let place = (-self.roll[axis]).rem_euclid(side as isize) as usize;
            match place.abs_diff(side / 2) {
                0 | 1 => side / 2,
                _ => place,
            }
        });
        format!(
            "{found}, after the frames were shifted cyclically, as the file says: its centre is wrong, and --centre {row},{column} is where the light is in the frames as they are stored"
        )
    }

    /// Bytes needed while reading the frames and, if there is one mask per frame, the masks.
    pub(super) fn bytes(&self, per_frame_mask: bool) -> u128 {
        // f32 counts; a mask is read as f32 and kept as bool.
        let each = if per_frame_mask { 4 + 4 + 1 } else { 4 };
        let [frames, rows, columns] = self.shape().map(|n| n as u128);
        rows.saturating_mul(columns)
            .saturating_mul(frames)
            .saturating_mul(each)
    }

    /// Numbers of frames, rows and columns.
    pub(super) fn shape(&self) -> [usize; 3] {
        [&self.frames, &self.rows, &self.columns].map(ExactSizeIterator::len)
    }

    /// Whether the counts are copied to a temporary file: there is a folder for it, and a
    /// reconstruction with all of them in memory would exceed the limit. Otherwise they must fit
    /// into memory, with masks if there is one per frame. Counts of which the file stores almost
    /// nothing are refused.
    pub(super) fn in_scratch<'p>(
        &self,
        input: &InputFile,
        frames: &FrameStack<'_>,
        per_frame_mask: bool,
        scratch: Option<&'p Path>,
    ) -> Result<Option<&'p Path>, IoError> {
        let scratch = self.of_path_in_scratch(input, frames.path(), per_frame_mask, scratch)?;
        if !self.sparse {
            frames.check_stored(self.frames.clone(), [&self.rows, &self.columns], true)?;
        }
        Ok(scratch)
    }

    /// Like [`Window::in_scratch`] for frames that errors call `path`, without looking at what the
    /// file stores of them.
    pub(super) fn of_path_in_scratch<'p>(
        &self,
        input: &InputFile,
        path: &str,
        per_frame_mask: bool,
        scratch: Option<&'p Path>,
    ) -> Result<Option<&'p Path>, IoError> {
        let [frames, rows, columns] = self.shape().map(|n| n as u128);
        let pixels = frames.saturating_mul(rows).saturating_mul(columns);
        let limit = u128::from(input.memory().limit());
        let scratch = scratch.filter(|_| pixels.saturating_mul(RECONSTRUCTED) > limit);
        let kept = match scratch {
            // A part as it was read, without masked pixels, and in its file; and one mask per
            // frame.
            Some(_) => {
                let frame = rows.saturating_mul(columns);
                let part = frame.saturating_mul(12 * self.part(input) as u128);
                part.saturating_add(if per_frame_mask { pixels } else { 0 })
            }
            None => self.bytes(per_frame_mask),
        };
        input.allow(path, kept)?;
        Ok(scratch)
    }

    /// Frames of a part of these that is read at once.
    pub(super) fn part(&self, input: &InputFile) -> usize {
        let most = usize::try_from(input.memory().limit() / 64).unwrap_or(usize::MAX);
        let frame = self.rows.len().saturating_mul(self.columns.len()).max(1);
        (PART_PIXELS.min(most) / frame).max(1)
    }

    /// These frames in parts that are read one after the other.
    pub(super) fn parts(&self, input: &InputFile) -> impl Iterator<Item = Self> {
        let (most, end) = (self.part(input), self.frames.end);
        self.frames.clone().step_by(most).map(move |first| Self {
            frames: first..end.min(first + most),
            ..self.clone()
        })
    }

    /// Reads counts (frame, row, column), into a temporary file in the folder `scratch` if there is
    /// one. Otherwise the sums over the pixels that `mask` leaves, one for all frames, are found
    /// while they are read, and the others may be 0.
    pub(super) fn frames(
        &self,
        input: &InputFile,
        frames: &FrameStack<'_>,
        (mask, scratch): (Option<&Mask>, Option<&Path>),
    ) -> Result<Frames, IoError> {
        let Some(folder) = scratch else {
            let mut counts = frames.zeros(self.shape())?;
            let to = counts.as_slice_mut().unwrap_or_default();
            let inspection = self.inspection(input, frames.path(), mask);
            let look = inspection.as_ref().map(|look| look as &dyn Look<f32>);
            let window = [&self.rows, &self.columns];
            frames.counts_into(self.frames.clone(), window, to, look)?;
            let inspected = inspection.and_then(Inspection::finish);
            return Ok(Frames::inspected(counts, inspected));
        };
        let mut writer = FrameWriter::in_scratch(folder, self.shape())?;
        for part in self.parts(input) {
            let counts = part.counts(frames)?;
            writer.put(part.frames.start - self.frames.start, counts.view())?;
        }
        Ok(writer.finish())
    }

    /// A look at the counts while they are read, if there is memory for it, and they are not
    /// changed later.
    fn inspection<'m>(
        &self,
        input: &InputFile,
        path: &str,
        mask: Option<&'m Mask>,
    ) -> Option<Inspection<'m>> {
        let valid = match mask {
            None => None,
            Some(Mask::Shared(valid)) => Some(valid),
            Some(Mask::PerFrame(_)) => return None,
        };
        let more = Inspection::bytes(self.shape(), rayon::current_num_threads());
        let bytes = self.bytes(false).saturating_add(more);
        if !self.as_read || input.allow(path, bytes).is_err() {
            return None;
        }
        Inspection::new(self.shape(), valid)
    }

    /// Reads counts (frame, row, column).
    pub(super) fn counts(&self, frames: &FrameStack<'_>) -> Result<Array3<f32>, IoError> {
        frames.counts(self.frames.clone(), &self.rows, &self.columns)
    }

    /// Reads values of a dataset (frame, row, column).
    pub(super) fn values(&self, numbers: &Numbers<'_>) -> Result<Array3<f32>, IoError> {
        let parts = [self.frames.clone(), self.rows.clone(), self.columns.clone()];
        numbers
            .part(&parts)?
            .into_dimensionality::<Ix3>()
            .map_err(|_| numbers.bad_shape("shape (frame, row, column)"))
    }

    /// Reads a mask for frames of `shape` (frame, row, column) in the file; `valid` says which of
    /// its values mark valid pixels.
    pub(super) fn mask(
        &self,
        input: &InputFile,
        mask: &Numbers<'_>,
        shape: [usize; 3],
        valid: impl Fn(f32) -> bool,
    ) -> Result<Mask, IoError> {
        let [count, rows, columns] = shape;
        let wrong = || {
            mask.bad_shape(&format!(
                "shape ({rows}, {columns}) or ({count}, {rows}, {columns}), as for the frames"
            ))
        };
        let plane = [self.rows.clone(), self.columns.clone()];
        let shared = |parts: &[Range<usize>]| -> Result<Mask, IoError> {
            let read = mask.part(parts)?;
            let plane: Array2<f32> = if read.ndim() == 3 {
                read.index_axis_move(Axis(0), 0)
                    .into_dimensionality::<Ix2>()
                    .map_err(|_| wrong())?
            } else {
                read.into_dimensionality::<Ix2>().map_err(|_| wrong())?
            };
            Ok(Mask::Shared(plane.mapv(&valid)))
        };
        match mask.shape() {
            [r, c] if [*r, *c] == [rows, columns] => shared(&plane),
            [n, r, c] if [*n, *r, *c] == shape => {
                let mut all = Array3::from_elem(self.shape(), false);
                for part in self.parts(input) {
                    let first = part.frames.start - self.frames.start;
                    let read = part.values(mask)?;
                    let mut to = all.slice_mut(s![first..first + part.frames.len(), .., ..]);
                    to.zip_mut_with(&read, |to, value| *to = valid(*value));
                }
                Ok(Mask::PerFrame(all))
            }
            [1, r, c] if [*r, *c] == [rows, columns] => {
                shared(&[0..1, plane[0].clone(), plane[1].clone()])
            }
            _ => Err(wrong()),
        }
    }

    /// The frames of the file that the options select.
    pub(super) fn selected(&self, options: &ReadOptions) -> Vec<usize> {
        let excluded: HashSet<usize> = options.exclude.iter().copied().collect();
        (self.frames.clone())
            .step_by(options.every.unwrap_or(1).max(1))
            .filter(|frame| !excluded.contains(frame))
            .collect()
    }

    /// Leaves out frames of the file that have no position.
    pub(super) fn leave_out(&mut self, frames: &[usize]) {
        self.without_position.extend(frames);
        self.as_read = false;
    }

    /// Positions of the range of frames.
    pub(super) fn select(&self, positions: &Array2<f64>) -> Array2<f64> {
        positions
            .slice_axis(Axis(0), Slice::from(self.frames.clone()))
            .to_owned()
    }
}

impl Look<f32> for Inspection<'_> {
    fn at(&self, first: usize) -> OfSome<'_, f32> {
        let mut visit = self.visit(first);
        Box::new(move |counts| visit.add(counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_outside_the_file_are_refused() {
        let options = |frames, crop| ReadOptions {
            frames,
            crop,
            ..ReadOptions::default()
        };
        let shape = [10, 8, 6];
        assert!(Window::new("f", shape, &options(Some([0, 11]), None)).is_err());
        assert!(Window::new("f", shape, &options(Some([4, 4]), None)).is_err());
        assert!(Window::new("f", shape, &options(None, Some([9, 6]))).is_err());
        assert!(Window::new("f", shape, &options(None, Some([0, 6]))).is_err());
        let w = Window::new("f", shape, &options(Some([2, 5]), Some([4, 3]))).unwrap();
        assert_eq!((w.frames, w.rows, w.columns), (2..5, 2..6, 2..5));
    }
}
