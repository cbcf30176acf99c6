//! The light of each frame beside that of the frames around.

use super::found::{BadFrames, FAINTEST, merged};
use super::neighbours::{MOST, Neighbours};
use super::{median, quantile};
use crate::data::{Mask, Scan};

/// Place among the frames, ordered by their light, of the frame that is taken for a typical one
/// with beam.
const TYPICAL: f64 = 0.75;
/// Share of their neighbours' light below which frames are doubtful, and below which they have no
/// beam.
const DARKER: f64 = 0.7;
const WITHOUT: f64 = 0.05;
/// Multiples of their neighbours' light above which frames are doubtful, and above which they are
/// no measurements.
const BRIGHTER: f64 = 1.4;
const TOO_BRIGHT: f64 = 3.0;
/// Bad frames differ from their neighbours by so many times what a fifth of all frames exceed.
const TIMES: f64 = 5.0;
const FIFTH: f64 = 0.8;
/// Part of the frames that are many bad ones, and how often those are looked for among the others.
const MANY: std::ops::RangeInclusive<f64> = 0.1..=0.4;
const ROUNDS: usize = 6;
/// Bad frames that come by chance have at most so many times their share of the frames around them.
const CLUSTERED: f64 = 1.5;
/// Share of the frames of a level of light that have about as much of it.
const ALIKE: f64 = 0.9;
/// Least difference of bad frames from their neighbours, in standard deviations of photon noise.
const DEVIATIONS: f64 = 6.0;
/// Least part of a change, in logarithms, that the frames around a frame have if it is the
/// specimen's.
const HALO: f64 = 0.12;
/// Fewest neighbours by which the light of a frame is judged.
const FEWEST: usize = 3;

/// The light of each frame.
pub(super) struct Light {
    /// Counts of each frame, as if all of its pixels were valid.
    pub(super) levels: Vec<f64>,
    /// Frames with counts, in their order.
    pub(super) judged: Vec<usize>,
    /// Photons of a typical frame with beam.
    pub(super) typical: f64,
    /// Photons of the frame in the middle.
    pub(super) middle: f64,
}

/// Frames of a scan of which some have far more light than the others.
pub(super) struct Split {
    pub(super) darker: Vec<usize>,
    pub(super) brighter: Vec<usize>,
}

impl Split {
    /// All of the frames.
    pub(super) fn all(&self) -> Vec<usize> {
        merged(&[&self.darker, &self.brighter])
    }
}

impl Light {
    /// The light of the frames of a scan in which a photon has so many counts.
    pub(super) fn of(scan: &Scan, photon: f64) -> Self {
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
        levels.iter_mut().for_each(|level| *level /= photon);
        let judged: Vec<usize> = (0..levels.len()).filter(|f| levels[*f] > 0.0).collect();
        Self::of_levels(levels, judged)
    }

    fn of_levels(levels: Vec<f64>, judged: Vec<usize>) -> Self {
        let mut ordered: Vec<f64> = judged.iter().map(|frame| levels[*frame]).collect();
        ordered.sort_by(f64::total_cmp);
        Self {
            typical: quantile(&ordered, TYPICAL),
            middle: quantile(&ordered, 0.5),
            levels,
            judged,
        }
    }

    /// The light if only `some` frames are judged.
    pub(super) fn of_some(&self, some: Vec<usize>) -> Self {
        Self::of_levels(self.levels.clone(), some)
    }

    /// The frames of a scan on both sides of the widest gap of their light, if it is wide. Those
    /// without counts that are not masked are among them if most frames are dark.
    pub(super) fn split(&self, scan: &Scan) -> Option<Split> {
        let empty = |frame: &usize| self.levels[*frame] == 0.0 && scan.mask().valid_in(*frame) > 0;
        let empty: Vec<usize> = (0..self.levels.len()).filter(empty).collect();
        let mut all = merged(&[&self.judged, &empty]);
        let level = |frame: usize| self.levels[frame].max(1.0);
        all.sort_by(|a, b| level(*a).total_cmp(&level(*b)));
        let gap = |place: &usize| level(all[*place]) / level(all[*place - 1]);
        let first = (1..all.len())
            .filter(|place| level(all[*place]) > FAINTEST)
            .max_by(|a, b| gap(a).total_cmp(&gap(b)))
            .filter(|place| gap(place) > TOO_BRIGHT)?;
        let [mut darker, mut brighter] = [&all[..first], &all[first..]].map(<[usize]>::to_vec);
        if darker.len() <= brighter.len() {
            darker.retain(|frame| self.levels[*frame] > 0.0);
        }
        darker.sort_unstable();
        brighter.sort_unstable();
        (!darker.is_empty()).then_some(Split { darker, brighter })
    }

