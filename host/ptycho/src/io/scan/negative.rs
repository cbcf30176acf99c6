//! Counts that are no counts: negative ones, as a subtracted dark measurement leaves them, markers
//! such as −9999, and NaN. Errors name the option by which such data are read.

use crate::data::{Frames, Mask};
use warpstride_core::system::ScratchError;
use warpstride_core::text::{count, shortest};
use warpstride_files::{InputFile, IoError};

/// Negative numbers from this one on are no noise around zero if none is between them and a tenth
/// of them, and two pixels have them.
const MARKER: f32 = -99.0;
/// Counts that are too large for signed numbers of 16 bits are below this, or not many.
const WRAPPED: f32 = -16384.0;

/// What was found of the counts that are not masked.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wrong {
    /// Frame, row and column of the first one.
    first: Option<([usize; 3], f32)>,
    negative: Found,
    nan: Found,
    infinite: Found,
    /// The least number, how many pixels have it, and the least of the others.
    least: (f32, usize),
    second: f32,
}

/// Numbers of pixels, over all frames, and of frames.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Found {
    pixels: usize,
    frames: usize,
}

impl Wrong {
    /// Those of frames with this mask.
    ///
    /// # Errors
    /// The temporary file of the counts cannot be read.
    pub(super) fn of(frames: &Frames, mask: Option<&Mask>) -> Result<Self, ScratchError> {
        let mut all = Self::default();
        frames.blocks(|first, block| {
            for (number, frame) in (first..).zip(block.outer_iter()) {
                let valid = mask.map(|mask| mask.of_frame(number));
                all.add(number, frame, valid);
            }
            Ok::<(), ScratchError>(())
        })?;
        Ok(all)
    }

    /// Adds the pixels of a frame for which `valid` is true, or all.
    pub(super) fn add(
        &mut self,
        number: usize,
        frame: ndarray::ArrayView2<'_, f32>,
        valid: Option<ndarray::ArrayView2<'_, bool>>,
    ) {
        let before = [self.negative, self.nan, self.infinite].map(|found| found.pixels);
        for ((row, column), value) in frame.indexed_iter() {
            let is_count = *value >= 0.0 && value.is_finite();
            if is_count || valid.is_some_and(|valid| !valid[[row, column]]) {
                continue;
            }
            self.first.get_or_insert(([number, row, column], *value));
            if value.is_nan() {
                self.nan.pixels += 1;
                continue;
            }
            if *value == f32::INFINITY {
                self.infinite.pixels += 1;
                continue;
            }
            self.negative.pixels += 1;
            if *value < self.least.0 {
                (self.second, self.least) = (self.least.0, (*value, 1));
            } else if *value == self.least.0 {
                self.least.1 += 1;
            } else {
                self.second = self.second.min(*value);
            }
        }
        self.negative.frames += usize::from(self.negative.pixels > before[0]);
        self.nan.frames += usize::from(self.nan.pixels > before[1]);
        self.infinite.frames += usize::from(self.infinite.pixels > before[2]);
    }

    /// A negative number that marks pixels without data, as its distance from the others shows.
    fn marker(&self) -> Option<f32> {
        let (least, pixels) = self.least;
        let alone = least <= MARKER && pixels > 1 && self.second > least / 10.0;
        alone.then_some(least)
    }

    /// The note that negative counts have been set to 0, if there are any.
    pub(super) fn note(&self) -> Option<String> {
        let Found { pixels, frames } = self.negative;
        (pixels > 0).then(|| {
            format!(
                "data.negative: {} of {} with negative counts, {} at least, set to 0",
                count(pixels, ["pixel", "pixels"]),
                count(frames, ["frame", "frames"]),
                shortest(f64::from(self.least.0))
            )
        })
    }

