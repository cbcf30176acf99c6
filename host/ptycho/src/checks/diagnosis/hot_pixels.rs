//! Hot pixels, which count without light.

pub(super) mod areas;

use super::listed::listed;
use crate::data::{Mask, Scan};
use areas::around;
use ndarray::{Array2, ArrayView2, Axis};
use std::collections::HashSet;
use warpstride_core::system::ScratchError;

/// A hot pixel has so many times the counts of its neighbours.
pub(crate) const HOT: f64 = 10.0;
/// Fewest counts, of all frames together, by which a hot pixel exceeds that, so that noise does
/// not.
const HOT_COUNTS: f64 = 100.0;
/// In near fields a hot pixel has this part of so many times the counts of its neighbours in single
/// frames too, which noise lowers.
const IN_A_FRAME: f64 = 0.5;
/// Least share of such frames.
const IN_FRAMES: f64 = 0.9;

/// A pixel with far more counts than those around it.
pub(crate) struct Candidate {
    /// Row and column.
    pub(crate) place: [usize; 2],
    around: Vec<[usize; 2]>,
    /// Frames in which it is valid, and those in which it is far brighter than the pixels around
    /// it.
    frames: [usize; 2],
    /// How many times the counts of those around it it has in single frames.
    times: f64,
}

impl Candidate {
    /// Looks at the counts (row, column) of a frame; all pixels are valid without a mask.
    pub(crate) fn look(&mut self, counts: ArrayView2<'_, f32>, mask: Option<ArrayView2<'_, bool>>) {
        let valid = |place: [usize; 2]| mask.is_none_or(|mask| mask[place]);
        if !valid(self.place) {
            return;
        }
        let around = self.around.iter().filter(|place| valid(**place));
        let second = second_largest(around.map(|place| f64::from(counts[*place])));
        let here = f64::from(counts[self.place]);
        self.frames[0] += 1;
        self.frames[1] += usize::from(second.is_some_and(|second| here > self.times * second));
    }

    /// Whether it is far brighter than the pixels around it in almost every frame that was looked
    /// at.
    pub(crate) fn lasts(&self) -> bool {
        self.frames[1] as f64 >= IN_FRAMES * self.frames[0] as f64
    }
}

/// Unmasked pixels far brighter than the pixels around them. Light of a far field covers several
/// pixels if it is sampled finely enough. That of a near field does not have to, and where the beam
/// is weak its pattern may be the same in all frames; there a hot pixel is one that has more counts
/// than the mean of all pixels too, and that is far brighter than its neighbours in almost every
/// frame.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub(super) fn hot(scan: &Scan, mean: &Array2<f64>) -> Result<Option<String>, ScratchError> {
    let valid = valid_somewhere(scan);
    let photons = mean / scan.counts_of_photon()?;
    let mut found = candidates(&photons, &valid, scan.shape()[0], HOT);
    if scan.geometry().is_near_field() {
        let valid = mean.iter().filter(|counts| **counts > 0.0).count();
        let of_all = mean.sum() / valid.max(1) as f64;
        found.retain(|one| mean[one.place] > of_all);
        keep_lasting(scan, &mut found)?;
    }
    let stored = scan.stored_pixels();
    let places: Vec<String> = (found.iter())
        .map(|one| {
            let in_file = stored.and_then(|stored| stored.of(one.place));
            let [row, column] = in_file.unwrap_or(one.place);
            format!("({row}, {column})")
        })
        .collect();
    let nouns = ["pixel", "pixels"];
    let of = match stored.map(|stored| stored.bin) {
        None => "row, column".to_owned(),
        Some(1) => "row, column in the file".to_owned(),
        Some(bin) => format!("row, column in the file of the first of {bin} x {bin} pixels"),
    };
    let what = format!(
        "with far more counts than the pixels around ({of}), perhaps hot ones that need a mask (--hot-pixels mask)"
    );
    Ok(listed(&places, nouns, &what))
}

/// Pixels (row, column) that are valid in a frame.
pub(crate) fn valid_somewhere(scan: &Scan) -> Array2<bool> {
    match scan.mask() {
        Mask::Shared(plane) => plane.clone(),
        Mask::PerFrame(each) => each.map_axis(Axis(0), |of_pixel| of_pixel.iter().any(|v| *v)),
    }
}

