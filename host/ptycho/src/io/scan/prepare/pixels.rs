//! The counts and masks of frames that are prepared, and their corrections.

use super::super::mask_light::{MaskLight, MaskOption};
use super::super::negative::Wrong;
use super::super::parts::Parts;
use super::super::window::RECONSTRUCTED;
use super::calibration::{Plane, file_and_dataset, of_frames, plane, refused};
use super::layout::Layout;
use crate::data::{FrameWriter, Frames, Mask, StoredPixels, counts_of_photon};
use crate::{NegativeCounts, ReadOptions};
use ndarray::{Array2, Array3, ArrayView2, Axis, s};
use rayon::prelude::*;
use std::ops::Range;
use warpstride_core::text::{count, significant};
use warpstride_files::{InputFile, IoError};

/// Frames that have been read, with what corrects them. Arrays (row, column) have the axes of the
/// frames as stored.
pub(super) struct Pixels {
    /// The dataset of the frames.
    pub(super) name: String,
    frames: Frames,
    pub(super) mask: Option<Mask>,
    /// The frames that are used.
    numbers: Vec<usize>,
    /// Row and column of the first pixel among those that are stored.
    pub(super) first: [usize; 2],
    /// Where the pixels are in the file.
    pub(super) in_file: StoredPixels,
    pub(super) near_field: bool,
    dark: Option<Array2<f32>>,
    /// The mean of the flat over its values.
    gain: Option<Array2<f32>>,
    /// The mean of the monitor over its values, for each frame that is used.
    monitor: Option<Vec<f32>>,
    /// Whether negative counts are set to 0.
    clip: bool,
    /// What is doubtful, one sentence each.
    pub(super) doubts: Vec<String>,
}

