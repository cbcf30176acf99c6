//! Properties of samples that often explain a bad image.

use super::Coverage;
use super::coil_noise::noisy_coils;
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
    problems.extend(few_partitions(kspace, coverage));
    problems.extend(other_unit(kspace, coverage, is_short));
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
    dead.chain(noisy).collect()
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
