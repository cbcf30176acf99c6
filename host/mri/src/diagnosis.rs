//! Properties of samples that often explain a bad image.

use super::Coverage;
use super::coil_noise::noisy_coils;
use super::coverage::widest_gap;
use super::wrong_strength::wrong_strength;
use crate::data::{Given, KSpace, KUnit, k_unit_advice};
use warpstride_core::text::{shortest, significant};

/// Largest ratio of the noise of coils that is stated.
const MOST_NOISE: f64 = 100.0;
/// Above this factor even many coils leave streaks.
const MAX_UNDERSAMPLING: f64 = 12.0;
/// Largest plausible undersampling along kz alone.
const MAX_ALONG_KZ: f64 = 4.0;
/// Smallest plausible reach of a trajectory, cycles/pixel: half of Nyquist's 0.5.
const MIN_REACH: f64 = 0.25;
/// Smallest plausible difference of the largest and the smallest k, cycles/pixel.
const MIN_SPAN: f64 = 0.4;
/// If another unit makes |k| what the matrix needs, within these bounds, that one may be meant.
const EXACT: std::ops::RangeInclusive<f64> = 0.49..=0.5 * (1.0 + KUnit::ROUNDING);

/// One sentence for each doubtful property of `kspace`; none if the samples look sound.
#[must_use]
pub fn diagnose(kspace: &KSpace, coverage: &Coverage) -> Vec<String> {
    let mut problems = Vec::new();
    if kspace.samples().iter().all(|v| v.norm_sqr() == 0.0) {
        problems.push("every sample is 0".to_owned());
    } else {
        problems.extend(of_coils(kspace));
        problems.extend(wrong_strength(kspace));
    }
    let mut is_short = false;
    let axes = coverage.reach.iter().zip(&coverage.span);
    for (number, ((k, span), axis)) in axes.zip(["kx", "ky", "kz"]).enumerate() {
        if *span == 0.0 {
            let equal = if axis == "kz" && kspace.extent().matrix[0] > 1 {
                ", and all slices are equal"
            } else {
                ""
            };
            problems.push(format!(
                "{axis} is {} everywhere: nothing is encoded along it{equal}",
                // Minus zero is zero.
                shortest(kspace.trajectory()[[0, number]] + 0.0)
            ));
        } else if *k < MIN_REACH * (1.0 - KUnit::ROUNDING) {
            is_short = true;
            problems.push(format!(
                "|{axis}| reaches only {} cycles/pixel: the pixels of the matrix are less than half the measured resolution",
                significant(*k, 3)
            ));
        } else if *span < MIN_SPAN {
            problems.push(format!(
                "{axis} covers only {} cycles/pixel, on one side of the origin: half of k-space or more is missing",
                significant(*span, 3)
            ));
        }
    }
    problems.extend(few_partitions(kspace, coverage).or_else(|| missing_partitions(kspace)));
    problems.extend(other_unit(kspace, coverage, is_short));
    if coverage.spokes.is_some()
        && let Some(degrees) = widest_gap(kspace)
    {
        problems.push(format!(
            "no spoke lies within {} degrees, between others that are much closer: the scan may have been broken off, or a part of its directions is missing",
            significant(degrees, 3)
        ));
    }
    if coverage.undersampling > MAX_UNDERSAMPLING {
        problems.push(format!(
            "k-space is undersampled {} times: expect streaks",
            significant(coverage.undersampling, 3)
        ));
    }
    problems
}

/// A kz that has much fewer values than there are slices of its reach.
fn few_partitions(kspace: &KSpace, coverage: &Coverage) -> Option<String> {
    let slices = kspace.extent().matrix[0];
    let (reach, span) = (coverage.reach.get(2)?, coverage.span.get(2)?);
    let column = kspace.trajectory().column(2);
    let mut cells: Vec<i64> = (column.iter())
        .map(|k| (k * slices as f64).round() as i64)
        .collect();
    cells.sort_unstable();
    cells.dedup();
    let times = 2.0 * reach * slices as f64 / cells.len() as f64;
    (*span > 0.0 && times > MAX_ALONG_KZ).then(|| {
        format!(
            "kz has only {} values for {slices} slices: k-space is undersampled {} times along it, and slices fold onto each other",
            cells.len(),
            significant(times, 2)
        )
    })
}

/// Fewest adjacent partitions about the centre that are a calibration region.
const CALIBRATION: usize = 4;

