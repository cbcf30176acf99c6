//! The light of each frame beside that of the frames around.

use super::neighbours::Neighbours;
use super::{BadFrames, median, quantile};
use crate::data::{Mask, Scan};

/// Place among the frames, ordered by their light, of the frame that is taken for a typical one with beam.
const TYPICAL: f64 = 0.75;
/// Share of their neighbours' light below which frames are doubtful, and below which they have no beam.
const DARKER: f64 = 0.7;
const WITHOUT: f64 = 0.05;
/// Multiples of their neighbours' light above which frames are doubtful, and above which they are no measurements.
const BRIGHTER: f64 = 1.4;
const TOO_BRIGHT: f64 = 3.0;
/// Bad frames differ from their neighbours by so many times what a fifth of all frames exceed.
const TIMES: f64 = 5.0;
const FIFTH: f64 = 0.8;
/// Least difference of bad frames from their neighbours, in standard deviations of photon noise.
const DEVIATIONS: f64 = 6.0;
/// Least part of a change, in logarithms, that the frames around a frame have if it is the specimen's.
const HALO: f64 = 0.12;
/// Fewest neighbours by which the light of a frame is judged.
const FEWEST: usize = 3;

/// The light of each frame.
pub(super) struct Light {
    /// Counts of each frame, as if all of its pixels were valid.
    pub(super) levels: Vec<f64>,
    /// Frames with counts, in their order.
    pub(super) judged: Vec<usize>,
    /// Counts of a typical frame with beam.
    pub(super) typical: f64,
    /// Counts of the frame in the middle.
    pub(super) middle: f64,
}

impl Light {
    pub(super) fn of(scan: &Scan) -> Self {
        let sums = scan.sums();
        let mut levels = sums.of_frames.clone();
        if let Mask::PerFrame(each) = scan.mask() {
            let whole = sums.of_pixels.sum();
            for (level, valid) in levels.iter_mut().zip(each.outer_iter()) {
                let pixels = valid.iter().zip(&sums.of_pixels);
                let seen: f64 = pixels
                    .filter(|(valid, _)| **valid)
                    .map(|(_, sum)| sum)
                    .sum();
                *level = if seen > 0.0 {
                    *level * whole / seen
                } else {
                    0.0
                };
            }
        }
        let judged: Vec<usize> = (0..levels.len()).filter(|f| levels[*f] > 0.0).collect();
        let mut ordered: Vec<f64> = judged.iter().map(|frame| levels[*frame]).collect();
        ordered.sort_by(f64::total_cmp);
        Self {
            typical: quantile(&ordered, TYPICAL),
            middle: quantile(&ordered, 0.5),
            levels,
            judged,
        }
    }

    /// Whether a frame has about as much light as a typical one.
    pub(super) fn is_typical(&self, frame: usize) -> bool {
        (self.typical / TOO_BRIGHT..self.typical * TOO_BRIGHT).contains(&self.levels[frame])
    }

    /// The median light of the neighbours of a frame that `counts` accepts; `None` of too few.
    fn around(
        &self,
        near: &Neighbours,
        frame: usize,
        counts: &dyn Fn(usize) -> bool,
    ) -> Option<f64> {
        let others = near.of_frame(frame).iter().filter(|other| counts(**other));
        let others: Vec<f64> = others.map(|other| self.levels[*other]).collect();
        (others.len() >= FEWEST).then(|| median(others))
    }

    /// How much more light a frame has than those around, as a logarithm.
    fn excess(
        &self,
        near: &Neighbours,
        frame: usize,
        counts: &dyn Fn(usize) -> bool,
    ) -> Option<f64> {
        let around = self.around(near, frame, counts)?;
        Some((self.levels[frame] / around).ln())
    }

    /// Whether the frames beside some share the change of their light, as logarithm, with those further away.
    fn has_halo(&self, near: &Neighbours, some: &[usize], change: f64, bad: &[bool]) -> bool {
        let mut beside: Vec<usize> = (some.iter())
            .flat_map(|frame| near.of_frame(*frame).iter().copied())
            .filter(|frame| !bad[*frame])
            .collect();
        beside.sort_unstable();
        beside.dedup();
        let is_beside = |frame: usize| beside.binary_search(&frame).is_ok();
        // Frames that are further away, or, of a small scan, all that are not bad.
        let shares = (beside.iter()).filter_map(|frame| {
            self.excess(near, *frame, &|other| !bad[other] && !is_beside(other))
                .or_else(|| self.excess(near, *frame, &|other| !bad[other]))
        });
        let shares: Vec<f64> = shares.collect();
        if shares.len() < FEWEST {
            return false;
        }
        // Of the frames beside a single one, some may be bad themselves.
        let share = match some.len() {
            1 => median(shares),
            _ => shares.iter().sum::<f64>() / shares.len() as f64,
        };
        share * change.signum() > HALO * change.abs()
    }

    /// Whether two neighbours of a frame that is darker, or brighter, are about as dark or bright, as at the edge of a specimen.
    fn has_company(&self, near: &Neighbours, frame: usize, excess: f64, bad: &[bool]) -> bool {
        let alike = |other: &&usize| {
            let ratio = self.levels[**other] / self.levels[frame];
            !bad[**other]
                && if excess < 0.0 {
                    ratio < 1.0 / DARKER
                } else {
                    ratio > 1.0 / BRIGHTER
                }
        };
        near.of_frame(frame).iter().filter(alike).count() > 1
    }

