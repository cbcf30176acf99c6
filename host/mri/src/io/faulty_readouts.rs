//! Readouts that are left out: with values that are NaN or infinite, with positions far beyond
//! those of the others, and of zeros.

mod zero_runs;

use super::excluded_coils::ExcludedCoils;
use super::left_out::LeftOut;
use crate::data::Readout;
use ndarray::{Array2, Axis, s};
use num_complex::Complex;
use warpstride_core::text::count;
use zero_runs::ZeroRuns;

/// The readouts that were removed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Removed {
    /// Numbers of their acquisitions, sorted.
    pub(super) acquisitions: Vec<usize>,
    /// How many of them have positions that are NaN or infinite.
    positions: usize,
    /// How many of them have positions far beyond those of most readouts.
    far: usize,
    /// How many of them have no sample other than 0, as if they had never been measured.
    zeros: usize,
    /// Samples that were removed from readouts whose other samples are kept.
    samples: usize,
    /// Samples of 0 in every coil in readouts with other samples.
    zero_runs: ZeroRuns,
    /// The samples that are kept; `None`: all.
    kept: Option<Vec<usize>>,
    /// The coils with such samples, unless all coils that have samples are among them.
    coils: Vec<usize>,
    /// Whether these readouts are so many that leaving out the coils may be better.
    are_many: bool,
}

impl Removed {
    /// The kinds of these readouts, with their numbers; `noun` is what the file calls them.
    pub(super) fn left_out(&self, noun: &str) -> impl Iterator<Item = LeftOut> {
        let list = list(&self.coils);
        let of = match self.coils.len() {
            0 => String::new(),
            1 => format!(" of coil {list}"),
            _ => format!(" of coils {list}"),
        };
        let remedy = match self.coils.is_empty() || !self.are_many {
            true => String::new(),
            false => format!(" (--exclude-coils {list} keeps them with the other coils)"),
        };
        let samples = format!("samples{of} that are NaN or infinite{remedy}");
        let kinds = [
            (
                samples,
                self.acquisitions.len() - self.positions - self.far - self.zeros,
            ),
            (
                "positions that are NaN or infinite".to_owned(),
                self.positions,
            ),
            (
                format!("positions over {FAR} times as far out as those of most readouts"),
                self.far,
            ),
            ("samples that are all 0".to_owned(), self.zeros),
        ];
        let some = kinds.into_iter().filter(|(_, number)| *number > 0);
        some.map(move |(values, acquisitions)| LeftOut {
            what: format!("{noun} with {values}"),
            acquisitions,
        })
    }

    /// Notes on samples that were removed from readouts, or should perhaps have been.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let broken = (self.samples > 0).then(|| {
            format!(
                "{} left out, as most readouts have values that are NaN or infinite: the other samples of these readouts are used",
                count(self.samples, ["sample", "samples"])
            )
        });
        broken.into_iter().chain(self.zero_runs.note())
    }
}

/// The part of all readouts, one of this number, from which on a coil is better left out.
const MANY: usize = 10;

/// Factor by which the largest |k| of a readout may exceed the median of those of all readouts.
const FAR: f64 = 1000.0;

/// The |k| beyond which a readout is no part of a trajectory, for the largest |k| of each readout
/// in any unit; at least `least`, beyond which no trajectory is used.
pub(super) fn far(mut reaches: Vec<f64>, least: f64) -> f64 {
    reaches.sort_unstable_by(f64::total_cmp);
    let median = reaches.get(reaches.len().saturating_sub(1) / 2);
    (FAR * median.copied().unwrap_or(0.0)).max(least)
}

/// The larger of |k| and the largest so far; NaN and infinite ones do not count.
pub(super) fn farther(most: f64, k: f64) -> f64 {
    if k.is_finite() {
        most.max(k.abs())
    } else {
        most
    }
}

