//! The patterns of the frames, by their counts in cells of the detector that have about the same
//! light in the mean of all frames.

use super::incomplete::{in_parts, parts};
use super::light::{Light, Split};
use super::neighbours::Neighbours;
use super::{incomplete, median, quantile};
use crate::data::{Mask, Scan, in_photons};
use ndarray::{ArrayView2, Axis};
use rayon::prelude::*;
use warpstride_core::system::ScratchError;

/// Rows, and columns, of cells.
const SIDE: usize = 8;
/// Least difference of the shares of light and area of the core, where the pattern is brighter than
/// its mean, by which it differs from uniform light.
const CONTRAST: f64 = 0.05;
/// Largest part of a frame's counts, and of the light of a typical frame, that may be the beam's in
/// one without beam.
const PATTERN: f64 = 0.1;
const BEAM: f64 = 0.05;
/// Largest standard deviation of that part, except in frames with less light than that.
const CERTAIN: f64 = 0.05;
/// Standard deviations of photon noise.
const DEVIATIONS: f64 = 4.0;
/// Least difference (1 − Σ √(p q) of the shares p and q of light in all cells) of patterns that are
/// unlike, and how many times what a fifth of all frames exceed it is.
const UNLIKE: f64 = 0.1;
const TIMES: f64 = 4.0;
const FIFTH: f64 = 0.8;
/// Fewest neighbours with which a pattern is compared.
const FEWEST: usize = 3;

/// Contrast below which light is uniform, and what uniform light has by chance, times the square
/// root of its counts.
const FLAT: f64 = 0.1;
const CHANCE: f64 = 4.0;
/// Cells with more counts than so many times the median, for their area, are cut to that.
const CUT: f64 = 1.5;
/// Concordance with the pattern of brighter frames from which on frames have it.
const LIKE_BRIGHTER: f64 = 0.75;
/// How many times brighter than stray light with a pattern of its own, such as hot pixels, frames
/// with beam are.
const FAR: f64 = 300.0;

type Counts = [f64; SIDE * SIDE];

/// Whether the frames of a scan that have far fewer counts than the others have the beam.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BeamOfDarker {
    /// They have its pattern.
    Present,
    /// Their light is uniform, and that of the others is not.
    Lost,
    /// Neither.
    Unclear,
}

/// Counts of each frame in cells.
pub(super) struct Patterns {
    of_frames: Vec<Counts>,
    /// Counts of each frame in parts of the detector of several sizes; NaN where they are not
    /// known.
    in_parts: Vec<Vec<f32>>,
    /// Valid pixels of each cell.
    areas: Counts,
    /// Shares of the light of typical frames.
    typical: Counts,
}

impl Patterns {
    /// Reads all frames once. The pattern of typical frames is still empty.
    pub(super) fn of(scan: &Scan, photon: f64) -> Result<Self, ScratchError> {
        let mean = &scan.sums().of_pixels / photon;
        let [rows, columns] = [Axis(1), Axis(0)].map(|axis| parts(&mean.sum_axis(axis).to_vec()));
        let in_parts = |counts: ArrayView2<'_, f32>| in_parts(counts, &rows, &columns);
        let mut of_frames = Vec::with_capacity(scan.shape()[0]);
        scan.blocks(|_, block| {
            let each: Vec<_> = block.outer_iter().collect();
            let each = each.into_par_iter();
            let counts = each.map(|counts| in_parts(in_photons(counts, photon).view()));
            of_frames.extend(counts.collect::<Vec<_>>());
            Ok::<(), ScratchError>(())
        })?;
        let mut all = Self {
            of_frames: of_frames.iter().map(|parts| in_cells(parts)).collect(),
            in_parts: of_frames,
            areas: [0.0; SIDE * SIDE],
            typical: [0.0; SIDE * SIDE],
        };
        let valid = |mask: ArrayView2<'_, bool>| mask.mapv(|valid| f32::from(u8::from(valid)));
        match scan.mask() {
            Mask::Shared(plane) => all.areas = in_cells(&in_parts(valid(plane.view()).view())),
            Mask::PerFrame(each) => {
                let mean = mean.mapv(|sum| sum as f32);
                let whole = in_parts(mean.view());
                for (frame, mask) in each.outer_iter().enumerate() {
                    let valid = valid(mask);
                    let areas = in_cells(&in_parts(valid.view()));
                    for (all, one) in all.areas.iter_mut().zip(areas) {
                        *all = all.max(one);
                    }
                    all.complete(frame, &whole, &in_parts((&mean * &valid).view()));
                }
            }
        }
        Ok(all)
    }

