//! Masks of pixels that count without light, that never count, and that are saturated.

use super::super::bad_frames::{dead_note, doubtful_note};
use super::pixels::Pixels;
use crate::checks::diagnosis::dead_pixels::dark;
use crate::checks::diagnosis::hot_pixels::{Candidate, HOT, candidates};
use crate::checks::diagnosis::listed::listed_pixels;
use crate::checks::diagnosis::piles_up;
use crate::data::Mask;
use crate::{FaultSetting, HotPixelSetting, HotPixels, ReadOptions, Saturation};
use ndarray::{Array2, Array3};
use warpstride_core::text::{count, shortest};
use warpstride_files::{InputFile, IoError};

/// Most pixels that a note lists.
const LISTED: usize = 5;

impl Pixels {
    /// Masks saturated and hot pixels if the options say so.
    ///
    /// # Errors
    /// A mask for each frame, where that is needed, does not fit into memory, or a temporary file
    /// cannot be read.
    pub(super) fn mask_faults(
        &mut self,
        input: &InputFile,
        options: &ReadOptions,
        notes: &mut Vec<String>,
    ) -> Result<(), IoError> {
        let saturated = match options.saturation {
            Saturation::Setting(FaultSetting::Report) => None,
            Saturation::Setting(FaultSetting::Mask) => {
                let found = self.saturated()?;
                if found.is_none() {
                    let none = "data.saturation: no pixels that look saturated";
                    notes.push(none.to_owned());
                }
                found
            }
            Saturation::Counts(counts) => Some(counts as f32),
        };
        if let Some(counts) = saturated {
            self.mask_from(counts, input, notes)?;
        }
        let times = match options.hot_pixels {
            HotPixels::Setting(HotPixelSetting::Keep | HotPixelSetting::Report) => None,
            HotPixels::Setting(HotPixelSetting::Mask) => Some(HOT),
            HotPixels::Times(times) => Some(times),
        };
        // Where counts are not added up, pixels that never count are found in the frames of the
        // scan.
        if times.is_some() || options.bin.is_some_and(|bin| bin > 1) {
            self.mask_hot_and_dead(times, options.hot_pixels, notes)?;
        }
        Ok(())
    }

    /// The largest count of valid pixels, if they pile up at it.
    fn saturated(&self) -> Result<Option<f32>, IoError> {
        let mut largest = 0.0_f32;
        self.visit(|block| {
            for (of, counts) in block {
                each_valid(*counts, self.valid(*of), |_, counts| {
                    largest = largest.max(counts)
                });
            }
            Ok(())
        })?;
        let (mut at, mut below) = (0, 0);
        self.visit(|block| {
            for (of, counts) in block {
                each_valid(*counts, self.valid(*of), |_, counts| {
                    at += usize::from(counts == largest);
                    below += usize::from(counts < largest && counts >= 0.95 * largest);
                });
            }
            Ok(())
        })?;
        Ok(piles_up(largest, at, below).then_some(largest))
    }

    /// Masks pixels with so many counts in the frames in which they have them, and in all if they
    /// have them in half of the frames.
    fn mask_from(
        &mut self,
        counts: f32,
        input: &InputFile,
        notes: &mut Vec<String>,
    ) -> Result<(), IoError> {
        let mut with = Array2::<usize>::zeros(self.shape());
        let mut frames = 0;
        self.visit(|block| {
            for (of, found) in block {
                let mut any = false;
                each_valid(*found, self.valid(*of), |place, found| {
                    if found >= counts {
                        with[place] += 1;
                        any = true;
                    }
                });
                frames += usize::from(any);
            }
            Ok(())
        })?;
        let pixels = with.iter().filter(|with| **with > 0).count();
        notes.push(format!(
            "data.saturation: {} of {} with {} counts or more masked",
            count(pixels, ["pixel", "pixels"]),
            count(frames, ["frame", "frames"]),
            shortest(f64::from(counts))
        ));
        let used = self.frames();
        let always = with.mapv(|with| 2 * with >= used);
        self.mask_where(&always);
        if with.iter().all(|with| *with == 0 || 2 * with >= used) {
            return Ok(());
        }
        self.give_each_frame_its_mask(input)?;
        let mut marked: Vec<(usize, Vec<(usize, usize)>)> = Vec::new();
        self.visit(|block| {
            for (of, found) in block {
                let mut places = Vec::new();
                each_valid(*found, self.valid(*of), |place, found| {
                    if found >= counts {
                        places.push(place);
                    }
                });
                marked.push((self.number(*of), places));
            }
            Ok(())
        })?;
        if let Some(Mask::PerFrame(each)) = &mut self.mask {
            for (number, places) in marked {
                for (row, column) in places {
                    each[[number, row, column]] = false;
                }
            }
        }
        Ok(())
    }