impl Pixels {
    /// Takes frames and mask out of `parts`, and reads what corrects them.
    ///
    /// # Errors
    /// A file that an option names cannot be read or does not fit.
    pub(super) fn new(
        parts: &mut Parts,
        numbers: Vec<usize>,
        input: &InputFile,
        options: &ReadOptions,
    ) -> Result<Self, IoError> {
        let none = Frames::from(Array3::zeros((0, 0, 0)));
        let empty = || Mask::Shared(Array2::from_elem((0, 0), false));
        let window = parts.window.clone();
        let mut new = Self {
            name: parts.frames.0.clone(),
            frames: std::mem::replace(&mut parts.frames.1, none),
            mask: (parts.mask.as_mut()).map(|mask| std::mem::replace(&mut mask.1, empty())),
            numbers,
            first: [window.rows.start, window.columns.start],
            in_file: window.in_file(),
            near_field: parts.geometry.is_near_field(),
            dark: None,
            gain: None,
            monitor: None,
            clip: false,
            doubts: Vec::new(),
        };
        let notes = &mut parts.notes;
        let follow = options.follow();
        let read = |option, name: &Option<String>| -> Result<Option<Plane>, IoError> {
            let name = name.as_deref();
            name.map(|name| plane(option, name, (input, follow), &window))
                .transpose()
        };
        if let Some(mask) = read("data.mask", &options.mask)? {
            let marks = options.mask_marks.unwrap_or_default();
            let bad = (mask.values).mapv(|value| !marks.is_valid(value as f32));
            let masked = new.mask_where(&bad);
            let light = MaskLight::of_frames(&new.frames, &Mask::Shared(!bad))?;
            let option = MaskOption::of_data_mask(marks);
            let (file, dataset) = file_and_dataset(&mask.name, input);
            let dataset = dataset.unwrap_or("the array");
            if !new.has_valid() {
                return Err(option.leaves_none(file, dataset));
            }
            if light.leaves_hardly_any() && options.mask_marks.is_none() {
                return Err(option.refused(file, dataset, &light));
            }
            new.doubts.extend(option.doubt(&mask.name, &light));
            let what = count(masked, ["pixel more", "pixels more"]);
            notes.push(format!("data.mask: {}: {what} masked", mask.name));
        }
        if let Some(dark) = read("data.dark", &options.dark)? {
            let any = new.has_valid();
            let masked = new.mask_where(&dark.values.mapv(|value| !value.is_finite()));
            if any && !new.has_valid() {
                let (expected, found) = ("finite counts on valid pixels", "none".to_owned());
                return Err(refused("data.dark", &dark.name, input, (expected, found)));
            }
            let frames = count(dark.frames, ["frame", "frames"]);
            let mean = dark.values.iter().filter(|value| value.is_finite());
            let mean = mean.sum::<f64>() / (dark.values.len().max(1)) as f64;
            notes.push(format!(
                "data.dark: {}: the mean of {frames}, {} counts a pixel, is subtracted; what would be negative is 0{}",
                dark.name,
                significant(mean, 3),
                masked_too(masked, "a finite value")
            ));
            new.dark = Some(dark.values.mapv(|value| value as f32));
        }
        if let Some(flat) = read("data.flat", &options.flat)? {
            let masked = new.mask_where(&flat.values.mapv(|v| !(v.is_finite() && v > 0.0)));
            let mean = new.mean_of_valid(&flat.values).ok_or_else(|| {
                let (expected, found) = ("counts above 0 on valid pixels", "none".to_owned());
                refused("data.flat", &flat.name, input, (expected, found))
            })?;
            let frames = count(flat.frames, ["frame", "frames"]);
            notes.push(format!(
                "data.flat: {}: counts are divided by the mean of {frames}, whose mean over valid pixels is set to 1{}",
                flat.name,
                masked_too(masked, "a value above 0")
            ));
            new.gain = Some(flat.values.mapv(|value| (mean / value) as f32));
        }
        if let Some(name) = &options.monitor {
            let [all, ..] = window.stored;
            let values = of_frames("data.monitor", name, (input, follow), all)?;
            let first = window.frames.start;
            let used: Vec<f64> = (new.numbers.iter())
                .filter_map(|number| values.get(number + first).copied())
                .collect();
            if let Some(place) = used.iter().position(|v| !(v.is_finite() && *v > 0.0)) {
                let found = format!("{} for frame {}", used[place], new.numbers[place] + first);
                let expected = "finite numbers above 0";
                return Err(refused("data.monitor", name, input, (expected, found)));
            }
            let mean = used.iter().sum::<f64>() / used.len().max(1) as f64;
            let ends = used
                .iter()
                .fold([f64::INFINITY, 0.0], |[low, high], value| {
                    [f64::min(low, *value), f64::max(high, *value)]
                });
            let [low, high] = ends.map(|value| significant(value / mean, 4));
            notes.push(format!(
                "data.monitor: {name}: the counts of each frame are divided by its value over the mean of all, {low} to {high}"
            ));
            new.monitor = Some(used.iter().map(|value| (mean / value) as f32).collect());
        }
        if options.negative == NegativeCounts::Clip {
            let mut wrong = Wrong::default();
            new.visit(|block| {
                for (of, counts) in block {
                    wrong.add(new.number(*of), counts.view(), new.valid(*of));
                }
                Ok(())
            })?;
            if let Some(error) = wrong.refused(input, &new.name, true) {
                return Err(error);
            }
            notes.extend(wrong.note());
            new.clip = true;
        }
        Ok(new)
    }

    /// The mean over pixels that are valid in a frame; `None` without any.
    fn mean_of_valid(&self, values: &Array2<f64>) -> Option<f64> {
        let (mut sum, mut pixels) = (0.0, 0.0);
        for (place, value) in values.indexed_iter() {
            let valid = match &self.mask {
                None => true,
                Some(Mask::Shared(plane)) => plane[place],
                Some(Mask::PerFrame(each)) => {
                    let of_pixel = each.index_axis(Axis(1), place.0);
                    of_pixel
                        .index_axis(Axis(1), place.1)
                        .iter()
                        .any(|valid| *valid)
                }
            };
            if valid {
                sum += value;
                pixels += 1.0;
            }
        }
        (pixels > 0.0 && sum > 0.0).then(|| sum / pixels)
    }

    /// Whether a pixel is valid in a frame.
    fn has_valid(&self) -> bool {
        match &self.mask {
            None => true,
            Some(Mask::Shared(plane)) => plane.iter().any(|valid| *valid),
            Some(Mask::PerFrame(each)) => each.iter().any(|valid| *valid),
        }
    }