/// Removes the readouts that have a sample (coil, sample) or a position (sample, axis,
/// cycles/pixel) that is NaN or infinite, those that lie [far] beyond most others, and those whose
/// samples are 0 in every coil; also runs of zeros of a few readouts. If most readouts have such a
/// sample, these samples are removed and the rest of their readouts is kept, in parts. Nothing is
/// removed if no sample would remain.
pub(super) fn remove(
    positions: &mut Array2<f64>,
    samples: &mut Array2<Complex<f64>>,
    readouts: &mut Vec<Readout>,
) -> Removed {
    let is_placed = |sample: usize| positions.row(sample).iter().all(|k| k.is_finite());
    let is_finite = |sample: usize| samples.column(sample).iter().all(|v| v.is_finite());
    let is_zero = |sample: usize| samples.column(sample).iter().all(|v| v.norm_sqr() == 0.0);
    let is_sound = |sample: usize| is_placed(sample) && is_finite(sample);
    let is_broken = |coil: usize, readout: &Readout| {
        let mut range = readout.samples.clone();
        range.any(|sample| !samples[[coil, sample]].is_finite())
    };
    let reach = |readout: &Readout| {
        let rows = positions.slice(s![readout.samples.clone(), ..]);
        rows.iter().fold(0.0, |most, k| farther(most, *k))
    };
    let limit = far(readouts.iter().map(reach).collect(), 0.5);
    let zero_runs = ZeroRuns::find(samples, readouts);
    let is_used = |sample: usize| is_sound(sample) && !zero_runs.leave_out(sample);
    let broken_readouts = readouts.iter().filter(|r| !r.samples.clone().all(is_sound));
    let one_by_one = 2 * broken_readouts.count() > readouts.len();
    let mut broken = vec![false; samples.nrows()];
    let mut removed = Removed::default();
    let mut kept: Vec<Readout> = Vec::with_capacity(readouts.len());
    for readout in readouts.iter() {
        let range = readout.samples.clone();
        let sound = range.clone().filter(|sample| is_sound(*sample)).count();
        if reach(readout) > limit {
            removed.acquisitions.push(readout.acquisition);
            removed.far += 1;
        } else if sound > 0 && range.clone().filter(|s| is_sound(*s)).all(is_zero) {
            removed.acquisitions.push(readout.acquisition);
            removed.zeros += 1;
        } else if sound == range.len() {
            kept.extend(used_parts(readout, &is_used));
        } else if one_by_one && sound > 0 {
            removed.samples += range.len() - sound;
            kept.extend(used_parts(readout, &is_used));
        } else {
            removed.acquisitions.push(readout.acquisition);
            removed.positions += usize::from(!range.clone().all(is_placed));
            for (coil, found) in broken.iter_mut().enumerate() {
                *found |= is_broken(coil, readout);
            }
        }
    }
    if kept.is_empty() {
        return Removed::default();
    }
    let left: usize = kept.iter().map(|readout| readout.samples.len()).sum();
    removed.zero_runs = zero_runs;
    if left == samples.ncols() {
        return removed;
    }
    let coils = 0..samples.nrows();
    let has_signal = |coil: &usize| samples.row(*coil).iter().any(|v| *v != Complex::default());
    if !coils.clone().filter(has_signal).all(|coil| broken[coil]) {
        removed.coils = coils.filter(|coil| broken[*coil]).collect();
    }
    removed.are_many =
        (removed.acquisitions.len() - removed.far - removed.zeros) * MANY > readouts.len();
    let of_kept: Vec<usize> = kept.iter().flat_map(|r| r.samples.clone()).collect();
    *positions = positions.select(Axis(0), &of_kept);
    *samples = samples.select(Axis(1), &of_kept);
    let mut begin = 0;
    for readout in &mut kept {
        let end = begin + readout.samples.len();
        readout.samples = begin..end;
        begin = end;
    }
    *readouts = kept;
    removed.kept = Some(of_kept);
    removed
}

/// Removes from arrays the readouts and samples that readers of files leave out, unless a value is
/// NaN or infinite; returns the samples that are kept, unless all are, and notes that name what is
/// left out. Positions are in cycles/pixel.
pub fn leave_out(
    positions: &mut Array2<f64>,
    samples: &mut Array2<Complex<f64>>,
    readouts: &mut Vec<Readout>,
) -> (Option<Vec<usize>>, Vec<String>) {
    let all = readouts.len();
    if !(positions.iter().all(|k| k.is_finite()) && samples.iter().all(|v| v.is_finite())) {
        return (None, Vec::new());
    }
    let removed = remove(positions, samples, readouts);
    let mut notes: Vec<String> = removed.notes().collect();
    let left_out: Vec<LeftOut> = removed.left_out("readouts").collect();
    let used = all - removed.acquisitions.len();
    notes.extend(LeftOut::note(used, all, "readouts", &left_out));
    (removed.kept, notes)
}

/// The parts of a readout between samples that are not used, each with its time.
fn used_parts(readout: &Readout, is_used: &dyn Fn(usize) -> bool) -> Vec<Readout> {
    let mut parts: Vec<Readout> = Vec::new();
    for sample in readout.samples.clone().filter(|sample| is_used(*sample)) {
        match parts.last_mut().filter(|part| part.samples.end == sample) {
            Some(part) => part.samples.end += 1,
            None => parts.push(Readout {
                samples: sample..sample + 1,
                discarded: readout.discarded + sample - readout.samples.start,
                ..readout.clone()
            }),
        }
    }
    parts
}

/// Sets the samples (coil, sample) of coils to 0 that are NaN or infinite in more than half of the
/// readouts, so that the others keep theirs; returns a note that names such coils. Nothing is done
/// if that is so of all coils that are not `excluded`.
pub(super) fn silence_coils(
    samples: &mut Array2<Complex<f64>>,
    readouts: &[Readout],
    excluded: &ExcludedCoils,
) -> Option<String> {
    let is_broken = |coil: &usize| {
        let row = samples.row(*coil);
        let broken = readouts.iter().filter(|readout| {
            let mut range = readout.samples.clone();
            range.any(|sample| !row[sample].is_finite())
        });
        2 * broken.count() > readouts.len()
    };
    let used = excluded.left();
    let coils: Vec<usize> = used.iter().copied().filter(is_broken).collect();
    if coils.is_empty() || coils.len() == used.len() {
        return None;
    }
    for coil in &coils {
        samples.row_mut(*coil).fill(Complex::default());
    }
    let noun = if coils.len() == 1 { "coil" } else { "coils" };
    let list = list(&coils);
    Some(format!(
        "{noun} {list}: NaN or infinite in most readouts; all samples are set to 0 \
         (--exclude-coils {list} leaves them out)"
    ))
}

/// Numbers of coils as `--exclude-coils` takes them.
fn list(coils: &[usize]) -> String {
    let each: Vec<String> = coils.iter().map(usize::to_string).collect();
    each.join(",")
}

#[cfg(test)]
mod tests;