    /// Whether a frame has about as much light as a typical one.
    pub(super) fn is_typical(&self, frame: usize) -> bool {
        (self.typical / TOO_BRIGHT..self.typical * TOO_BRIGHT).contains(&self.levels[frame])
    }

    /// Whether a frame has far less light than a typical one.
    pub(super) fn is_dark(&self, frame: usize) -> bool {
        self.levels[frame] < DARKER * self.typical
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

    /// How much more light some frames have than frames around that are further away or, of a small
    /// scan, than all that are not bad; as logarithms. `some` are in their order.
    fn excess_of_some(&self, near: &Neighbours, some: &[usize], bad: &[bool]) -> Vec<f64> {
        let is_one = |frame: usize| some.binary_search(&frame).is_ok();
        let excess = |frame: &usize| {
            self.excess(near, *frame, &|other| !bad[other] && !is_one(other))
                .or_else(|| self.excess(near, *frame, &|other| !bad[other]))
        };
        some.iter().filter_map(excess).collect()
    }

    /// Whether the frames beside some share the change of their light, as logarithm, with those
    /// further away.
    fn has_halo(&self, near: &Neighbours, some: &[usize], change: f64, bad: &[bool]) -> bool {
        let mut beside: Vec<usize> = (some.iter())
            .flat_map(|frame| near.of_frame(*frame).iter().copied())
            .filter(|frame| !bad[*frame])
            .collect();
        beside.sort_unstable();
        beside.dedup();
        let shares = self.excess_of_some(near, &beside, bad);
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

    /// Whether two neighbours of a frame that is darker, or brighter, are about as dark or bright,
    /// as at the edge of a specimen.
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

    /// Whether the light changes at once, by more than a factor, between some frames and those
    /// beside them.
    fn begins_at_once(&self, near: &Neighbours, some: &[usize], factor: f64, bad: &[bool]) -> bool {
        let mut pairs = Vec::new();
        let mut edge = Vec::new();
        for frame in some {
            let before = pairs.len();
            let beside = near.of_frame(*frame).iter().filter(|other| !bad[**other]);
            // A frame without counts has less than one.
            let level = self.levels[*frame].max(0.5);
            pairs.extend(beside.map(|other| (level / self.levels[*other]).ln()));
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

    /// Keeps the frames with stray light alone that lost the beam, and not those behind an opaque
    /// part of the specimen: they lie beside frames with all of the light, or follow one another
    /// with a background that has about as much. Frames that are beside no others are like the rest
    /// of them.
    pub(super) fn keep_lost(&self, strays: &mut Vec<usize>, near: &Neighbours) {
        let bad = self.flags(strays);
        let is_bright = |frame: &usize| self.levels[*frame] * TOO_BRIGHT >= self.typical;
        let is_lost = |group: &Vec<usize>| {
            (is_run(group) && group.iter().all(is_bright))
                || self.begins_at_once(near, group, 1.0 / TOO_BRIGHT, &bad)
        };
        let is_alone = |group: &Vec<usize>| {
            let mut beside = group.iter().flat_map(|frame| near.of_frame(*frame));
            beside.all(|other| bad[*other])
        };
        let (mut lost, others): (Vec<_>, Vec<_>) =
            near.groups(strays).into_iter().partition(is_lost);
        if !lost.is_empty() {
            lost.extend(others.into_iter().filter(is_alone));
        }
        *strays = lost.into_iter().flatten().collect();
        strays.sort_unstable();
    }

    /// Takes frames without beam at the border of the scan for darker ones if the nearest frames
    /// are darker than those further away, too: an opaque part of the specimen may end there, and
    /// few frames lie around.
    pub(super) fn doubt_those_at_the_border(&self, near: &Neighbours, found: &mut BadFrames) {
        let bad = self.flags(&found.certain());
        for group in near.groups(&found.without_beam) {
            if group
                .iter()
                .any(|frame| near.of_frame(*frame).len() >= MOST)
            {
                continue;
            }
            let mut nearest = Vec::new();
            let mut changes = Vec::new();
            for frame in &group {
                let beside = near.of_frame(*frame).iter().filter(|other| !bad[**other]);
                for other in beside.take(FEWEST) {
                    changes.push((self.levels[*frame].max(0.5) / self.levels[*other]).ln());
                    nearest.push(*other);
                }
            }
            nearest.sort_unstable();
            nearest.dedup();
            let shares = self.excess_of_some(near, &nearest, &bad);
            let share = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
            if share < HALO * median(changes) {
                found.without_beam.retain(|frame| !group.contains(frame));
                found.darker.extend(group);
            }
        }
        found.darker.sort_unstable();
    }

    /// Frames of `some` that are far brighter, at once, than all frames beside them.
    pub(super) fn brighter_at_once(&self, some: &[usize], near: &Neighbours) -> Vec<usize> {
        let bad = self.flags(some);
        let groups = near.groups(some).into_iter();
        let mut at_once: Vec<usize> = groups
            .filter(|group| self.begins_at_once(near, group, TOO_BRIGHT, &bad))
            .flatten()
            .collect();
        at_once.sort_unstable();
        at_once
    }

    /// Whether the frames of a split have two levels of light that change at once from frame to
    /// frame, as with exposures or gains that differ, and the brighter ones have not been `found`.
    pub(super) fn has_two_levels(
        &self,
        split: &Split,
        near: &Neighbours,
        found: &BadFrames,
    ) -> bool {
        let named = merged(&[&found.certain(), &found.doubtful()]);
        let number = split.brighter.len();
        let is_named = |frame: &usize| named.binary_search(frame).is_ok();
        let [darker, brighter] = [&split.darker, &split.brighter].map(|f| f.iter().all(is_named));
        let is_known = brighter || (darker && split.darker.len() < number);
        if number < FEWEST || split.darker.len() < FEWEST || is_known {
            return false;
        }
        let level = |frames: &[usize]| median(frames.iter().map(|f| self.levels[*f]).collect());
        let [dark, bright] = [level(&split.darker), level(&split.brighter)];
        let is_narrow = |frames: &[usize], level: f64| {
            let usual = level / TOO_BRIGHT..level * TOO_BRIGHT;
            let alike = frames.iter().filter(|f| usual.contains(&self.levels[**f]));
            alike.count() as f64 >= ALIKE * frames.len() as f64
        };
        let bad = self.flags(&split.brighter);
        dark > 0.0
            && is_narrow(&split.darker, dark)
            && is_narrow(&split.brighter, bright)
            && self.begins_at_once(near, &split.brighter, TOO_BRIGHT, &bad)
    }

    /// Adds the frames that are darker or brighter than those around. Returns whether the specimen
    /// makes as many other frames differ from those around: darker ones are no outliers then.
    pub(super) fn add_outliers(&self, near: &Neighbours, found: &mut BadFrames) -> bool {
        let strays = found.without_beam.clone();
        self.add_runs(near, found);
        let bad = self.flags(&found.certain());
        let excess: Vec<(usize, f64)> = (self.judged.iter().filter(|frame| !bad[**frame]))
            .filter_map(|frame| Some((*frame, self.excess(near, *frame, &|f| !bad[f])?)))
            .collect();
        let mut sizes: Vec<f64> = excess.iter().map(|(_, excess)| excess.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let usual = TIMES * quantile(&sizes, FIFTH);
        // A specimen does not make light: what is brighter has more than a typical frame. What is
        // darker by itself has light around.
        let possible = |(frame, excess): (usize, f64)| match excess > 0.0 {
            true => self.levels[frame] > BRIGHTER * self.typical,
            false => self.levels[frame] / excess.exp() * TOO_BRIGHT > self.typical,
        };
        let exceeds = |(frame, excess): (usize, f64), limit: f64, least: f64| {
            let noise = DEVIATIONS
                / self.levels[frame]
                    .min(self.levels[frame] / excess.exp())
                    .sqrt();
            excess / limit.ln() > 1.0 && excess.abs() > least.max(noise)
        };
        let outlier = |one: (usize, f64), limit: f64| exceeds(one, limit, usual);
        let differs = |one: (usize, f64)| exceeds(one, DARKER, 0.0) || exceeds(one, BRIGHTER, 0.0);
        let outliers: Vec<(usize, f64)> = (excess.iter().copied())
            .filter(|one| possible(*one) && (outlier(*one, DARKER) || outlier(*one, BRIGHTER)))
            .collect();
        let is_edge = |(frame, excess): &(usize, f64)| {
            self.has_halo(near, &[*frame], *excess, &bad)
                || self.has_company(near, *frame, *excess, &bad)
        };
        let mut outliers: Vec<(usize, f64)> =
            (outliers.into_iter().filter(|one| !is_edge(one))).collect();
        for one in self.scattered(near, &bad) {
            let known = outliers.iter().any(|(frame, _)| *frame == one.0);
            if !known && possible(one) && differs(one) {
                outliers.push(one);
            }
        }
        for (frame, excess) in outliers {
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
        let named = merged(&[&found.certain(), &found.doubtful()]);
        let others = excess.into_iter();
        let others = others.filter(|(frame, _)| named.binary_search(frame).is_err());
        let others: Vec<(usize, f64)> = others.collect();
        // Where the specimen lets more light pass than at most frames, some frames have half as
        // much.
        let is_passed = |frame: &usize| {
            let least = (BRIGHTER * self.typical).max(self.levels[*frame] / 2.0);
            let others = others
                .iter()
                .filter(|(other, _)| self.levels[*other] > least);
            others.count() > 1
        };
        found.too_bright.retain(|frame| !is_passed(frame));
        found.brighter.retain(|frame| !is_passed(frame));
        let others = others.into_iter().filter(|one| differs(*one));
        let darker = merged(&[&found.without_beam, &found.darker]);
        let darker = darker.len() - strays.len();
        let has_contrast = others.count() >= darker.max(FEWEST);
        if has_contrast {
            // Far darker than all around is remarkable still.
            let mut without = std::mem::replace(&mut found.without_beam, strays);
            without.retain(|frame| found.without_beam.binary_search(frame).is_err());
            found.darker = without;
        }
        has_contrast
    }

    /// Frames, a tenth of all to four tenths, that differ from all others around far more than
    /// these among themselves, and how much, as logarithms. As many have one another around, so
    /// that they are put aside until all that are left are alike.
    fn scattered(&self, near: &Neighbours, bad: &[bool]) -> Vec<(usize, f64)> {
        let judged: Vec<usize> = self.judged.iter().copied().filter(|f| !bad[*f]).collect();
        let is_usual =
            |f: &usize| (DARKER * self.middle..BRIGHTER * self.middle).contains(&self.levels[*f]);
        let mut aside = bad.to_vec();
        (judged.iter().filter(|f| !is_usual(f))).for_each(|f| aside[*f] = true);
        let mut some: Vec<(usize, f64)> = Vec::new();
        let mut others: Vec<f64> = Vec::new();
        for _ in 0..ROUNDS {
            let excess = judged
                .iter()
                .filter_map(|f| Some((*f, self.excess(near, *f, &|other| !aside[other])?)));
            let differ;
            (some, differ) =
                excess.partition(|(_, excess)| *excess < DARKER.ln() || *excess > BRIGHTER.ln());
            others = differ.into_iter().map(|(_, excess)| excess.abs()).collect();
            let mut next = bad.to_vec();
            some.iter().for_each(|(frame, _)| next[*frame] = true);
            if std::mem::replace(&mut aside, next.clone()) == next {
                break;
            }
        }
        let share = some.len() as f64 / judged.len().max(1) as f64;
        if !MANY.contains(&share) {
            return Vec::new();
        }
        others.sort_by(f64::total_cmp);
        let usual = TIMES * quantile(&others, FIFTH);
        let is_far = |(_, excess): &(usize, f64)| excess.abs() > usual;
        // A specimen makes others differ less.
        if !some.iter().all(is_far) {
            return Vec::new();
        }
        let frames: Vec<usize> = some.iter().map(|(frame, _)| *frame).collect();
        // Those that a specimen changes lie side by side.
        let around = frames.iter().flat_map(|frame| near.of_frame(*frame));
        let beside = around
            .clone()
            .filter(|frame| frames.binary_search(frame).is_ok());
        if beside.count() as f64 > CLUSTERED * share * around.count() as f64 {
            return Vec::new();
        }
        let has_halo = |group: &Vec<usize>| {
            let change = |sign: f64| {
                let of = some.iter().filter(|(frame, excess)| {
                    excess * sign > 0.0 && group.binary_search(frame).is_ok()
                });
                of.map(|(frame, excess)| (*frame, *excess))
                    .unzip::<usize, f64, Vec<_>, Vec<_>>()
            };
            [1.0, -1.0].into_iter().any(|sign| {
                let (of, changes) = change(sign);
                !of.is_empty() && self.has_halo(near, &of, median(changes), &aside)
            })
        };
        let groups = near.groups(&frames).into_iter();
        let mut without: Vec<usize> = groups.filter(|g| !has_halo(g)).flatten().collect();
        without.sort_unstable();
        some.retain(|(frame, _)| without.binary_search(frame).is_ok());
        some
    }

    /// Adds the runs of frames, one after the other in time, that are far darker or brighter than
    /// all frames beside them.
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
