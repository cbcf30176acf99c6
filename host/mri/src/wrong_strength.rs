//! Readouts and samples that are much stronger than others at the same distance from the centre of
//! k-space, and a strength that changes once during the scan.

use crate::data::KSpace;
use std::ops::Range;
use warpstride_core::text::{count, significant};

/// How many times a readout is as strong as comparable ones if it is too strong. In trains of
/// echoes, on the way to a steady state, and with contrast agents the strength of adjacent readouts
/// changes less.
const STRONG: f64 = 4.0;
/// The same for a readout that does not pass through the centre of k-space, and for a sample.
const STRONGER: f64 = 5.0;
/// Largest share of readouts that are too strong: more are meant to be so.
const FEW: usize = 10;
/// Bins of the distance from the centre; the innermost ones hold a steep maximum.
const BINS: usize = 32;
const INNERMOST: usize = 2;
/// Fewest samples in a bin, and readouts through the centre, that are compared.
const FEWEST_SAMPLES: usize = 16;
const FEWEST_READOUTS: usize = 8;
/// Neighbours on each side, in time.
const NEIGHBOURS: usize = 4;
/// Readouts that may be neighbours in k-space, and those that are.
const WINDOW: usize = 1024;
const NEAREST: usize = 12;
/// Smallest amplitude of a wrong sample or readout, relative to the largest of its coil or the
/// scan.
const FLOOR: f64 = 0.1;
/// Largest ratio of the strength of readouts on one side of a change to their median.
const STEADY: f64 = 1.5;
/// How many are listed.
const LISTED: usize = 5;

const REMEDY: &str =
    "they are used; set them to NaN in the file, or remove their readouts, to leave them out";

/// One sentence for each kind of wrong strength in `kspace`.
pub(super) fn wrong_strength(kspace: &KSpace) -> Vec<String> {
    let places = Places::new(kspace);
    let spikes = spikes(kspace, &places);
    let mut problems = Vec::new();
    let readouts = kspace.readouts();
    if let Some(first) = spikes.first() {
        let name = |spike: &Spike| {
            let readout = &readouts[spike.readout];
            let sample = readout.discarded + spike.sample - readout.samples.start;
            let coil = kspace.coil_numbers()[spike.coil];
            format!(
                "sample {sample} of coil {coil} in acquisition {}",
                readout.acquisition
            )
        };
        problems.push(format!(
            "{} over {STRONGER} times as strong as others at the same |k| (the strongest is {}, {} times): {REMEDY}",
            count(spikes.len(), ["sample is", "samples are"]),
            name(first),
            significant(first.factor, 3)
        ));
    }
    let strong = strong_readouts(kspace, &places, &spikes);
    if !strong.is_empty() {
        let mut list: Vec<String> = (strong.iter().take(LISTED))
            .map(|(at, factor)| {
                format!(
                    "{}: {} times",
                    readouts[*at].acquisition,
                    significant(*factor, 3)
                )
            })
            .collect();
        if strong.len() > LISTED {
            list.push("…".to_owned());
        }
        problems.push(format!(
            "the samples of {} are much stronger than those of others at the same |k| ({} {}): {REMEDY}",
            count(strong.len(), ["readout", "readouts"]),
            if strong.len() == 1 {
                "acquisition"
            } else {
                "acquisitions"
            },
            list.join(", ")
        ));
    }
    problems.extend(changes(kspace, &places, &spikes));
    problems
}

/// Where the samples and the readouts are.
struct Places {
    /// The bin of each sample.
    bins: Vec<usize>,
    /// The sample of each readout that is nearest to the centre.
    nearest: Vec<usize>,
    /// |k| of each sample, cycles/pixel.
    radii: Vec<f64>,
    /// A step of Nyquist, cycles/pixel.
    step: f64,
    /// The readouts through the centre; none unless they are most of them.
    central: Vec<usize>,
}

impl Places {
    fn new(kspace: &KSpace) -> Self {
        let radius = |k: ndarray::ArrayView1<'_, f64>| k.iter().map(|k| k * k).sum::<f64>().sqrt();
        let radii: Vec<f64> = kspace.trajectory().rows().into_iter().map(radius).collect();
        let reach = radii.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let bin = |k: &f64| ((k / reach * BINS as f64) as usize).min(BINS - 1);
        let largest = kspace.extent().matrix.into_iter().max().unwrap_or(1);
        let step = 1.0 / largest as f64;
        let inner = |range: Range<usize>| range.min_by(|a, b| radii[*a].total_cmp(&radii[*b]));
        let readouts = kspace.readouts().iter();
        let nearest: Vec<usize> = readouts
            .map(|r| inner(r.samples.clone()).unwrap_or(r.samples.start))
            .collect();
        let mut central: Vec<usize> = (0..nearest.len())
            .filter(|at| radii.get(nearest[*at]).is_some_and(|k| *k <= 0.5 * step))
            .collect();
        if central.len() < FEWEST_READOUTS || 2 * central.len() < nearest.len() {
            central.clear();
        }
        let bins = radii.iter().map(bin).collect();
        Self {
            bins,
            nearest,
            radii,
            step,
            central,
        }
    }
}

