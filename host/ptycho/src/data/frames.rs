//! The counts of a scan's frames: in memory, in a temporary file if they are too many, or
//! elsewhere.

use super::{CountSums, Inspected, Mask};
use ndarray::ArrayViewMut2;
use ndarray::{Array3, ArrayView2, ArrayView3, Axis, s};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;
use warpstride_core::system::{ScratchError, ScratchFile};

/// Pixels that are worked on together: 64 MiB in single precision.
const BLOCK_PIXELS: usize = 1 << 24;

/// Frames that are worked on together.
pub(super) fn block_frames(rows: usize, columns: usize) -> usize {
    (BLOCK_PIXELS / (rows * columns).max(1)).max(1)
}

/// Values other than small counts that files have, often on pixels without data. They are the last
/// codes of 16 bits.
const SPECIAL: [f32; 8] = [
    f32::NAN,
    -1.0,
    -2.0,
    18_446_744_073_709_551_615.0,
    9_223_372_036_854_775_807.0,
    4_294_967_295.0,
    2_147_483_647.0,
    65_535.0,
];

/// Code of the first of [`SPECIAL`]; smaller codes are the counts themselves.
const FIRST_SPECIAL: u16 = u16::MAX - SPECIAL.len() as u16 + 1;

fn encode(value: f32) -> Option<u16> {
    if (0.0..f32::from(FIRST_SPECIAL)).contains(&value) {
        let counts = value as u16;
        return (f32::from(counts) == value).then_some(counts);
    }
    let same = |special: &f32| *special == value || (special.is_nan() && value.is_nan());
    let place = SPECIAL.iter().position(same)?;
    Some(FIRST_SPECIAL + place as u16)
}

fn decode(code: u16) -> f32 {
    match code.checked_sub(FIRST_SPECIAL) {
        Some(place) => SPECIAL[usize::from(place)],
        None => f32::from(code),
    }
}

/// Counts that are elsewhere than in the memory of the host, in that of a GPU for example.
pub trait FrameReader: std::fmt::Debug + Send + Sync {
    /// Copies the counts of a frame (row, column), of which masked pixels may have any value.
    ///
    /// # Errors
    /// They cannot be read.
    fn read(&self, number: usize, to: &mut [f32]) -> Result<(), ScratchError>;
}

#[derive(Debug, Clone)]
enum Kept {
    Memory(Array3<f32>),
    Elsewhere(Arc<dyn FrameReader>),
    /// Codes of 16 bits.
    Short(Arc<ScratchFile<u16>>),
    Single(Arc<ScratchFile<f32>>),
}

/// Values (frame, row, column), in memory or in a temporary file.
#[derive(Debug, Clone)]
pub struct Frames {
    shape: [usize; 3],
    kept: Kept,
    /// What was found of values in memory when they were read.
    inspected: Option<Arc<Inspected>>,
    /// Sums of values that are elsewhere.
    sums: Option<Arc<CountSums>>,
}

