//! What files of frames have in common.

use crate::element::Element;
use crate::file_error::FileError;
use crate::pixel::Pixel;
use std::fmt;
use std::ops::Range;

/// A file with frames (row, column) of one size, of which any range can be read.
///
/// Methods take `&self`: several threads can read different frames at once.
pub trait FrameFile: fmt::Debug + Send + Sync {
    /// Frames, rows, columns.
    fn shape(&self) -> [usize; 3];

    /// Type of the values in the file.
    fn element(&self) -> Element;

    /// Positions of the scan (slow, fast) if the file says them. Their product is the number of
    /// frames, unless frames of a scan are missing, or there are more than the scan has.
    fn scan_shape(&self) -> Option<[usize; 2]>;

    /// Bytes at the end of the file that are no whole frame, as an interrupted measurement leaves
    /// them.
    fn incomplete_bytes(&self) -> u64 {
        0
    }

    /// Bytes that the file has of all frames, if these may be fewer than those of the pixels.
    fn stored_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether frames have to be read in their order, by one thread, to read each part of the file
    /// once.
    fn is_sequential(&self) -> bool {
        false
    }

    /// Reads frames (frame, row, column) in single precision.
    ///
    /// # Errors
    /// The file does not have the frames, cannot be read, or has an integer that is not represented
    /// exactly; integers up to 2^24 are.
    fn read(&self, frames: Range<usize>, out: &mut [f32]) -> Result<(), FileError>;

    /// Reads frames (frame, row, column) in double precision, which represents all integers of up
    /// to 32 bits exactly; those of 64 bits are rounded to nearest.
    ///
    /// # Errors
    /// The file does not have the frames, or cannot be read.
    fn read_f64(&self, frames: Range<usize>, out: &mut [f64]) -> Result<(), FileError>;
}

/// Checks a range of frames and the memory for them.
pub(crate) fn check_range(
    file: &str,
    shape: [usize; 3],
    frames: &Range<usize>,
    length: usize,
) -> Result<(), FileError> {
    let [count, rows, columns] = shape;
    if frames.start > frames.end || frames.end > count {
        return Err(FileError::Frames {
            file: file.to_owned(),
            frames: count,
            start: frames.start,
            end: frames.end,
        });
    }
    let expected = frames.len().saturating_mul(rows.saturating_mul(columns));
    if length != expected {
        return Err(FileError::Output {
            file: file.to_owned(),
            expected,
            found: length,
        });
    }
    Ok(())
}

/// Converts integers of a frame. `out` has rows of `columns` pixels.
///
/// # Errors
/// An integer is not represented exactly.
#[inline]
pub(crate) fn convert_integers<T: Pixel>(
    file: &str,
    frame: usize,
    columns: usize,
    values: impl Iterator<Item = i64> + Clone,
    out: &mut [T],
) -> Result<(), FileError> {
    let mut beyond = false;
    for (to, value) in out.iter_mut().zip(values.clone()) {
        *to = T::from_integer(value);
        beyond |= value.unsigned_abs() > T::EXACT;
    }
    if !beyond {
        return Ok(());
    }
    // Some integers beyond the limit are represented exactly too.
    let inexact = |(to, value): (&T, i64)| to.to_integer() != i128::from(value);
    match out.iter().zip(values.clone()).position(inexact) {
        None => Ok(()),
        Some(n) => Err(FileError::Inexact {
            file: file.to_owned(),
            frame,
            row: n / columns.max(1),
            column: n % columns.max(1),
            found: values.clone().nth(n).unwrap_or_default().to_string(),
        }),
    }
}

/// Implements the reading of a [`FrameFile`] by the method `read_pixels` of the type.
macro_rules! read_by_pixels {
    () => {
        fn read(&self, frames: std::ops::Range<usize>, out: &mut [f32]) -> Result<(), FileError> {
            self.read_pixels(frames, out)
        }

        fn read_f64(
            &self,
            frames: std::ops::Range<usize>,
            out: &mut [f64],
        ) -> Result<(), FileError> {
            self.read_pixels(frames, out)
        }
    };
}
pub(crate) use read_by_pixels;