/// A sample that is too strong.
struct Spike {
    coil: usize,
    readout: usize,
    sample: usize,
    factor: f64,
}

/// Samples of single coils that are much stronger than both their neighbours in the readout and
/// others at the same |k|; the strongest first.
fn spikes(kspace: &KSpace, places: &Places) -> Vec<Spike> {
    let mut spikes = Vec::new();
    for (coil, row) in kspace.samples().rows().into_iter().enumerate() {
        let squares: Vec<f64> = row.iter().map(num_complex::Complex::norm_sqr).collect();
        let mut in_bins: Vec<Vec<f64>> = vec![Vec::new(); BINS];
        for (bin, square) in places.bins.iter().zip(&squares) {
            in_bins[*bin].push(*square);
        }
        let least = FLOOR * FLOOR * ranked(&mut squares.clone(), 3);
        let limits: Vec<f64> = (0..BINS)
            .map(|bin| {
                if bin < INNERMOST && places.central.is_empty() {
                    return f64::INFINITY;
                }
                let near = &in_bins[bin.saturating_sub(1)..(bin + 2).min(BINS)];
                let mut near = near.concat();
                let share = if kspace.extent().axes == 2 {
                    near.len() / 200
                } else {
                    0
                };
                if near.len() < FEWEST_SAMPLES {
                    return f64::INFINITY;
                }
                ranked(&mut near, share.max(3))
            })
            .collect();
        for (at, readout) in kspace.readouts().iter().enumerate() {
            let range = readout.samples.clone();
            for sample in range.clone() {
                let square = squares[sample];
                let limit = limits[places.bins[sample]];
                let is_strong = |than: f64| square > STRONGER * STRONGER * than;
                if !is_strong(limit) || square <= least {
                    continue;
                }
                let begin = sample.saturating_sub(NEIGHBOURS).max(range.start);
                let end = (sample + NEIGHBOURS + 1).min(range.end);
                let near = (begin..end).filter(|other| *other != sample);
                let mut near: Vec<f64> = near.map(|other| squares[other]).collect();
                if near.len() >= NEIGHBOURS && is_strong(ranked(&mut near, 2)) {
                    spikes.push(Spike {
                        coil,
                        readout: at,
                        sample,
                        factor: (square / limit).sqrt(),
                    });
                }
            }
        }
    }
    spikes.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    spikes
}

/// The largest value but `rank − 1`; the smallest if there are fewer, 0 if there is none.
fn ranked(values: &mut [f64], rank: usize) -> f64 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    let at = (rank - 1).min(last);
    *values.select_nth_unstable_by(at, |a, b| b.total_cmp(a)).1
}

fn median(values: &[f64]) -> f64 {
    ranked(&mut values.to_vec(), values.len() / 2 + 1)
}

/// The largest amplitude of each central readout in the centre: of one coil, or of all (`None`).
fn in_the_centre(
    kspace: &KSpace,
    places: &Places,
    coil: Option<usize>,
    spikes: &[Spike],
) -> Vec<f64> {
    let spikes: std::collections::HashSet<usize> = spikes.iter().map(|s| s.sample).collect();
    let square = |sample: usize| match coil {
        Some(coil) => kspace.samples()[[coil, sample]].norm_sqr(),
        None => power(kspace, sample),
    };
    (places.central.iter())
        .map(|at| {
            let near = kspace.readouts()[*at].samples.clone();
            near.filter(|s| places.radii[*s] <= 1.5 * places.step && !spikes.contains(s))
                .map(square)
                .fold(0.0, f64::max)
                .sqrt()
        })
        .collect()
}

/// The power of a sample, of all coils.
fn power(kspace: &KSpace, sample: usize) -> f64 {
    let column = kspace.samples().column(sample);
    column.iter().map(num_complex::Complex::norm_sqr).sum()
}

/// Readouts that are too strong, with their strength relative to comparable ones.
fn strong_readouts(kspace: &KSpace, places: &Places, spikes: &[Spike]) -> Vec<(usize, f64)> {
    let all = in_the_centre(kspace, places, None, spikes);
    let usual = median(&all);
    let of_central = places
        .central
        .iter()
        .enumerate()
        .filter_map(|(at, readout)| {
            let range = at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(all.len());
            let mut near: Vec<f64> = range.filter(|n| *n != at).map(|n| all[n]).collect();
            // The begin of a train of echoes, near the end of the scan, has few others like it.
            let rank = if near.len() < 2 * NEIGHBOURS { 2 } else { 3 };
            let other = ranked(&mut near, rank).max(usual);
            (other > 0.0 && all[at] > STRONG * other).then(|| (*readout, all[at] / usual))
        });
    let mut strong: Vec<(usize, f64)> = of_central.collect();
    strong.extend(strong_outside(kspace, places, spikes));
    if strong.len() * FEW > kspace.readouts().len() {
        strong.clear();
    }
    strong
}