    /// Makes the mask one for each frame.
    fn give_each_frame_its_mask(&mut self, input: &InputFile) -> Result<(), IoError> {
        let [rows, columns] = self.shape();
        let all = self.all_frames();
        let pixels = all as u128 * rows as u128 * columns as u128;
        let bytes = if self.in_memory() { 5 } else { 1 };
        input.allow(&self.name, pixels.saturating_mul(bytes))?;
        self.mask = Some(match self.mask.take() {
            Some(Mask::PerFrame(each)) => Mask::PerFrame(each),
            Some(Mask::Shared(plane)) => {
                let each = plane.broadcast((all, rows, columns));
                Mask::PerFrame(each.map_or_else(
                    || Array3::from_elem((all, rows, columns), true),
                    |each| each.to_owned(),
                ))
            }
            None => Mask::PerFrame(Array3::from_elem((all, rows, columns), true)),
        });
        Ok(())
    }

    /// Masks pixels with so many times the counts of those around, and those that never count
    /// within the light.
    fn mask_hot_and_dead(
        &mut self,
        times: Option<f64>,
        option: HotPixels,
        notes: &mut Vec<String>,
    ) -> Result<(), IoError> {
        let (mean, mut valid) = self.mean()?;
        if let Some(times) = times {
            let hot = self.mask_hot(times, (&mean, &valid), notes)?;
            hot.into_iter().for_each(|place| valid[place] = false);
        }
        let dark = dark(&mean, &valid, self.frames());
        let never = dark.what();
        let in_file = |place| self.in_file.of(place).unwrap_or(place);
        let listed = |pixels| listed_pixels(pixels, never, self.shape(), &in_file);
        let dead = listed(&dark.dead).and_then(|listed| dead_note(&listed, option));
        let doubtful = listed(&dark.doubtful).and_then(|listed| doubtful_note(&listed, option));
        // Doubtful ones that are used are found again in the scan, and named then.
        let doubtful = doubtful.filter(|(_, masks)| *masks);
        for (pixels, (note, masks)) in ([(&dark.dead, dead), (&dark.doubtful, doubtful)]
            .into_iter())
        .filter_map(|(pixels, note)| Some((pixels, note?)))
        {
            notes.push(note);
            if masks {
                self.mask_where(pixels);
            }
        }
        Ok(())
    }

    /// Masks pixels with so many times the counts of those around in the mean, of the pixels that
    /// are valid in a frame, and returns them.
    fn mask_hot(
        &mut self,
        times: f64,
        (mean, valid): (&Array2<f64>, &Array2<bool>),
        notes: &mut Vec<String>,
    ) -> Result<Vec<[usize; 2]>, IoError> {
        let mut hot = candidates(mean, valid, self.frames(), times);
        if self.near_field && !hot.is_empty() {
            self.visit(|block| {
                for (of, counts) in block {
                    let counts = self.corrected(*of, *counts);
                    for one in &mut hot {
                        one.look(counts.view(), self.valid(*of));
                    }
                }
                Ok(())
            })?;
            hot.retain(Candidate::lasts);
        }
        let hot: Vec<[usize; 2]> = hot.into_iter().map(|one| one.place).collect();
        let shown: Vec<String> = (hot.iter().take(LISTED))
            .map(|place| {
                let [row, column] = self.in_file.of(*place).unwrap_or(*place);
                format!("({row}, {column})")
            })
            .collect();
        let more = if hot.len() > LISTED { ", …" } else { "" };
        let list = match shown.is_empty() {
            true => String::new(),
            false => format!(
                " at (row, column) of the stored frames {}{more}",
                shown.join(", ")
            ),
        };
        notes.push(format!(
            "data.hot_pixels: {} masked{list}",
            count(hot.len(), ["hot pixel", "hot pixels"])
        ));
        let mut bad = Array2::from_elem(mean.dim(), false);
        hot.iter().for_each(|place| bad[*place] = true);
        self.mask_where(&bad);
        Ok(hot)
    }
}

/// Calls `visit` with place and counts of each valid pixel.
fn each_valid(
    counts: ndarray::ArrayView2<'_, f32>,
    valid: Option<ndarray::ArrayView2<'_, bool>>,
    mut visit: impl FnMut((usize, usize), f32),
) {
    for (place, counts) in counts.indexed_iter() {
        if valid.is_none_or(|valid| valid[place]) {
            visit(place, *counts);
        }
    }
}
