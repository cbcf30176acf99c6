//! Frames that are shifted by whole pixels against the others, as after a slip of the readout.
//!
//! The centres of mass of patterns differ by what the specimen refracts, by any fraction of a
//! pixel. Two groups of them that are apart by a whole number of pixels, and far narrower than
//! that, are no refraction.

use super::{median, quantile};
use crate::data::Scan;
use rayon::prelude::*;
use warpstride_core::system::ScratchError;

/// Fewest frames of a group, and of all: the pattern of a few frames may drift as far.
const FEWEST: usize = 3;
const MANY: usize = 20;
/// Largest difference of the distance of the groups from a whole number of pixels, and largest such
/// number.
const WHOLE: f64 = 0.15;
const FARTHEST: f64 = 4.0;
/// An absorber's edges move the light, too: nothing is judged if a tenth of the frames has so many
/// times the light of another tenth, and no group is shifted that differs as much from the other.
const ABSORBS: f64 = 2.0;
/// Least gap between the groups, in pixels and as a multiple of the largest standard deviation in
/// one.
const GAP: (f64, f64) = (0.3, 1.5);

/// Finds frames of a far field in the smaller group, of those with counts.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub(super) fn find(scan: &Scan, known: &[usize]) -> Result<Vec<usize>, ScratchError> {
    let light = &scan.sums().of_frames;
    let mut ordered: Vec<f64> = light
        .iter()
        .copied()
        .filter(|counts| *counts > 0.0)
        .collect();
    ordered.sort_by(f64::total_cmp);
    let [low, high] = [0.1, 0.9].map(|share| quantile(&ordered, share));
    if scan.geometry().is_near_field() || high > ABSORBS * low {
        return Ok(Vec::new());
    }
    let mut centres: Vec<(usize, [f64; 2])> = Vec::new();
    scan.blocks(|first, block| {
        let each: Vec<_> = block.outer_iter().zip(first..).collect();
        let found = each.into_par_iter().map(|(counts, frame)| {
            let (mut all, mut sums) = (0.0, [0.0; 2]);
            for (row, counts) in counts.outer_iter().enumerate() {
                let mut of_row = 0.0;
                for (column, count) in counts.iter().enumerate() {
                    of_row += f64::from(*count);
                    sums[1] += column as f64 * f64::from(*count);
                }
                all += of_row;
                sums[0] += row as f64 * of_row;
            }
            (frame, all, sums.map(|sum| sum / f64::max(all, 1e-300)))
        });
        let found: Vec<_> = found.collect();
        let judged = found
            .into_iter()
            .filter(|(frame, all, _)| *all > 0.0 && known.binary_search(frame).is_err());
        centres.extend(judged.map(|(frame, _, centre)| (frame, centre)));
        Ok::<(), ScratchError>(())
    })?;
    let mut found: Vec<usize> = (0..2)
        .flat_map(|axis| {
            let of_axis = centres.iter().map(|(frame, centre)| (centre[axis], *frame));
            smaller_group(of_axis.collect())
        })
        .collect();
    let usual = quantile(&ordered, 0.5);
    let of_found = found.iter().map(|frame| light[*frame]).collect();
    if !(usual / ABSORBS..usual * ABSORBS).contains(&median(of_found)) {
        found.clear();
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The frames of the smaller one of two groups of places that are apart by whole pixels, if there
/// are two.
fn smaller_group(mut places: Vec<(f64, usize)>) -> Vec<usize> {
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    if places.len() < MANY {
        return Vec::new();
    }
    let gap = |at: &usize| places[*at].0 - places[*at - 1].0;
    let inside = FEWEST..(places.len() + 1).saturating_sub(FEWEST);
    let Some(at) = inside.max_by(|a, b| gap(a).total_cmp(&gap(b))) else {
        return Vec::new();
    };
    let of = |some: &[(f64, usize)]| {
        let n = some.len() as f64;
        let mean = some.iter().map(|(place, _)| place).sum::<f64>() / n;
        let squares: f64 = some.iter().map(|(place, _)| (place - mean).powi(2)).sum();
        (mean, (squares / n).sqrt())
    };
    let [low, high] = [&places[..at], &places[at..]];
    let [(left, narrow), (right, wide)] = [of(low), of(high)];
    let apart = right - left;
    let is_whole =
        (apart - apart.round()).abs() <= WHOLE && (1.0..=FARTHEST).contains(&apart.round());
    if !is_whole || gap(&at) < GAP.0.max(GAP.1 * narrow.max(wide)) {
        return Vec::new();
    }
    let smaller = if low.len() < high.len() { low } else { high };
    let mut frames: Vec<usize> = smaller.iter().map(|(_, frame)| *frame).collect();
    frames.sort_unstable();
    frames
}

#[cfg(test)]
mod tests {
    use super::smaller_group;

    #[test]
    fn groups_that_are_whole_pixels_apart_are_shifted() {
        let place = |n: usize| (n as f64 * 0.618_034).fract() * 0.6 - 0.3;
        let of = |by: f64, shifted: &dyn Fn(usize) -> bool| {
            let at = |n: usize| (place(n) + if shifted(n) { by } else { 0.0 }, n);
            smaller_group((0..60).map(at).collect())
        };
        let third: Vec<usize> = (0..60).filter(|n| n % 3 == 1).collect();
        for by in [1.0, -1.0, 2.0, 3.0] {
            assert_eq!(of(by, &|n| n % 3 == 1), third, "{by}");
            assert_eq!(of(by, &|n| n >= 50), Vec::from_iter(50..60), "{by}");
        }
        // A prism, an edge, and nothing.
        for by in [0.0, 0.5, 1.5, 7.0] {
            assert!(of(by, &|n| n % 3 == 1).is_empty(), "{by}");
        }
        let slope = (0..60).map(|n| (n as f64 / 30.0, n)).collect();
        assert!(smaller_group(slope).is_empty());
    }
}