impl PartialEq for Frames {
    /// Those that are not in memory are equal if they are the same.
    fn eq(&self, other: &Self) -> bool {
        let same = match (&self.kept, &other.kept) {
            (Kept::Memory(a), Kept::Memory(b)) => a == b,
            (Kept::Elsewhere(a), Kept::Elsewhere(b)) => Arc::ptr_eq(a, b),
            (Kept::Short(a), Kept::Short(b)) => Arc::ptr_eq(a, b),
            (Kept::Single(a), Kept::Single(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        same && self.shape == other.shape
    }
}

impl From<Array3<f32>> for Frames {
    fn from(frames: Array3<f32>) -> Self {
        let (count, rows, columns) = frames.dim();
        // Standard layout, so that frames are slices.
        let frames = if frames.is_standard_layout() {
            frames
        } else {
            frames.as_standard_layout().into_owned()
        };
        Self::new([count, rows, columns], Kept::Memory(frames))
    }
}

impl Frames {
    fn new(shape: [usize; 3], kept: Kept) -> Self {
        Self {
            shape,
            kept,
            inspected: None,
            sums: None,
        }
    }

    /// Values (frame, row, column) that are elsewhere, with what is known of them: all that the
    /// mask of their scan leaves are finite and not negative, and `sums` are sums over these.
    #[must_use]
    pub fn elsewhere(shape: [usize; 3], reader: Arc<dyn FrameReader>, sums: CountSums) -> Self {
        Self {
            sums: Some(Arc::new(sums)),
            ..Self::new(shape, Kept::Elsewhere(reader))
        }
    }

    /// Whether the values are neither in memory nor in a temporary file.
    #[must_use]
    pub fn are_elsewhere(&self) -> bool {
        matches!(self.kept, Kept::Elsewhere(_))
    }

    /// Values (frame, row, column) in memory, of which something was found when they were read.
    pub(crate) fn inspected(values: Array3<f32>, inspected: Option<Inspected>) -> Self {
        Self {
            inspected: inspected.map(Arc::new),
            ..values.into()
        }
    }

    /// The largest value of the pixels that `mask` leaves, if it is known that all are finite and
    /// not negative.
    pub(crate) fn known_largest(&self, mask: Option<&Mask>) -> Option<f32> {
        self.inspected.as_ref()?.largest(mask)
    }

    /// Sums over values of which the pixels that `mask` does not leave are 0 already, if they are
    /// known; they are kept no longer.
    pub(super) fn take_sums(&mut self, mask: &Mask) -> Option<CountSums> {
        if let Some(known) = self.sums.take() {
            return Some(Arc::unwrap_or_clone(known));
        }
        let known = Arc::try_unwrap(self.inspected.take()?);
        (known.unwrap_or_else(|shared| (*shared).clone())).into_sums(mask)
    }

    /// Numbers of frames, rows and columns.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// The values, if they are in memory.
    #[must_use]
    pub fn in_memory(&self) -> Option<&Array3<f32>> {
        match &self.kept {
            Kept::Memory(frames) => Some(frames),
            _ => None,
        }
    }

    pub(super) fn in_memory_mut(&mut self) -> Option<&mut Array3<f32>> {
        {
            self.inspected = None;
        }
        match &mut self.kept {
            Kept::Memory(frames) => Some(frames),
            _ => None,
        }
    }

    /// The folder of the temporary file, if the values are in one.
    #[must_use]
    pub fn scratch_folder(&self) -> Option<&Path> {
        match &self.kept {
            Kept::Memory(_) | Kept::Elsewhere(_) => None,
            Kept::Short(file) => Some(file.folder()),
            Kept::Single(file) => Some(file.folder()),
        }
    }

    /// Values of some frames in the order of `numbers`, which must be those of frames.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn select(&self, numbers: &[usize]) -> Result<Array3<f32>, ScratchError> {
        let [_, rows, columns] = self.shape;
        let mut to = zeros([numbers.len(), rows, columns])?;
        let frames: Vec<_> = to.outer_iter_mut().collect();
        (frames.into_par_iter().zip(numbers)).try_for_each(|(mut to, number)| {
            match &self.kept {
                Kept::Memory(frames) => to.assign(&frames.index_axis(Axis(0), *number)),
                _ => {
                    if let Some(to) = to.as_slice_mut() {
                        self.read_frame(*number, to)?;
                    }
                }
            }
            Ok(())
        })?;
        Ok(to)
    }

    /// Reads a frame that is not in memory.
    fn read_frame(&self, number: usize, to: &mut [f32]) -> Result<(), ScratchError> {
        let at = number as u64 * to.len() as u64;
        match &self.kept {
            Kept::Memory(_) => Ok(()),
            Kept::Elsewhere(reader) => reader.read(number, to),
            Kept::Single(file) => file.read(at, to),
            Kept::Short(file) => {
                let mut codes = vec![0; to.len()];
                file.read(at, &mut codes)?;
                for (to, code) in to.iter_mut().zip(codes) {
                    *to = decode(code);
                }
                Ok(())
            }
        }
    }

    /// The values after `change` of each frame (row, column), in memory or in a temporary file as
    /// before.
    ///
    /// # Errors
    /// The temporary file cannot be read, or another one cannot be written.
    pub fn changed(
        mut self,
        change: impl Fn(ArrayViewMut2<'_, f32>) + Sync,
    ) -> Result<Self, ScratchError> {
        if let Some(frames) = self.in_memory_mut() {
            let each: Vec<_> = frames.outer_iter_mut().collect();
            each.into_par_iter().for_each(&change);
            return Ok(self);
        }
        let mut writer = match self.scratch_folder() {
            Some(folder) => FrameWriter::in_scratch(folder, self.shape)?,
            None => FrameWriter::in_memory(self.shape),
        };
        self.blocks(|first, block| {
            let mut block = copied(block)?;
            let each: Vec<_> = block.outer_iter_mut().collect();
            each.into_par_iter().for_each(&change);
            writer.put(first, block.view())
        })?;
        Ok(writer.finish())
    }

    /// Calls `visit` with the number of a first frame and the values of some frames from there on,
    /// until it has had all frames in their order.
    ///
    /// # Errors
    /// The temporary file cannot be read, or an error of `visit`.
    pub fn blocks<E: From<ScratchError>>(
        &self,
        mut visit: impl FnMut(usize, ArrayView3<'_, f32>) -> Result<(), E>,
    ) -> Result<(), E> {
        let [count, rows, columns] = self.shape;
        let most = block_frames(rows, columns);
        let mut first = 0;
        while first < count {
            let end = count.min(first + most);
            match &self.kept {
                Kept::Memory(frames) => visit(first, frames.slice(s![first..end, .., ..]))?,
                _ => {
                    let numbers: Vec<usize> = (first..end).collect();
                    visit(first, self.select(&numbers)?.view())?;
                }
            }
            first = end;
        }
        Ok(())
    }
}

/// Memory for values (frame, row, column), all 0.
fn zeros(shape: [usize; 3]) -> Result<Array3<f32>, ScratchError> {
    ScratchError::allow_part(values(shape).saturating_mul(size_of::<f32>() as u64))?;
    Ok(Array3::zeros(shape))
}

/// A copy of values (frame, row, column).
///
/// # Errors
/// The system gives no memory for it.
pub(super) fn copied(block: ArrayView3<'_, f32>) -> Result<Array3<f32>, ScratchError> {
    let (frames, rows, columns) = block.dim();
    let mut copy = zeros([frames, rows, columns])?;
    copy.assign(&block);
    Ok(copy)
}

/// Writes [`Frames`] one by one.
#[derive(Debug)]
pub struct FrameWriter {
    frames: Frames,
}

impl FrameWriter {
    /// Frames (frame, row, column) of `shape` in memory, 0 where none is written.
    #[must_use]
    pub fn in_memory(shape: [usize; 3]) -> Self {
        Self {
            frames: Array3::zeros(shape).into(),
        }
    }

    /// The same in a temporary file in `folder`: 2 bytes a value, or 4 as soon as one is neither a
    /// count below 65 528 nor one of those that detectors write where there are no data.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn in_scratch(folder: &Path, shape: [usize; 3]) -> Result<Self, ScratchError> {
        let file = ScratchFile::new(folder, values(shape))?;
        Ok(Self {
            frames: Frames::new(shape, Kept::Short(Arc::new(file))),
        })
    }

    /// Writes the frames from `first` on, which must be among those of the shape.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&mut self, first: usize, block: ArrayView3<'_, f32>) -> Result<(), ScratchError> {
        let of_frame = self.frames.shape[1] * self.frames.shape[2];
        let end = first + block.dim().0;
        let at = first as u64 * of_frame as u64;
        if let Kept::Memory(frames) = &mut self.frames.kept {
            frames.slice_mut(s![first..end, .., ..]).assign(&block);
            return Ok(());
        }
        let block = block.as_standard_layout();
        let values = block.as_slice().unwrap_or_default();
        if let Kept::Short(file) = &self.frames.kept {
            let codes: Option<Vec<u16>> = values.par_iter().map(|value| encode(*value)).collect();
            match codes {
                Some(codes) => return file.write(at, &codes),
                None => self.widen()?,
            }
        }
        match &self.frames.kept {
            Kept::Single(file) => file.write(at, values),
            _ => Ok(()),
        }
    }

    /// Writes one frame.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put_frame(
        &mut self,
        number: usize,
        frame: ArrayView2<'_, f32>,
    ) -> Result<(), ScratchError> {
        self.put(number, frame.insert_axis(Axis(0)))
    }

    /// Copies what has been written to a file of 4 bytes a value.
    fn widen(&mut self) -> Result<(), ScratchError> {
        let shape = self.frames.shape;
        let Some(folder) = self.frames.scratch_folder() else {
            return Ok(());
        };
        let wide = ScratchFile::new(folder, values(shape))?;
        let of_frame = values([1, shape[1], shape[2]]);
        self.frames.blocks(|first, block| {
            let values = block.as_slice().unwrap_or_default();
            wide.write(first as u64 * of_frame, values)
        })?;
        self.frames.kept = Kept::Single(Arc::new(wide));
        Ok(())
    }

    /// The frames as they have been written.
    #[must_use]
    pub fn finish(self) -> Frames {
        self.frames
    }
}

fn values(shape: [usize; 3]) -> u64 {
    shape.iter().fold(1, |product, n| product * *n as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::arr2;

    #[test]
    fn every_code_is_a_value_of_its_own() {
        for code in 0..=u16::MAX {
            assert_eq!(encode(decode(code)), Some(code));
        }
        for value in [0.5, -3.0, 65_528.0, 65_534.0, 1e9, f32::INFINITY] {
            assert_eq!(encode(value), None, "{value}");
        }
        assert_eq!(encode(-0.0), Some(0));
    }

    #[test]
    fn a_temporary_file_has_the_values_of_memory() {
        let folder = tempfile::tempdir().unwrap();
        for odd in [65_527.0, 0.25] {
            let shape = [5, 2, 3];
            let mut all = Array3::from_shape_fn(shape, |(f, r, c)| (f * 6 + r * 3 + c) as f32);
            all[[1, 0, 2]] = 4_294_967_295.0;
            all[[3, 1, 1]] = odd;
            let mut writer = FrameWriter::in_scratch(folder.path(), shape).unwrap();
            // Not in their order.
            writer.put(2, all.slice(s![2..5, .., ..])).unwrap();
            writer.put(0, all.slice(s![0..2, .., ..])).unwrap();
            let frames = writer.finish();
            assert!(frames.in_memory().is_none());
            let found = frames.select(&[0, 1, 2, 3, 4]).unwrap();
            let bits = |of: &Array3<f32>| of.mapv(f32::to_bits);
            assert_eq!(bits(&found), bits(&all));
            let mut visited = 0;
            frames
                .blocks(|first, block| {
                    assert_eq!(first, visited);
                    visited += block.dim().0;
                    Ok::<(), ScratchError>(())
                })
                .unwrap();
            assert_eq!(visited, 5);
        }
    }

    #[test]
    fn frames_that_were_not_written_are_zero() {
        let folder = tempfile::tempdir().unwrap();
        for mut writer in [
            FrameWriter::in_memory([2, 1, 2]),
            FrameWriter::in_scratch(folder.path(), [2, 1, 2]).unwrap(),
        ] {
            writer.put_frame(1, arr2(&[[3.0, 4.0]]).view()).unwrap();
            let all = writer.finish().select(&[0, 1]).unwrap();
            assert_eq!(all.as_slice().unwrap(), [0.0, 0.0, 3.0, 4.0]);
        }
    }
}