    /// Masks pixels (row, column) in all frames; returns how many were valid in one.
    pub(super) fn mask_where(&mut self, bad: &Array2<bool>) -> usize {
        let mut masked = 0;
        if !bad.iter().any(|bad| *bad) {
            return 0;
        }
        let mask = self
            .mask
            .get_or_insert_with(|| Mask::Shared(Array2::from_elem(bad.dim(), true)));
        match mask {
            Mask::Shared(plane) => plane.zip_mut_with(bad, |valid, bad| {
                masked += usize::from(*valid && *bad);
                *valid &= !bad;
            }),
            Mask::PerFrame(each) => {
                let mut new = Array2::from_elem(bad.dim(), false);
                for mut plane in each.outer_iter_mut() {
                    ndarray::Zip::from(&mut plane)
                        .and(bad)
                        .and(&mut new)
                        .for_each(|valid, bad, new| {
                            *new |= *valid && *bad;
                            *valid &= !bad;
                        });
                }
                masked = new.iter().filter(|new| **new).count();
            }
        }
        masked
    }

    /// Number of frames that are used.
    pub(super) fn frames(&self) -> usize {
        self.numbers.len()
    }

    /// Rows and columns of the frames that were read.
    pub(super) fn shape(&self) -> [usize; 2] {
        let [_, rows, columns] = self.frames.shape();
        [rows, columns]
    }

    /// Number of frames that were read.
    pub(super) fn all_frames(&self) -> usize {
        self.frames.shape()[0]
    }

    /// Whether the counts are in memory.
    pub(super) fn in_memory(&self) -> bool {
        self.frames.in_memory().is_some()
    }

