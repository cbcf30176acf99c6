//! Frames that are no measurements of the specimen in the beam: without beam, far too bright, or
//! with a pattern unlike the others.
//!
//! A specimen changes the light of a frame, and of its neighbours, which the same beam overlaps,
//! with it: the light of a frame that is dark because of the specimen falls over several frames. A
//! lost beam has no such halo. Stray light has no pattern of the beam either.

mod found;
mod incomplete;
mod light;
mod lines;
mod neighbours;
mod patterns;
mod quantiles;
mod shifted;
#[cfg(test)]
mod tests;

use crate::data::Scan;
use crate::positions::overlap::Overlap;
pub use found::BadFrames;
use found::{FAINTEST, merged};
use light::Light;
use neighbours::Neighbours;
use patterns::{BeamOfDarker, Patterns};
use quantiles::{median, quantile};
use warpstride_core::system::ScratchError;

/// Fewest frames of which some can be judged by the others.
const FEWEST: usize = 3;
/// Fewest frames whose light can be judged by that of their neighbours.
const FEWEST_OVERLAPPING: usize = 6;
/// Least linear overlap with which neighbours see the same part of the specimen.
const LEAST_OVERLAP: f64 = 0.4;

/// A part of the frames, as its reciprocal, that are many with a hot line.
const MANY: usize = 4;

impl BadFrames {
    /// Looks for them. Frames without any counts, and masked ones, are not judged.
    ///
    /// # Errors
    /// The counts are in a temporary file that cannot be read.
    pub fn find(scan: &Scan) -> Result<Self, ScratchError> {
        let photon = scan.counts_of_photon()?;
        let mut found = Self::by_light(scan, photon)?;
        let lines = lines::find(scan, photon)?;
        // What many frames have too much, the others do not lack.
        if MANY * lines.hot.len() >= scan.shape()[0] {
            found.incomplete.clear();
        }
        found.incomplete = merged(&[&found.incomplete, &lines.missing]);
        found.bright_lines = lines.hot;
        let known = merged(&[&found.certain(), &found.doubtful()]);
        found.shifted = shifted::find(scan, &known)?;
        let lines = merged(&[&found.incomplete, &found.bright_lines]);
        for list in [&mut found.unlike, &mut found.darker, &mut found.brighter] {
            list.retain(|frame| lines.binary_search(frame).is_err());
        }
        let certain = found.certain();
        for list in [&mut found.incomplete, &mut found.bright_lines] {
            list.retain(|frame| certain.binary_search(frame).is_err());
        }
        Ok(found)
    }

    /// Those by the light of the frames and of parts of them.
    fn by_light(scan: &Scan, photon: f64) -> Result<Self, ScratchError> {
        let light = Light::of(scan, photon);
        let split = light.split(scan);
        if split.is_none() && light.middle < FAINTEST {
            return Ok(Self::default());
        }
        let mut patterns = Patterns::of(scan, photon)?;
        let Some(split) = split else {
            return Ok(Self::of_judged(scan, &light, &mut patterns));
        };
        match patterns.beam_of_darker(&split) {
            BeamOfDarker::Lost => {
                let with_beam = light.of_some(split.brighter.clone());
                patterns.take_typical(&with_beam);
                let mut lost = patterns.without_pattern(&split.darker);
                let near = Neighbours::of(scan.positions(), &split.all());
                with_beam.keep_lost(&mut lost, &near);
                if !lost.is_empty() {
                    let others = light.judged.iter().copied();
                    let others = others.filter(|frame| lost.binary_search(frame).is_err());
                    let light = light.of_some(others.collect());
                    let mut found = Self::of_judged(scan, &light, &mut patterns);
                    found.without_beam.extend(lost);
                    found.without_beam.sort_unstable();
                    return Ok(found);
                }
            }
            BeamOfDarker::Unclear
                if split.brighter.len() < split.darker.len() && overlaps(scan) =>
            {
                let near = Neighbours::of(scan.positions(), &split.all());
                let undecided = light.brighter_at_once(&split.brighter, &near);
                if !undecided.is_empty() {
                    return Ok(Self {
                        undecided,
                        ..Self::default()
                    });
                }
            }
            BeamOfDarker::Unclear | BeamOfDarker::Present => {}
        }
        let mut found = Self::of_judged(scan, &light, &mut patterns);
        let near = Neighbours::of(scan.positions(), &split.all());
        if overlaps(scan) && light.has_two_levels(&split, &near, &found) {
            let of_levels = split.all();
            for list in [
                &mut found.darker,
                &mut found.brighter,
                &mut found.too_bright,
            ] {
                list.retain(|frame| of_levels.binary_search(frame).is_err());
            }
            found.brighter_level = split.brighter;
        }
        Ok(found)
    }

    /// Those among the frames that `light` judges.
    fn of_judged(scan: &Scan, light: &Light, patterns: &mut Patterns) -> Self {
        let mut found = Self::default();
        if light.judged.len() < FEWEST || light.middle < FAINTEST {
            return found;
        }
        patterns.take_typical(light);
        let near = Neighbours::of(scan.positions(), &light.judged);
        let mut strays = patterns.strays(light);
        if light.judged.len() < FEWEST_OVERLAPPING {
            found.without_beam = strays;
            return found;
        }
        // Opaque parts of a specimen leave stray light, too.
        light.keep_lost(&mut strays, &near);
        found.without_beam = strays;
        let has_contrast = overlaps(scan) && light.add_outliers(&near, &mut found);
        light.doubt_those_at_the_border(&near, &mut found);
        found.unlike = patterns.unlike(light, &near, &found.certain());
        found.incomplete = patterns.incomplete(light, &found.certain(), &found.unlike);
        if !found.incomplete.is_empty() {
            let known = merged(&[&found.certain(), &found.incomplete]);
            found.unlike = patterns.unlike(light, &near, &known);
            // What is missing makes a frame darker.
            (found.darker).retain(|frame| known.binary_search(frame).is_err());
        }
        if has_contrast {
            // The edges of dark parts scatter most of the light that is left.
            found.unlike.retain(|frame| !light.is_dark(*frame));
        }
        found
    }
}

/// Whether neighbouring frames overlap, as far as that is known.
fn overlaps(scan: &Scan) -> bool {
    let [_, rows, columns] = scan.shape();
    let probe = scan.probe();
    Overlap::estimate(
        scan.positions(),
        probe,
        [rows, columns],
        scan.object_pixel(),
    )
    .is_some_and(|overlap| overlap.linear >= LEAST_OVERLAP)
}
