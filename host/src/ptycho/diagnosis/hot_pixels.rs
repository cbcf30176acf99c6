//! Hot pixels, which count without light.

use super::listed;
use crate::data::{Mask, Scan};
use crate::system::ScratchError;
use ndarray::{Array2, Axis};

/// A hot pixel has so many times the counts of its neighbours.
const HOT: f64 = 10.0;
/// Fewest counts, of all frames together, by which a hot pixel exceeds that, so that noise does not.
const HOT_COUNTS: f64 = 100.0;
/// In near fields a hot pixel has so many times the counts of its neighbours in single frames too, which noise lowers.
const HOT_IN_A_FRAME: f64 = 0.5 * HOT;
/// Least share of such frames.
const IN_FRAMES: f64 = 0.9;

/// A pixel with far more counts than those around it.
struct Candidate {
    /// Row and column.
    place: [usize; 2],
    around: Vec<[usize; 2]>,
    /// Frames in which it is valid, and those in which it is far brighter than the pixels around it.
    frames: [usize; 2],
}

/// Unmasked pixels far brighter than the pixels around them. Light of a far field covers several pixels if it is sampled finely
/// enough. That of a near field does not have to, and where the beam is weak its pattern may be the same in all frames; there a hot
/// pixel is one that has more counts than the mean of all pixels too, and that is far brighter than its neighbours in almost every
/// frame.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub(super) fn hot(scan: &Scan, mean: &Array2<f64>) -> Result<Option<String>, ScratchError> {
    let mut found = candidates(scan, mean);
    if scan.geometry().is_near_field() {
        let valid = mean.iter().filter(|counts| **counts > 0.0).count();
        let of_all = mean.sum() / valid.max(1) as f64;
        found.retain(|one| mean[one.place] > of_all);
        keep_lasting(scan, &mut found)?;
    }
    let places: Vec<String> = (found.iter())
        .map(
            |Candidate {
                 place: [row, column],
                 ..
             }| format!("({row}, {column})"),
        )
        .collect();
    let nouns = ["pixel", "pixels"];
    let what = "with far more counts than the pixels around (row, column), perhaps hot ones that need a mask";
    Ok(listed(&places, nouns, what))
}

/// The pixels that are far brighter than those around them in the mean over the frames.
fn candidates(scan: &Scan, mean: &Array2<f64>) -> Vec<Candidate> {
    let [frames, rows, columns] = scan.shape();
    let valid = |[row, column]: [usize; 2]| match scan.mask() {
        Mask::Shared(plane) => plane[[row, column]],
        Mask::PerFrame(each) => each
            .index_axis(Axis(1), row)
            .index_axis(Axis(1), column)
            .iter()
            .any(|valid| *valid),
    };
    let mut found = Vec::new();
    for ((row, column), here) in mean.indexed_iter() {
        if here * frames as f64 <= HOT_COUNTS {
            continue;
        }
        let mut around: Vec<[usize; 2]> = Vec::with_capacity(8);
        for r in row.saturating_sub(1)..(row + 2).min(rows) {
            for c in column.saturating_sub(1)..(column + 2).min(columns) {
                if (r, c) != (row, column) && valid([r, c]) {
                    around.push([r, c]);
                }
            }
        }
        let Some(second) = second_largest(around.iter().map(|place| mean[*place])) else {
            continue;
        };
        if (here - HOT * second) * frames as f64 > HOT_COUNTS {
            found.push(Candidate {
                place: [row, column],
                around,
                frames: [0; 2],
            });
        }
    }
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
            for one in found.iter_mut().filter(|one| mask[one.place]) {
                let around = one.around.iter().filter(|place| mask[**place]);
                let second = second_largest(around.map(|place| f64::from(counts[*place])));
                let here = f64::from(counts[one.place]);
                one.frames[0] += 1;
                one.frames[1] +=
                    usize::from(second.is_some_and(|second| here > HOT_IN_A_FRAME * second));
            }
        }
        Ok::<(), ScratchError>(())
    })?;
    found.retain(|one| one.frames[1] as f64 >= IN_FRAMES * one.frames[0] as f64);
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
    use crate::ptycho::{SimulateOptions, simulate};

    /// What is found in a simulated near field with these pixels (row, column) of so many counts in each frame.
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