    /// The valid pixels of a frame that is used; all if there is no mask.
    pub(super) fn valid(&self, of: usize) -> Option<ArrayView2<'_, bool>> {
        let number = self.numbers.get(of).copied().unwrap_or(0);
        self.mask.as_ref().map(|mask| mask.of_frame(number))
    }

    /// The number, among the frames that were read, of a frame that is used.
    pub(super) fn number(&self, of: usize) -> usize {
        self.numbers.get(of).copied().unwrap_or(0)
    }

    /// Calls `visit` with some of the frames that are used, each with its place among them and its
    /// counts as read, until it has had all in their order.
    ///
    /// # Errors
    /// The temporary file cannot be read, or an error of `visit`.
    pub(super) fn visit(
        &self,
        mut visit: impl FnMut(&[(usize, ArrayView2<'_, f32>)]) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        let mut next = 0;
        self.frames.blocks(|first, block| {
            let end = first + block.dim().0;
            let of_block = self.numbers[next..].iter();
            let of_block: Vec<_> = of_block
                .take_while(|number| **number < end)
                .zip(next..)
                .map(|(number, of)| (of, block.index_axis(Axis(0), *number - first)))
                .collect();
            next += of_block.len();
            visit(&of_block)
        })
    }

    /// The counts of a frame that is used after its corrections; 0 on masked pixels.
    pub(super) fn corrected(&self, of: usize, counts: ArrayView2<'_, f32>) -> Array2<f32> {
        let mut new = counts.to_owned();
        if self.clip {
            new.mapv_inplace(|counts| if counts < 0.0 { 0.0 } else { counts });
        }
        if let Some(dark) = &self.dark {
            new.zip_mut_with(dark, |counts, dark| {
                let left = *counts - dark;
                // What is not a number, or was negative before, stays so, and is refused later.
                *counts = if *counts >= 0.0 && left < 0.0 {
                    0.0
                } else {
                    left
                };
            });
        }
        if let Some(gain) = &self.gain {
            new.zip_mut_with(gain, |counts, gain| *counts *= gain);
        }
        if let Some(factor) = self
            .monitor
            .as_ref()
            .and_then(|of_frames| of_frames.get(of))
        {
            new.mapv_inplace(|counts| counts * factor);
        }
        if let Some(valid) = self.valid(of) {
            new.zip_mut_with(&valid, |counts, valid| {
                if !valid {
                    *counts = 0.0;
                }
            });
        }
        new
    }

    /// The mean (row, column), in photons, of the corrected counts of the frames in which each pixel
    /// is valid, and whether it is in any.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub(super) fn mean(&self) -> Result<(Array2<f64>, Array2<bool>), IoError> {
        let mut sums = Array2::<f64>::zeros(self.shape());
        let mut frames = Array2::<f64>::zeros(self.shape());
        self.visit(|block| {
            for (of, counts) in block {
                let counts = self.corrected(*of, counts.view());
                sums.zip_mut_with(&counts, |sum, counts| *sum += f64::from(*counts));
                match self.valid(*of) {
                    None => frames.mapv_inplace(|frames| frames + 1.0),
                    Some(valid) => frames.zip_mut_with(&valid, |frames, valid| {
                        *frames += f64::from(u8::from(*valid));
                    }),
                }
            }
            Ok(())
        })?;
        let valid = frames.mapv(|frames| frames > 0.0);
        let photon = counts_of_photon(&sums, self.frames(), |of| {
            let counts = self.frames.select(&[self.numbers[of]])?;
            Ok::<_, IoError>(self.corrected(of, counts.index_axis(Axis(0), 0)))
        })?;
        sums.zip_mut_with(&frames, |sum, frames| *sum /= photon * frames.max(1.0));
        Ok((sums, valid))
    }

    /// The frames and their mask, with the pixels of the scan: in memory, or in a temporary file if
    /// those that were read are in one and a reconstruction with all of them in memory would exceed
    /// the limit.
    ///
    /// # Errors
    /// They do not fit into memory, or a temporary file cannot be read or written.
    pub(super) fn laid_out(
        self,
        layout: &Layout,
        input: &InputFile,
    ) -> Result<(Frames, Option<Mask>), IoError> {
        let [rows, columns] = layout.shape();
        let shape = [self.frames(), rows, columns];
        let bytes_of = |shape: [usize; 3], each: u128| {
            let pixels = shape.iter().map(|n| *n as u128);
            pixels.product::<u128>().saturating_mul(each)
        };
        let limit = u128::from(input.memory().limit());
        let folder = self.frames.scratch_folder();
        let folder = folder.filter(|_| bytes_of(shape, RECONSTRUCTED) > limit);
        let per_frame = u128::from(matches!(self.mask, Some(Mask::PerFrame(_))));
        let in_memory = |yes: bool| if yes { 4 } else { 0 };
        let read = in_memory(self.in_memory()) + per_frame;
        let kept = in_memory(folder.is_none()) + per_frame;
        let needed = bytes_of(self.frames.shape(), read) + bytes_of(shape, kept);
        input.allow(&self.name, needed)?;
        // Whole frames have been read where the centre was looked for.
        let [rows, columns] = layout.window();
        let within = |range: Range<usize>, first: usize| {
            range.start.saturating_sub(first)..range.end.saturating_sub(first)
        };
        let part = s![within(rows, self.first[0]), within(columns, self.first[1])];
        let mut writer = match folder {
            Some(folder) => FrameWriter::in_scratch(folder, shape)?,
            None => FrameWriter::in_memory(shape),
        };
        self.visit(|block| {
            let laid: Vec<(usize, Array2<f32>)> = (block.par_iter())
                .map(|(of, counts)| {
                    (
                        *of,
                        layout.counts(self.corrected(*of, counts.view()).slice(part)),
                    )
                })
                .collect();
            for (of, counts) in laid {
                writer.put_frame(of, counts.view())?;
            }
            Ok(())
        })?;
        let mask = match &self.mask {
            Some(Mask::Shared(plane)) => Some(Mask::Shared(layout.mask(plane.slice(part)))),
            Some(mask @ Mask::PerFrame(_)) => {
                let mut each = Array3::from_elem(shape, false);
                for (mut to, number) in each.outer_iter_mut().zip(&self.numbers) {
                    to.assign(&layout.mask(mask.of_frame(*number).slice(part)));
                }
                Some(Mask::PerFrame(each))
            }
            None => {
                let all = Array2::from_elem(self.shape(), true);
                let plane = layout.mask(all.slice(part));
                plane
                    .iter()
                    .any(|valid| !valid)
                    .then_some(Mask::Shared(plane))
            }
        };
        Ok((writer.finish(), mask))
    }
}

/// The end of a note on pixels that are masked for having none of what is needed.
fn masked_too(masked: usize, without: &str) -> String {
    match masked {
        0 => String::new(),
        _ => format!(
            "; {} without {without} {} masked",
            count(masked, ["pixel", "pixels"]),
            if masked == 1 { "is" } else { "are" }
        ),
    }
}