/// Partitions that are missing between others of a stack. One that is undersampled evenly about a
/// calibration region is meant to be so.
fn missing_partitions(kspace: &KSpace) -> Option<String> {
    let slices = kspace.extent().matrix[0];
    if kspace.extent().axes != 3 {
        return None;
    }
    let column = kspace.trajectory().column(2);
    let mut values: Vec<f64> = column.iter().map(|k| k * slices as f64).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup_by(|a, b| (*a - *b).abs() < 1e-3);
    // Trajectories other than stacks have a kz for each sample.
    if values.len() > 2 * slices {
        return None;
    }
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let is_gap = |step: &f64| *step > 1.25;
    let missing: f64 = steps
        .iter()
        .filter(|step| is_gap(step))
        .map(|s| s.round() - 1.0)
        .sum();
    let first = steps.iter().position(is_gap)?;
    let centre = values.iter().position(|k| *k > -0.5)?;
    let before = steps[..centre].iter().rposition(is_gap);
    let after = steps[centre..].iter().position(is_gap);
    let begin = before.map_or(0, |at| at + 1);
    let end = after.map_or(steps.len(), |at| centre + at);
    let outside = || {
        steps[..begin.saturating_sub(1)]
            .iter()
            .chain(steps.iter().skip(end + 1))
    };
    let is_regular = end + 1 - begin >= CALIBRATION
        && outside().count() > 0
        && outside().all(|step| is_gap(step) && (step - steps[0]).abs() < 0.25);
    (!is_regular).then(|| {
        format!(
            "{missing} of the {slices} partitions are missing between others (the first between kz = {} and {}): slices fold onto each other unless the coils separate them",
            significant(values[first] / slices as f64, 3),
            significant(values[first + 1] / slices as f64, 3)
        )
    })
}

/// Coils that have no signal, or much more noise than the others.
fn of_coils(kspace: &KSpace) -> Vec<String> {
    let rows = kspace.samples().rows().into_iter().enumerate();
    let dead = rows.filter(|(_, row)| row.iter().all(|v| v.norm_sqr() == 0.0));
    let numbers = kspace.coil_numbers();
    let dead = dead.map(|(coil, _)| format!("every sample of coil {} is 0", numbers[coil]));
    let noisy = noisy_coils(kspace).into_iter().map(|noisy| {
        // The noise of the others may be 0 but for their signal.
        let factor = if noisy.factor > MOST_NOISE {
            format!("more than {MOST_NOISE}")
        } else {
            significant(noisy.factor, 2)
        };
        format!(
            "coil {coil} has {factor} times the noise of the others: leave out its samples (--exclude-coils {coil})",
            coil = noisy.coil
        )
    });
    let partly = (0..kspace.coils()).filter_map(|coil| of_a_part(kspace, coil));
    dead.chain(partly).chain(noisy).collect()
}

/// A coil without signal in some readouts.
fn of_a_part(kspace: &KSpace, coil: usize) -> Option<String> {
    let row = kspace.samples().row(coil);
    let is_empty = |range: std::ops::Range<usize>| {
        let mut range = range;
        !range.is_empty() && range.all(|sample| row[sample].norm_sqr() == 0.0)
    };
    let readouts = kspace.readouts();
    let empty = readouts
        .iter()
        .filter(|r| is_empty(r.samples.clone()))
        .count();
    let number = kspace.coil_numbers()[coil];
    (empty > 0 && empty < readouts.len()).then(|| {
        format!(
            "every sample of coil {number} is 0 in {empty} of {} readouts: leave out its samples (--exclude-coils {number})",
            readouts.len()
        )
    })
}

/// Other units of the trajectory, if it `is_short` or would end where the matrix needs it in one of
/// them.
fn other_unit(kspace: &KSpace, coverage: &Coverage, is_short: bool) -> Option<String> {
    let Given {
        unit, is_stated, ..
    } = *kspace.given();
    // The image may have smaller pixels than were measured.
    let measured = kspace.given().measured(&coverage.reach, kspace.extent())?;
    let largest = measured.reach.iter().copied().fold(0.0, f64::max);
    let mut others = unit.others(&measured.given, &measured.extent);
    if largest >= KUnit::FULL {
        return None;
    }
    if !is_short {
        if is_stated {
            return (unit != KUnit::CYCLES_PER_PIXEL).then(|| {
                format!(
                    "the largest |k| in {unit} is {} cycles/pixel, where the matrix needs 0.5: the unit may be another, or the resolution lower",
                    significant(largest, 3)
                )
            });
        }
        others.retain(|(_, k)| EXACT.contains(k));
    }
    (!others.is_empty()).then(|| {
        format!(
            "the largest |k| is {} cycles/pixel, in {unit}; in another unit of the trajectory, {}",
            significant(largest, 3),
            k_unit_advice(&others)
        )
    })
}
