//! The light that the mask in a file hides: a mask with the other meaning hides most of it.
//!
//! CXI and NeXus mark bad pixels with numbers other than 0, PtyPy and many scripts the valid ones.
//! Taken for the other, such a mask leaves a few pixels, often without any light.

use super::frame_stack::FrameStack;
use super::no_data::is_marker;
use super::window::Window;
use super::{MaskPolarity, ReadOptions};
use crate::data::{Frames, Mask};
use ndarray::{Array2, Array3, ArrayView2};
use warpstride_core::system::ScratchError;
use warpstride_core::text::significant;
use warpstride_files::{InputFile, IoError};

/// Most frames that are looked at.
const LOOKED_AT: usize = 8;
/// Share of the light from which on what a mask hides is doubtful, and least share of the pixels
/// that it hides: those of a direct beam that is too bright are fewer.
const MOST_HIDDEN: f64 = 0.9;
const HIDDEN_PIXELS: f64 = 0.1;
/// Share of the light, and of the pixels, that no mask of bad pixels hides.
const HALF: f64 = 0.5;
/// Share of the light below which too little is left for a reconstruction.
const HARDLY_ANY: f64 = 0.01;
/// Least count of a pixel that is the same in all frames by a fault, and not by chance.
const CONSTANT: f32 = 16.0;

/// The light and the pixels that a mask hides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MaskLight {
    /// Counts of some frames: of all pixels, and of those that are hidden.
    all: f64,
    hidden: f64,
    /// Share of the pixels that are hidden.
    pixels: f64,
}

impl MaskLight {
    /// Looks at some frames and what a mask hides of them.
    pub(super) fn of_frames(frames: &Frames, mask: &Mask) -> Result<Self, ScratchError> {
        let [count, ..] = frames.shape();
        let numbers = some_of(count);
        let looked_at = frames.select(&numbers)?;
        Ok(Self::of(&looked_at, |n| {
            mask.of_frame(numbers[n]).to_owned()
        }))
    }

    /// Looks at some frames (frame, row, column) and the pixels of each that are valid.
    pub(super) fn of(frames: &Array3<f32>, valid: impl Fn(usize) -> Array2<bool>) -> Self {
        let masks: Vec<Array2<bool>> = (0..frames.dim().0).map(valid).collect();
        let first = frames.index_axis(ndarray::Axis(0), 0);
        let mut constant = first.mapv(|count| count >= CONSTANT && frames.dim().0 > 1);
        for frame in frames.outer_iter() {
            ndarray::Zip::from(&mut constant)
                .and(&frame)
                .and(&first)
                .for_each(|constant, count, first| *constant &= count == first);
        }
        let mut light = Self {
            all: 0.0,
            hidden: 0.0,
            pixels: 0.0,
        };
        for (frame, mask) in frames.outer_iter().zip(&masks) {
            light.add(frame, mask, &constant);
        }
        light.pixels /= (frames.len() as f64).max(1.0);
        light
    }

    fn add(&mut self, frame: ArrayView2<'_, f32>, mask: &Array2<bool>, constant: &Array2<bool>) {
        for ((place, count), valid) in frame.indexed_iter().zip(mask) {
            let is_light =
                count.is_finite() && *count > 0.0 && !is_marker(*count) && !constant[place];
            let counts = if is_light { f64::from(*count) } else { 0.0 };
            self.all += counts;
            if !valid {
                self.hidden += counts;
                self.pixels += 1.0;
            }
        }
    }

    /// Whether most of the light is hidden, and not only that of a few pixels.
    pub(super) fn is_doubtful(&self) -> bool {
        (self.hidden > MOST_HIDDEN * self.all && self.pixels > HIDDEN_PIXELS)
            || (self.hidden > HALF * self.all && self.pixels > HALF)
    }

    /// Whether hardly any light is left.
    pub(super) fn leaves_hardly_any(&self) -> bool {
        self.is_doubtful() && self.all - self.hidden < HARDLY_ANY * self.all
    }

    /// What the mask hides.
    fn hides(&self) -> String {
        let percent = |share: f64| significant(100.0 * share, 3);
        format!(
            "{} % of the pixels and {} % of the light",
            percent(self.pixels),
            percent(self.hidden / self.all)
        )
    }
}

/// The numbers of the frames that are looked at.
fn some_of(count: usize) -> Vec<usize> {
    let some = count.min(LOOKED_AT);
    (0..some).map(|n| n * count / some).collect()
}

/// The option that states the meaning of a mask, for errors about one that hides most of the light.
pub(super) struct MaskOption {
    /// The option of its meaning, with its argument.
    pub(super) option: &'static str,
    pub(super) argument: &'static str,
    /// The meaning that it has been given.
    pub(super) marks: MaskPolarity,
}

impl MaskOption {
    /// That of the mask in a file, whose format gives it the meaning `marks`.
    pub(super) fn of_file(options: &ReadOptions, marks: MaskPolarity) -> Self {
        Self {
            option: "data.file_mask_marks",
            argument: "--file-mask-marks",
            marks: options.file_mask(marks),
        }
    }

    /// That of the mask of `data.mask`.
    pub(super) fn of_data_mask(marks: MaskPolarity) -> Self {
        Self {
            option: "data.mask_marks",
            argument: "--mask-marks",
            marks,
        }
    }