    /// Whether the light changes at once, by more than a factor, between some frames and those beside them.
    fn begins_at_once(&self, near: &Neighbours, some: &[usize], factor: f64, bad: &[bool]) -> bool {
        let mut pairs = Vec::new();
        let mut edge = Vec::new();
        for frame in some {
            let before = pairs.len();
            let beside = near.of_frame(*frame).iter().filter(|other| !bad[**other]);
            pairs.extend(beside.map(|other| (self.levels[*frame] / self.levels[*other]).ln()));
            if pairs.len() > before {
                edge.push(*frame);
            }
        }
        let step = median(pairs);
        let enough = if factor < 1.0 {
            step < factor.ln()
        } else {
            step > factor.ln()
        };
        enough && !self.has_halo(near, &edge, step, bad)
    }

    /// Keeps the frames with stray light alone that lost the beam, and not those behind an opaque part of the specimen: they lie beside
    /// frames with all of the light, or follow one another with a background that has about as much.
    pub(super) fn keep_lost(&self, strays: &mut Vec<usize>, near: &Neighbours) {
        let bad = self.flags(strays);
        *strays = (near.groups(strays).into_iter())
            .filter(|group| {
                let is_bright = |frame: &usize| self.levels[*frame] * TOO_BRIGHT >= self.typical;
                (is_run(group) && group.iter().all(is_bright))
                    || self.begins_at_once(near, group, 1.0 / TOO_BRIGHT, &bad)
            })
            .flatten()
            .collect();
        strays.sort_unstable();
    }

    /// Adds the frames that are darker or brighter than those around.
    pub(super) fn add_outliers(&self, near: &Neighbours, found: &mut BadFrames) {
        self.add_runs(near, found);
        let bad = self.flags(&found.certain());
        let excess: Vec<(usize, f64)> = (self.judged.iter().filter(|frame| !bad[**frame]))
            .filter_map(|frame| Some((*frame, self.excess(near, *frame, &|f| !bad[f])?)))
            .collect();
        let mut sizes: Vec<f64> = excess.iter().map(|(_, excess)| excess.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let usual = TIMES * quantile(&sizes, FIFTH);
        // A specimen does not make light: what is brighter has more than a typical frame. What is darker by itself has light around.
        let possible = |(frame, excess): (usize, f64)| match excess > 0.0 {
            true => self.levels[frame] > BRIGHTER * self.typical,
            false => self.levels[frame] / excess.exp() * TOO_BRIGHT > self.typical,
        };
        let outlier = |(frame, excess): (usize, f64), limit: f64| {
            let noise = DEVIATIONS
                / self.levels[frame]
                    .min(self.levels[frame] / excess.exp())
                    .sqrt();
            excess / limit.ln() > 1.0 && excess.abs() > usual.max(noise)
        };
        let outliers: Vec<(usize, f64)> = (excess.iter().copied())
            .filter(|one| possible(*one) && (outlier(*one, DARKER) || outlier(*one, BRIGHTER)))
            .collect();
        for (frame, excess) in outliers {
            if self.has_halo(near, &[frame], excess, &bad)
                || self.has_company(near, frame, excess, &bad)
            {
                continue;
            }
            let list = if excess < WITHOUT.ln() {
                &mut found.without_beam
            } else if excess < 0.0 {
                &mut found.darker
            } else if excess > TOO_BRIGHT.ln() && self.levels[frame] > 2.0 * self.typical {
                &mut found.too_bright
            } else {
                &mut found.brighter
            };
            list.push(frame);
        }
        for list in [
            &mut found.without_beam,
            &mut found.too_bright,
            &mut found.darker,
            &mut found.brighter,
        ] {
            list.sort_unstable();
            list.dedup();
        }
    }

    /// Adds the runs of frames, one after the other in time, that are far darker or brighter than all frames beside them.
    fn add_runs(&self, near: &Neighbours, found: &mut BadFrames) {
        let known = self.flags(&found.certain());
        for factor in [1.0 / TOO_BRIGHT, TOO_BRIGHT] {
            let far = |frame: &usize| {
                let level = self.levels[*frame] / self.typical;
                !known[*frame] && (level.ln() / factor.ln()) > 1.0
            };
            let some: Vec<usize> = self.judged.iter().copied().filter(far).collect();
            if 2 * some.len() > self.judged.len() {
                continue;
            }
            let bad = self.flags(&[&some[..], &found.certain()].concat());
            for group in near.groups(&some) {
                if !is_run(&group) || !self.begins_at_once(near, &group, factor, &bad) {
                    continue;
                }
                let without = self.begins_at_once(near, &group, WITHOUT, &bad);
                let list = match (factor > 1.0, without) {
                    (true, _) => &mut found.too_bright,
                    (false, true) => &mut found.without_beam,
                    (false, false) => &mut found.darker,
                };
                list.extend(group);
            }
        }
    }

    /// Whether each frame of all is one of some.
    fn flags(&self, some: &[usize]) -> Vec<bool> {
        let mut flags = vec![false; self.levels.len()];
        for frame in some {
            flags[*frame] = true;
        }
        flags
    }
}

/// Whether frames, in ascending order, follow one another.
fn is_run(frames: &[usize]) -> bool {
    frames.windows(2).all(|pair| pair[1] == pair[0] + 1)
}