/// The pixels that have more than `times` the counts of those around them in the mean (row, column)
/// over so many frames, of the pixels that are valid in a frame: single ones, lines, and small
/// areas.
pub(crate) fn candidates(
    mean: &Array2<f64>,
    valid: &Array2<bool>,
    frames: usize,
    times: f64,
) -> Vec<Candidate> {
    let mut found = Vec::new();
    let is_far = |here: f64, there: f64| (here - times * there) * frames as f64 > HOT_COUNTS;
    let candidate = |place, around| Candidate {
        place,
        around,
        frames: [0; 2],
        times: IN_A_FRAME * times,
    };
    for ((row, column), here) in mean.indexed_iter() {
        if !valid[[row, column]] || here * frames as f64 <= HOT_COUNTS {
            continue;
        }
        let around = around([row, column], valid);
        let Some(second) = second_largest(around.iter().map(|place| mean[*place])) else {
            continue;
        };
        if is_far(*here, second) {
            found.push(candidate([row, column], around));
        }
    }
    let known: HashSet<[usize; 2]> = found.iter().map(|one| one.place).collect();
    for (place, around) in areas::find(mean, valid, &is_far) {
        if !known.contains(&place) {
            found.push(candidate(place, around));
        }
    }
    found.sort_by_key(|one| one.place);
    found
}

/// Keeps the pixels that are far brighter than those around them in almost every frame.
fn keep_lasting(scan: &Scan, found: &mut Vec<Candidate>) -> Result<(), ScratchError> {
    if found.is_empty() {
        return Ok(());
    }
    scan.blocks(|first, block| {
        for (counts, frame) in block.outer_iter().zip(first..) {
            let mask = scan.mask().of_frame(frame);
            for one in &mut *found {
                one.look(counts, Some(mask));
            }
        }
        Ok::<(), ScratchError>(())
    })?;
    found.retain(Candidate::lasts);
    Ok(())
}

/// The second largest, so that two hot pixels side by side are found, too.
fn second_largest(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(|a, b| b.total_cmp(a));
    values.get(1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Propagation;
    use crate::{SimulateOptions, simulate};

    /// What is found in a simulated near field with these pixels (row, column) of so many counts in
    /// each frame.
    fn found(scan: &Scan, hot_pixels: &[([usize; 2], f32)]) -> Option<String> {
        let mut counts = scan.frames().unwrap().into_owned();
        for mut frame in counts.outer_iter_mut() {
            for (place, counts) in hot_pixels {
                frame[*place] += counts;
            }
        }
        let positions = scan.positions().clone();
        let scan = Scan::new(counts, None, positions, *scan.geometry(), None).unwrap();
        hot(&scan, &scan.mean_frame()).unwrap()
    }

    #[test]
    fn near_fields_have_the_hot_pixels_that_they_are_given_and_no_others() {
        for (frame, focus_to_sample, photons) in [
            (32, Some(1e-3), 1e8),
            (64, None, 1e8),
            (64, Some(4e-3), 1e6),
        ] {
            let options = SimulateOptions {
                frame,
                positions: 12,
                photons,
                propagation: Propagation::NearField { focus_to_sample },
                ..SimulateOptions::default()
            };
            let scan = simulate(&options).unwrap();
            assert_eq!(found(&scan, &[]), None);
            let middle = scan.mean_frame()[[frame / 2, frame / 2]] as f32;
            assert!(middle > 100.0);
            // One beside the beam, two side by side in it.
            let [beside, beam] = [[1, frame / 2], [frame / 2, frame / 2]];
            let bright = 15.0 * scan.sums().largest;
            let pixels = [
                (beside, bright),
                (beam, bright),
                ([beam[0] + 1, beam[1]], bright),
            ];
            let text = found(&scan, &pixels).unwrap();
            assert!(text.starts_with("3 pixels "), "{text}");
            for ([row, column], _) in pixels {
                assert!(text.contains(&format!("({row}, {column})")), "{text}");
            }
        }
    }

    #[test]
    fn a_pixel_that_is_bright_in_a_few_frames_only_is_not_hot_in_a_near_field() {
        let options = SimulateOptions {
            frame: 32,
            positions: 12,
            propagation: Propagation::NearField {
                focus_to_sample: None,
            },
            ..SimulateOptions::default()
        };
        let scan = simulate(&options).unwrap();
        let mut counts = scan.frames().unwrap().into_owned();
        let bright = 300.0 * scan.sums().largest;
        counts[[3, 9, 9]] = bright;
        counts[[7, 9, 9]] = bright;
        let positions = scan.positions().clone();
        let scan = Scan::new(counts, None, positions, *scan.geometry(), None).unwrap();
        assert_eq!(hot(&scan, &scan.mean_frame()).unwrap(), None);
    }
}
