//! Doubtful counts and illuminations.

use crate::data::{Mask, Scan};
use crate::model::problem::poisson_bound;
use crate::{EngineSpec, PowerBound, PowerBoundSetting};
use std::collections::HashSet;
use warpstride_core::system::ScratchError;
use warpstride_core::text::{shortest, significant};

/// Largest share of the light that a power bound from counts that are not whole numbers may leave
/// unexplained: good reconstructions of such data reach an R of a percent and less.
const MAX_BOUND: f64 = 0.01;
/// Largest plausible share of valid pixels with the largest count.
const MAX_SHARE_AT_MAX: f64 = 0.25;
/// Fewest photons of a frame that no other frame repeats by chance.
const MIN_PHOTONS: f64 = 1000.0;
/// Largest plausible power of an illumination at the border of the frames, relative to that of the
/// whole frame.
const MAX_BORDER_POWER: f64 = 0.5;

/// Counts of a pixel that an exposure does not reach: a day at 1e9 a second.
const MOST_COUNTED: f64 = 1e14;

/// Counts that are no photon counts, so that the Poisson power bound keeps the engines from
/// changing anything.
pub(super) fn no_photon_counts(scan: &Scan, engines: &[EngineSpec]) -> Option<String> {
    let poisson = PowerBound::Setting(PowerBoundSetting::Poisson);
    let bounded = engines.iter().find(|e| e.power_bound == Some(poisson))?;
    let (max, total, whole) = (scan.sums().largest, scan.sums().total(), scan.sums().whole);
    if max == 0.0 || (whole && max > 1.0) {
        return None;
    }
    let share = bounded.bound(poisson_bound(scan)) * valid_pixels(scan) / total;
    (share > MAX_BOUND).then(|| {
        let fractions = if whole { "" } else { ", and fractions" };
        format!(
            "the counts (up to {}{fractions}) do not look like numbers of photons, but the power bound takes them for such and allows deviations of {} % of the light, so frames may stay as they are: scale the counts to photons, or switch the bound off with --set {}.power_bound=off",
            significant(f64::from(max), 4),
            significant(100.0 * share, 2),
            bounded.name.as_str()
        )
    })
}

/// A largest count that no detector measures in an exposure.
pub(super) fn more_than_counted(scan: &Scan) -> Option<String> {
    let largest = f64::from(scan.sums().largest);
    (largest > MOST_COUNTED).then(|| {
        format!(
            "the largest count is {}, more than a detector counts in an exposure: the numbers are probably in another unit; scale them to photons",
            significant(largest, 3)
        )
    })
}

/// Number of valid pixels of all frames.
fn valid_pixels(scan: &Scan) -> f64 {
    let frames = scan.shape()[0];
    match scan.mask() {
        Mask::Shared(_) => (frames * scan.mask().valid_in(0)) as f64,
        Mask::PerFrame(_) => (0..frames).map(|f| scan.mask().valid_in(f) as f64).sum(),
    }
}

/// Frames in which a good part of the pixels, `at` of them all, have the largest count `max`.
pub(super) fn two_levels(at: usize, scan: &Scan, max: f32) -> Option<String> {
    let share = at as f64 / valid_pixels(scan);
    (max > 0.0 && share > MAX_SHARE_AT_MAX).then(|| {
        format!(
            "{} % of the pixels have the largest count, {}: expected patterns with few bright pixels (the frames may be thresholded or saturated)",
            significant(100.0 * share, 3),
            shortest(f64::from(max))
        )
    })
}

/// Frames with enough light whose counts are exactly those of an earlier frame.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub(super) fn identical(scan: &Scan) -> Result<Vec<usize>, ScratchError> {
    let sums = scan.sums();
    let least = MIN_PHOTONS * scan.counts_of_photon()?;
    let mut known = HashSet::new();
    Ok((sums.of_frames.iter().zip(&sums.hashes).enumerate())
        .filter(|(_, (total, hash))| **total >= least && !known.insert(**hash))
        .map(|(number, _)| number)
        .collect())
}

/// An illumination in the file that does not fade towards the border of the frames.
pub(super) fn unlimited_illumination(scan: &Scan) -> Option<String> {
    let probe = scan.probe()?;
    let (_, rows, columns) = probe.dim();
    let (mut border, mut whole) = ([0.0; 2], [0.0; 2]);
    for ((_, row, column), value) in probe.indexed_iter() {
        let outside = row == 0 || row + 1 == rows || column == 0 || column + 1 == columns;
        for [power, pixels] in [Some(&mut whole), outside.then_some(&mut border)]
            .into_iter()
            .flatten()
        {
            *power += value.norm_sqr();
            *pixels += 1.0;
        }
    }
    let ratio = (border[0] / border[1]) / (whole[0] / whole[1]);
    (ratio > MAX_BORDER_POWER).then(|| {
        format!(
            "the illumination in the file is {} times as strong at the border of the frames as on average: expected one that fades towards it (--set probe.source=mean-pattern starts without it)",
            significant(ratio, 2)
        )
    })
}