    /// The error of what `dataset` of `input` has, if anything is wrong that remains if negative
    /// counts are set to 0 (`clip`) or not.
    pub(super) fn refused(&self, input: &InputFile, dataset: &str, clip: bool) -> Option<IoError> {
        let ([frame, row, column], value) = self.first?;
        let several = |found: Found| {
            format!(
                "{} of {}",
                count(found.pixels, ["pixel", "pixels"]),
                count(found.frames, ["frame", "frames"])
            )
        };
        let found = if self.nan.pixels > 0 {
            format!(
                "NaN in {}; --no-data nan masks them in the frames that have them (data.no_data = \"nan\"), --mask FILE pixels in all frames",
                several(self.nan)
            )
        } else if self.infinite.pixels > 0 {
            format!(
                "inf, or beyond single precision (3.4e38), in {}; --no-data inf masks them in the frames that have them (data.no_data = inf), --mask FILE pixels in all frames",
                several(self.infinite)
            )
        } else if let Some(marker) = self.marker() {
            let marker = shortest(f64::from(marker));
            format!(
                "{marker}, which seems to mean that a pixel has no data, in {} of {} with negative counts; --no-data {marker} masks them (data.no_data = {marker})",
                count(self.least.1, ["pixel", "pixels"]),
                self.negative.pixels
            )
        } else if clip {
            return None;
        } else if self.least.0 <= WRAPPED {
            format!(
                "negative counts in {}, {} at least: counts from 32768 on become such numbers where 16-bit ones are read as signed; store the frames as unsigned numbers, or set negative counts to 0 (data.negative = \"clip\")",
                several(self.negative),
                shortest(f64::from(self.least.0))
            )
        } else {
            format!(
                "negative counts in {}, {} at least; --negative clip sets them to 0, as is usual after a dark measurement has been subtracted (data.negative = \"clip\"), and --no-data masks those that mean that a pixel has no data",
                several(self.negative),
                shortest(f64::from(self.least.0))
            )
        };
        Some(IoError::Value {
            file: input.name().to_owned(),
            dataset: dataset.to_owned(),
            expected: "a finite count >= 0 on every unmasked pixel".to_owned(),
            found: format!(
                "{} in frame {frame}, row {row}, column {column}: {found}",
                shortest(f64::from(value))
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, Array3};
    use std::path::Path;
    use warpstride_core::system::Memory;

    /// What is said of 20 frames of 4 × 5 pixels with these values at (frame, row, column).
    fn said(values: &[([usize; 3], f32)], clip: bool) -> Option<String> {
        let mut frames = Array3::from_elem((20, 4, 5), 3.0);
        for (place, value) in values {
            frames[*place] = *value;
        }
        let mut mask = Array2::from_elem((4, 5), true);
        mask[[3, 4]] = false;
        let input = InputFile::new(Path::new("a.cxi"), Memory::available());
        let found = Wrong::of(&frames.into(), Some(&Mask::Shared(mask))).unwrap();
        let refused = found.refused(&input, "/d", clip);
        refused.map(|error| error.to_string())
    }

    #[test]
    fn the_option_is_that_of_what_was_found() {
        let noise = [([2, 1, 0], -1.5), ([2, 1, 1], -2.0), ([4, 0, 0], -120.0)];
        let text = said(&noise, false).unwrap();
        assert!(
            text.starts_with("a.cxi: /d: expected a finite count >= 0 on every unmasked pixel, found -1.5 in frame 2, row 1, column 0: negative counts in 3 pixels of 2 frames, -120 at least; --negative clip"),
            "{text}"
        );
        assert_eq!(said(&noise, true), None);
        let marked = [
            ([2, 1, 0], -9999.0),
            ([3, 1, 0], -9999.0),
            ([4, 0, 0], -1.5),
        ];
        for clip in [false, true] {
            let text = said(&marked, clip).unwrap();
            assert!(text.contains("--no-data -9999 masks them"), "{text}");
        }
        let text = said(&[([2, 1, 0], f32::INFINITY)], true).unwrap();
        assert!(
            text.contains("inf in frame 2, row 1, column 0: inf, or")
                && text.contains("--no-data inf"),
            "{text}"
        );
        let text = said(&[([2, 1, 0], f32::NAN)], true).unwrap();
        assert!(text.contains("--no-data nan"), "{text}");
        assert_eq!(
            said(&[([2, 3, 4], -9999.0), ([3, 3, 4], f32::NAN)], false),
            None
        );
    }
}