    /// How to give the mask the other meaning.
    fn remedy(&self) -> String {
        let other = self.marks.other();
        let what = match other {
            MaskPolarity::Valid => "valid",
            MaskPolarity::Bad => "bad",
        };
        format!(
            "if its pixels other than 0 are the {what} ones, give {} {} ({} = \"{}\")",
            self.argument,
            other.name(),
            self.option,
            other.name()
        )
    }

    /// The error of the mask `dataset` of `file`, which leaves hardly any light.
    pub(super) fn refused(&self, file: &str, dataset: &str, light: &MaskLight) -> IoError {
        IoError::Value {
            file: file.to_owned(),
            dataset: dataset.to_owned(),
            expected: "a mask that leaves some light".to_owned(),
            found: format!(
                "one that hides {}, with pixels other than 0 as {} ones; {}, and otherwise {} {}",
                light.hides(),
                self.marks.name(),
                self.remedy(),
                self.argument,
                self.marks.name()
            ),
        }
    }

    /// The error of the mask `dataset` of `file`, which leaves no pixel.
    pub(super) fn leaves_none(&self, file: &str, dataset: &str) -> IoError {
        IoError::Value {
            file: file.to_owned(),
            dataset: dataset.to_owned(),
            expected: "at least one valid pixel".to_owned(),
            found: format!(
                "all masked as bad, with pixels other than 0 as {} ones; {}",
                self.marks.name(),
                self.remedy()
            ),
        }
    }

    /// The doubt about the mask `dataset`, if it hides most of the light.
    pub(super) fn doubt(&self, dataset: &str, light: &MaskLight) -> Option<String> {
        light.is_doubtful().then(|| {
            format!(
                "the mask {dataset} hides {}: {}",
                light.hides(),
                self.remedy()
            )
        })
    }
}

impl Window {
    /// What the mask of the file hides of some of the frames; `None` without a mask.
    pub(super) fn mask_light(
        &self,
        input: &InputFile,
        frames: &FrameStack<'_>,
        mask: Option<&Mask>,
    ) -> Result<Option<MaskLight>, IoError> {
        let Some(mask) = mask else {
            return Ok(None);
        };
        let [count, rows, columns] = self.shape();
        let numbers = some_of(count);
        let pixels = numbers.len() as u128 * rows as u128 * columns as u128;
        input.allow(frames.path(), 12 * pixels)?;
        let mut looked_at = Array3::zeros((numbers.len(), rows, columns));
        for (mut to, number) in looked_at.outer_iter_mut().zip(&numbers) {
            let first = self.frames.start + number;
            let counts = frames.counts(first..first + 1, &self.rows, &self.columns)?;
            to.assign(&counts.index_axis(ndarray::Axis(0), 0));
        }
        Ok(Some(MaskLight::of(&looked_at, |n| {
            mask.of_frame(numbers[n]).to_owned()
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 frames of 20 × 20 pixels with light in the middle, which varies, and a pixel that always
    /// has 1e6 counts.
    fn frames() -> Array3<f32> {
        Array3::from_shape_fn((8, 20, 20), |(frame, row, column)| {
            let square = (row as f32 - 10.0).powi(2) + (column as f32 - 10.0).powi(2);
            match (row, column) {
                (2, 3) => 1e6,
                (2, 4) => 4_294_967_295.0,
                _ => ((1000.0 + 10.0 * frame as f32) * (-square / 20.0).exp()).floor(),
            }
        })
    }

    fn light(valid: impl Fn(usize, usize) -> bool) -> MaskLight {
        let mask = Array2::from_shape_fn((20, 20), |(row, column)| valid(row, column));
        MaskLight::of(&frames(), |_| mask.clone())
    }

    #[test]
    fn the_other_meaning_differs_from_gaps_and_beamstops() {
        let gap = |row: usize, column: usize| row == 5 || column == 12 || (row, column) == (2, 3);
        assert!(light(gap).is_doubtful(), "an inverted mask");
        assert!(!light(|row, column| !gap(row, column)).is_doubtful());
        let beam = |row: usize, column: usize| row.abs_diff(10) < 3 && column.abs_diff(10) < 3;
        let stop = light(|row, column| !beam(row, column));
        assert!(stop.hidden > 0.3 * stop.all && !stop.is_doubtful());
        // Faulty pixels have no light.
        assert!(!light(|row, _| row != 2).is_doubtful());
        assert!(light(|row, _| row == 0).leaves_hardly_any());
        assert!(!light(|row, _| row != 0).leaves_hardly_any());
    }

    #[test]
    fn the_remedy_is_the_other_meaning() {
        let option = MaskOption::of_file(&ReadOptions::default(), MaskPolarity::Bad);
        let text = option
            .refused("a.cxi", "/m", &light(|row, _| row == 0))
            .to_string();
        assert!(
            text.contains("95.0 % of the pixels and 99.9 % of the light"),
            "{text}"
        );
        assert!(text.contains("--file-mask-marks valid"), "{text}");
        let given = ReadOptions {
            file_mask_marks: Some(MaskPolarity::Valid),
            ..ReadOptions::default()
        };
        let text =
            MaskOption::of_file(&given, MaskPolarity::Bad).doubt("/m", &light(|row, _| row == 0));
        assert!(text.unwrap().contains("--file-mask-marks bad"));
    }
}