    /// Completes the counts of a frame by those of its pixels that are masked, as the light of all
    /// frames in each part, and that of the valid pixels of this one, say. Parts of which less than
    /// a half is seen are not known.
    fn complete(&mut self, frame: usize, whole: &[f32], seen: &[f32]) {
        let [whole_cells, seen_cells] = [whole, seen].map(in_cells);
        let of_mean = total(&self.of_frames[frame]) / total(&seen_cells).max(1e-300);
        let cells = whole_cells.into_iter().zip(seen_cells);
        for (counts, (whole, seen)) in self.of_frames[frame].iter_mut().zip(cells) {
            *counts = match seen > 0.0 {
                true => *counts * whole / seen,
                false => whole * of_mean,
            };
        }
        let parts = whole.iter().zip(seen);
        for (counts, (whole, seen)) in self.in_parts[frame].iter_mut().zip(parts) {
            *counts *= match 2.0 * seen >= *whole {
                true => whole / seen,
                false => f32::NAN,
            };
        }
    }

    /// Takes the pattern of the frames that have about as much light as a typical one for the
    /// beam's.
    pub(super) fn take_typical(&mut self, light: &Light) {
        let usual: Vec<&Counts> = (light.judged.iter())
            .filter(|frame| light.is_typical(**frame))
            .map(|frame| &self.of_frames[*frame])
            .collect();
        for (cell, share) in self.typical.iter_mut().enumerate() {
            let shares = usual
                .iter()
                .map(|counts| counts[cell] / total(counts).max(1e-300));
            *share = median(shares.collect());
        }
        let sum = total(&self.typical).max(1e-300);
        self.typical.iter_mut().for_each(|share| *share /= sum);
    }

    /// What the patterns of darker and brighter frames say.
    pub(super) fn beam_of_darker(&self, split: &Split) -> BeamOfDarker {
        let [darker, brighter] = [&split.darker, &split.brighter].map(|frames| {
            let mut sum = [0.0; SIDE * SIDE];
            for frame in frames {
                let cells = sum.iter_mut().zip(&self.of_frames[*frame]);
                cells.for_each(|(sum, counts)| *sum += counts);
            }
            sum
        });
        let all = total(&darker);
        let brighter_is_flat = self.is_flat(&brighter);
        if all < split.darker.len() as f64 {
            return match brighter_is_flat {
                true => BeamOfDarker::Unclear,
                false => BeamOfDarker::Lost,
            };
        }
        let alike = self.concordance(&darker, &brighter);
        let number = |frames: &[usize]| frames.len() as f64;
        let bright = total(&brighter) / number(&split.brighter);
        match (self.is_flat(&darker), brighter_is_flat) {
            (true, false) if alike < LIKE_BRIGHTER => BeamOfDarker::Lost,
            (false, true) => BeamOfDarker::Present,
            (_, false) if alike > LIKE_BRIGHTER => BeamOfDarker::Present,
            (false, false) if all / number(&split.darker) * FAR < bright => BeamOfDarker::Lost,
            _ => BeamOfDarker::Unclear,
        }
    }

    /// Counts of a cell for each of its valid pixels.
    fn density(&self, counts: &Counts, cell: usize) -> f64 {
        counts[cell] / self.areas[cell]
    }