/// Readouts that do not pass through the centre and are stronger than their neighbours inwards.
fn strong_outside(kspace: &KSpace, places: &Places, spikes: &[Spike]) -> Vec<(usize, f64)> {
    let spikes: std::collections::HashSet<usize> = spikes.iter().map(|s| s.sample).collect();
    let central: std::collections::HashSet<usize> = places.central.iter().copied().collect();
    let readouts = kspace.readouts();
    let mean = |at: usize| {
        let used = readouts[at].samples.clone().filter(|s| !spikes.contains(s));
        used.map(|s| power(kspace, s)).sum::<f64>() / readouts[at].samples.len().max(1) as f64
    };
    let mut order: Vec<usize> = (0..readouts.len()).collect();
    let radius = |at: usize| places.radii[places.nearest[at]];
    order.sort_by(|a, b| radius(*a).total_cmp(&radius(*b)));
    let powers: Vec<f64> = order.iter().map(|at| mean(*at)).collect();
    let least = FLOOR * FLOOR * ranked(&mut powers.clone(), 3);
    let place = |n: usize| kspace.trajectory().row(places.nearest[order[n]]);
    let distance = |a: usize, b: usize| -> f64 {
        let pairs = place(a).into_iter().zip(place(b));
        pairs.map(|(a, b)| (a - b) * (a - b)).sum()
    };
    let mut strong = Vec::new();
    for (n, found) in powers.iter().enumerate() {
        if *found <= least || central.contains(&order[n]) {
            continue;
        }
        // Those at the same distance follow, too.
        let limit = radius(order[n]) + 1e-6;
        let after = (n + 1..order.len()).take_while(|m| radius(order[*m]) <= limit);
        let inner = (n.saturating_sub(WINDOW)..n).chain(after.take(WINDOW));
        let mut near: Vec<(f64, f64)> = inner.map(|m| (distance(n, m), powers[m])).collect();
        if near.len() < 3 {
            continue;
        }
        if near.len() > NEAREST {
            near.select_nth_unstable_by(NEAREST, |a, b| a.0.total_cmp(&b.0));
            near.truncate(NEAREST);
        }
        let mut near: Vec<f64> = near.into_iter().map(|(_, power)| power).collect();
        let other = ranked(&mut near, 3);
        if other > 0.0 && *found > STRONGER * STRONGER * other {
            strong.push((order[n], (found / other).sqrt()));
        }
    }
    strong.sort_unstable_by_key(|(at, _)| *at);
    strong
}

/// A strength of all coils, or of one, that is another from some readout on.
fn changes(kspace: &KSpace, places: &Places, spikes: &[Spike]) -> Vec<String> {
    if kspace.given().is_joined {
        return Vec::new();
    }
    let of = |coil: Option<usize>| {
        let (at, factor) = change(&in_the_centre(kspace, places, coil, spikes))?;
        let whose = coil.map_or(String::new(), |coil| {
            format!(" of coil {}", kspace.coil_numbers()[coil])
        });
        let readout = kspace.readouts()[places.central[at]].acquisition;
        let found = significant(factor, 3);
        Some(format!(
            "from acquisition {readout} on, the samples{whose} are {found} times as strong as before: the gain may have changed during the scan; divide them by {found}, or remove the readouts of one part"
        ))
    };
    match of(None) {
        Some(problem) => vec![problem],
        None => (0..kspace.coils())
            .filter_map(|coil| of(Some(coil)))
            .collect(),
    }
}

/// The first value after a single large change between values that are otherwise steady, and the
/// ratio of the values after it and before.
fn change(values: &[f64]) -> Option<(usize, f64)> {
    let splits = NEIGHBOURS..values.len().saturating_sub(NEIGHBOURS - 1);
    let jump = |at: &usize| {
        let before = median(&values[at - NEIGHBOURS..*at]);
        let ratio = median(&values[*at..at + NEIGHBOURS]) / before;
        // The split is where the values themselves change.
        ratio.ln().abs() + 1e-3 * (values[*at] / values[at - 1]).ln().abs()
    };
    let at = splits.max_by(|a, b| jump(a).total_cmp(&jump(b)))?;
    let (before, after) = values.split_at(at);
    let ratio = median(after) / median(before);
    let is_large = ratio > 0.0 && ratio.is_finite() && ratio.ln().abs() > STRONG.ln();
    let is_steady = |part: &[f64]| {
        let middle = median(part);
        let others = part
            .iter()
            .filter(|v| !(middle / STEADY..middle * STEADY).contains(v));
        20 * others.count() <= part.len()
    };
    (is_large && is_steady(before) && is_steady(after)).then_some((at, ratio))
}

#[cfg(test)]
mod tests;