    /// Cells with valid pixels.
    fn cells(&self) -> impl Iterator<Item = usize> + '_ {
        (0..SIDE * SIDE).filter(|cell| self.areas[*cell] > 0.0)
    }

    /// Whether light is uniform, apart from photon noise: how much more of the counts than of the
    /// area is in the cells that are brighter than the mean. Single cells with far more counts than
    /// the others, as hot pixels make them, are cut.
    fn is_flat(&self, counts: &Counts) -> bool {
        let densities = self.cells().map(|cell| self.density(counts, cell));
        let middle = median(densities.collect());
        let cut = |cell: usize| match middle > 0.0 {
            true => counts[cell].min(CUT * middle * self.areas[cell]),
            false => counts[cell],
        };
        let area = total(&self.areas);
        let all = self.cells().map(cut).sum::<f64>().max(1e-300);
        let more = (self.cells()).map(|cell| (cut(cell) / all - self.areas[cell] / area).max(0.0));
        more.sum::<f64>() < FLAT + CHANCE / all.sqrt()
    }

    /// The probability that a cell that is brighter than the mean of `model` has more of `counts`
    /// than one that is not: a half if the patterns have nothing to do with one another.
    fn concordance(&self, counts: &Counts, model: &Counts) -> f64 {
        let mean = total(model) / total(&self.areas).max(1.0);
        let (bright, dark): (Vec<usize>, Vec<usize>) =
            (self.cells()).partition(|cell| self.density(model, *cell) > mean);
        let mut more = 0.0;
        for one in &bright {
            for other in &dark {
                let difference = self.density(counts, *one) - self.density(counts, *other);
                more += match difference {
                    d if d > 0.0 => 1.0,
                    d if d < 0.0 => 0.0,
                    _ => 0.5,
                };
            }
        }
        more / (bright.len() * dark.len()).max(1) as f64
    }

    /// Frames whose counts do not have the pattern of the beam. Frames with about as much light as
    /// a typical one that have another pattern are none of them: the beam is displaced.
    pub(super) fn strays(&self, light: &Light) -> Vec<usize> {
        let mean = 1.0 / total(&self.areas).max(1.0);
        let core: Vec<usize> = (0..SIDE * SIDE)
            .filter(|cell| self.typical[*cell] > mean * self.areas[*cell])
            .collect();
        let of_core = |counts: &Counts| core.iter().map(|cell| counts[*cell]).sum::<f64>();
        let area = of_core(&self.areas) * mean;
        let share = of_core(&self.typical);
        if share - area < CONTRAST {
            return Vec::new();
        }
        let is_stray = |frame: &usize| {
            let counts = &self.of_frames[*frame];
            let all = total(counts);
            let part = (of_core(counts) / all - area) / (share - area);
            let noise_of =
                |share_of: f64| (share_of * (1.0 - share_of) / all).sqrt() / (share - area);
            let noise = noise_of(area);
            // Few counts are compatible with both.
            let is_beam = part + DEVIATIONS * noise.max(noise_of(share)) >= 1.0;
            let faint = all < BEAM * light.typical;
            all > 0.0
                && part * all < BEAM * light.typical
                && part < PATTERN + DEVIATIONS * noise
                && !is_beam
                && (faint || noise < CERTAIN)
                && !(light.is_typical(*frame) && self.is_structured(counts))
        };
        light.judged.iter().copied().filter(is_stray).collect()
    }

    /// Frames of `some` that do not have the pattern of the beam for certain, as few counts are
    /// compatible with it.
    pub(super) fn without_pattern(&self, some: &[usize]) -> Vec<usize> {
        let has = |frame: &usize| {
            let counts = &self.of_frames[*frame];
            !self.is_flat(counts) && self.concordance(counts, &self.typical) > LIKE_BRIGHTER
        };
        some.iter().copied().filter(|frame| !has(frame)).collect()
    }

    /// Whether light is not uniform, beyond chance.
    fn is_structured(&self, counts: &Counts) -> bool {
        let noise = (SIDE * SIDE) as f64 / (4.0 * total(counts));
        difference(counts, &self.areas) > UNLIKE + noise
    }

    /// Frames whose pattern is unlike that of the frames around, apart from those that are known
    /// already, with which none is compared.
    pub(super) fn unlike(&self, light: &Light, near: &Neighbours, known: &[usize]) -> Vec<usize> {
        let known = self.flags(known);
        let judged = light.judged.iter().filter(|frame| !known[**frame]);
        let unlike: Vec<(usize, f64)> = judged
            .filter_map(|frame| {
                let mut around = [0.0; SIDE * SIDE];
                let others = near.of_frame(*frame).iter().filter(|other| !known[**other]);
                let mut number = 0;
                for other in others {
                    let counts = &self.of_frames[*other];
                    let all = total(counts).max(1e-300);
                    around
                        .iter_mut()
                        .zip(counts)
                        .for_each(|(a, c)| *a += c / all);
                    number += 1;
                }
                let counts = &self.of_frames[*frame];
                let noise = (SIDE * SIDE) as f64 / (4.0 * total(counts));
                let local = (number >= FEWEST).then(|| difference(counts, &around))?;
                let least = local.min(difference(counts, &self.typical));
                Some((*frame, (least - noise).max(0.0)))
            })
            .collect();
        let mut sizes: Vec<f64> = unlike.iter().map(|(_, size)| *size).collect();
        sizes.sort_by(f64::total_cmp);
        let limit = UNLIKE.max(TIMES * quantile(&sizes, FIFTH));
        let unlike = unlike.into_iter().filter(|(_, size)| *size > limit);
        unlike.map(|(frame, _)| frame).collect()
    }

    /// Frames in which a part of the detector is missing, apart from those that are known already;
    /// some are perhaps `unlike` others. The pattern of typical frames is that of the others
    /// afterwards.
    pub(super) fn incomplete(
        &mut self,
        light: &Light,
        known: &[usize],
        unlike: &[usize],
    ) -> Vec<usize> {
        let flags = (&self.flags(known)[..], &self.flags(unlike)[..]);
        let mut found = incomplete::find(&self.in_parts, light, flags);
        if found.is_empty() {
            return found;
        }
        let others = light.judged.iter().copied();
        let others = others.filter(|frame| found.binary_search(frame).is_err());
        self.take_typical(&light.of_some(others.collect()));
        // The light that is missing is elsewhere if the beam moved.
        found.retain(|frame| {
            let mut left = self.typical;
            let counts = &self.of_frames[*frame];
            (left.iter_mut().zip(counts))
                .filter(|(_, counts)| **counts == 0.0)
                .for_each(|(share, _)| *share = 0.0);
            let most = 0.5 * (1.0 + total(&left)) * light.typical;
            let is_alike = difference(counts, &left) <= UNLIKE || light.is_dark(*frame);
            (light.levels[*frame] < most && is_alike) || !unlike.contains(frame)
        });
        found
    }

    /// Whether each frame of all is one of some.
    fn flags(&self, some: &[usize]) -> Vec<bool> {
        let mut flags = vec![false; self.of_frames.len()];
        some.iter().for_each(|frame| flags[*frame] = true);
        flags
    }
}

/// 1 − Σ √(p q) of the shares p and q.
fn difference(a: &Counts, b: &Counts) -> f64 {
    let both = (total(a) * total(b)).sqrt();
    let common: f64 = a.iter().zip(b).map(|(a, b)| (a * b).sqrt()).sum();
    if both > 0.0 { 1.0 - common / both } else { 0.0 }
}

fn total(counts: &Counts) -> f64 {
    counts.iter().sum()
}

/// Counts in cells, of those in all parts.
fn in_cells(parts: &[f32]) -> Counts {
    std::array::from_fn(|cell| f64::from(parts[cell]))
}
