//! The background that the frames determine, from sums over the frames of each pixel.
//!
//! *One number for all pixels* is estimated on the free pixels, which no update of object and probe
//! sees. A fit that sees a pixel takes a part of its noise for light, and light is never negative,
//! so that counts minus light are less than the background there: 1.6 to 1.75 instead of 2 photons
//! in the scans of `docs/ptychography.md`. Nor is the predicted light S of an unseen pixel without
//! bias: S = |f + ε|², whose error ε adds its own power. So counts of free pixels are fitted by a
//! line, I ≈ b + k S: where S says nothing, k is 0 and b the mean counts. Pixels are taken in
//! groups of similar brightness, each with its own line; the intercepts are weighted with their
//! inverse variances and with 1/(⟨I⟩ + 1)², as in bright pixels an intercept is too large by a part
//! of ε's power. b is at most what the darkest pixels count.
//!
//! *A number for each pixel* is that number and deviations from it, which are determined only as
//! far as the pixel's light varies with the frame: light that is the same in all of them cannot be
//! told from a background. In Poisson likelihood with δ photons added to counts and model, whose
//! derivative by b is −Σ w (I − I_m)/(I_m + δ) and its expected second derivative Σ w/(I_m + δ), a
//! factor on the light of each pixel is fitted beside b, with a variance of 1, and b̂ has what
//! remains of the information after that. Pixels are drawn to the mean of all, and to that of their
//! neighbourhood where it differs from it, as far as they differ by less than their uncertainty v
//! explains: of a deviation d the part 1 − 9 v/d² is kept, if it is positive (an empirical Bayes
//! estimate of the family of James and Stein, and of Breiman's garrote).

use super::darkest::darkest_quarter;
use crate::session::recipe::BackgroundFit;

/// Sums of a pixel over frames. With v = I_m + δ, S = I_m − b and r = I − I_m, over those in which
/// it is valid and not free: Σ 1, Σ 1/v, Σ S/v, Σ S²/v, Σ r/v, Σ r S/v, Σ r²/v, Σ I, Σ S; over
/// those in which it is free: Σ 1, Σ I, Σ S, Σ S², Σ I S, Σ I².
pub(crate) const TERMS: usize = 15;
/// Terms of the first kind; the others follow.
pub(crate) const SEEN: usize = 9;

/// The terms of a pixel that updates see.
#[inline]
pub(crate) fn seen_terms(counts: f64, model: f64, background: f64, floor: f64) -> [f64; SEEN] {
    let (light, r, weight) = (model - background, counts - model, 1.0 / (model + floor));
    [
        1.0,
        weight,
        light * weight,
        light * light * weight,
        r * weight,
        r * light * weight,
        r * r * weight,
        counts,
        light,
    ]
}

/// The terms of a free pixel.
#[inline]
pub(crate) fn free_terms(counts: f64, model: f64, background: f64) -> [f64; TERMS - SEEN] {
    let light = model - background;
    [
        1.0,
        counts,
        light,
        light * light,
        counts * light,
        counts * counts,
    ]
}

/// χ² of a pixel, per frame, above which it has less weight; about 1 where the model explains the
/// counts.
const MISFIT: f64 = 2.0;
/// Deviations of so many standard deviations, or less, are taken for noise.
const SIGNIFICANT: f64 = 3.0;
/// Standard deviation of deviations that are taken for errors of the model, in units of the common
/// background.
const SYSTEMATIC: f64 = 0.1;
/// Values of free pixels in a group, about, and the largest number of groups.
const GROUP: f64 = 500.0;
const MOST_GROUPS: usize = 16;
/// Standard deviation of the neighbourhood of a pixel, pixels.
const NEIGHBOURHOOD: f64 = 4.0;

/// A value and its information, the inverse of its variance.
#[derive(Clone, Copy)]
struct Estimate {
    value: f64,
    information: f64,
}

/// The next background (row, column) from the present one and the sums of each pixel; zero
/// frequency at (0, 0).
pub(crate) fn updated(
    fit: BackgroundFit,
    shape: [usize; 2],
    background: &[f64],
    sums: &[[f64; TERMS]],
) -> Vec<f64> {
    match fit {
        BackgroundFit::Off => background.to_vec(),
        BackgroundFit::Uniform => {
            let common = common_background(background, sums);
            vec![common.unwrap_or_default(); background.len()]
        }
        BackgroundFit::Pixels => of_pixels(shape, background, sums),
    }
}

/// How much more a pixel's counts scatter than photons do.
fn excess(of_pixel: &[f64; TERMS]) -> f64 {
    (of_pixel[6] / (MISFIT * of_pixel[0].max(1.0))).max(1.0)
}

/// The background that is the same in all pixels.
fn common_background(background: &[f64], sums: &[[f64; TERMS]]) -> Option<f64> {
    of_free_pixels(sums).or_else(|| weighted_mean(background, sums))
}

/// That of the free pixels, if there are any.
fn of_free_pixels(sums: &[[f64; TERMS]]) -> Option<f64> {
    let mut usable: Vec<&[f64; TERMS]> = (sums.iter())
        .filter(|of_pixel| of_pixel[0] >= 1.0 && of_pixel[SEEN] >= 1.0)
        .collect();
    usable.sort_by(|a, b| (a[8] / a[0]).total_cmp(&(b[8] / b[0])));
    let free: f64 = usable.iter().map(|of_pixel| of_pixel[SEEN]).sum();
    let groups = ((free / GROUP) as usize).clamp(1, MOST_GROUPS);
    let (mut numerator, mut denominator) = (0.0, 0.0);
    for group in 0..groups {
        let place = |n: usize| n * usable.len() / groups;
        if let Some(e) = of_group(&usable[place(group)..place(group + 1)]) {
            numerator += e.value * e.information;
            denominator += e.information;
        }
    }
    let mean = numerator / denominator;
    let limit = darkest(sums)?;
    mean.is_finite().then(|| mean.clamp(0.0, limit))
}

/// b = ⟨I⟩ − k ⟨S⟩ of the free pixels of a group.
fn of_group(group: &[&[f64; TERMS]]) -> Option<Estimate> {
    let [mut count, mut counts, mut light] = [0.0; 3];
    // Around the mean of each pixel over the frames.
    let [mut of_light, mut mixed, mut of_counts] = [0.0; 3];
    for of_pixel in group {
        let [mean_i, mean_s] = [7, 8].map(|term| of_pixel[term] / of_pixel[0]);
        let [n, i, s, ss, is, ii] = std::array::from_fn(|term| of_pixel[SEEN + term]);
        count += n;
        counts += i;
        light += s;
        of_light += ss - 2.0 * mean_s * s + n * mean_s * mean_s;
        mixed += is - mean_s * i - mean_i * s + n * mean_s * mean_i;
        of_counts += ii - 2.0 * mean_i * i + n * mean_i * mean_i;
    }
    if count < 1.0 {
        return None;
    }
    let slope = if of_light > 0.0 {
        (mixed / of_light).clamp(0.0, 1.0)
    } else {
        1.0
    };
    let residual = (of_counts - 2.0 * slope * mixed + slope * slope * of_light) / count;
    // Photons scatter at least so much; a group without any is not certain of that.
    let residual = residual.max((counts + 1.0) / count);
    // The intercept of a line and its variance.
    let (mean_counts, mean_light) = (counts / count, light / count);
    let value = mean_counts - slope * mean_light;
    let of_slope = if of_light > 0.0 {
        mean_light * mean_light / of_light
    } else {
        0.0
    };
    // The background's share in the counts, but for a factor that is the same in all groups: with
    // the group's own background in it, those whose noise makes it larger would have more weight.
    let share = 1.0 / (mean_counts + 1.0);
    Some(Estimate {
        value,
        information: share.powi(2) / (residual * (1.0 / count + of_slope)),
    })
}

/// What the background cannot exceed: the mean counts of the darkest pixels, with their noise.
fn darkest(sums: &[[f64; TERMS]]) -> Option<f64> {
    let mut means: Vec<[f64; 2]> = (sums.iter())
        .map(|of_pixel| {
            [
                of_pixel[0] + of_pixel[SEEN],
                of_pixel[7] + of_pixel[SEEN + 1],
            ]
        })
        .filter(|[count, _]| *count >= 1.0)
        .map(|[count, counts]| [counts / count, count])
        .collect();
    let dark = darkest_quarter(&mut means, |m| m[0]);
    let mean = |term: usize| dark.iter().map(|m| m[term]).sum::<f64>() / dark.len() as f64;
    (!dark.is_empty()).then(|| mean(0) + SIGNIFICANT * ((mean(0) + 1.0) / mean(1)).sqrt())
}

/// The background that is the same in all pixels; the present mean if nothing determines it.
fn weighted_mean(background: &[f64], sums: &[[f64; TERMS]]) -> Option<f64> {
    let (mut numerator, mut denominator) = (0.0, 0.0);
    for (b, of_pixel) in background.iter().zip(sums) {
        let weight = 1.0 / excess(of_pixel);
        numerator += (of_pixel[4] + b * of_pixel[1]) * weight;
        denominator += of_pixel[1] * weight;
    }
    let mean = numerator / denominator;
    if mean.is_finite() {
        return Some(mean.max(0.0));
    }
    let count = background.len() as f64;
    (count > 0.0).then(|| background.iter().sum::<f64>() / count)
}

/// b̂ of a pixel beside a factor on its light.
fn estimate(background: f64, of_pixel: &[f64; TERMS]) -> Estimate {
    let [count, a, b, c, r1, r2] = std::array::from_fn(|term| of_pixel[term]);
    let nothing = Estimate {
        value: background,
        information: 0.0,
    };
    if count < 1.0 || a <= 0.0 {
        return nothing;
    }
    // The factor 1 + s on the light has the prior variance 1 of s.
    let c = c + 1.0;
    let information = a - b * b / c;
    let change = (r1 - b * r2 / c) / information;
    let information = information / excess(of_pixel);
    if !(change.is_finite() && information.is_finite() && information > 0.0) {
        return nothing;
    }
    Estimate {
        value: background + change,
        information,
    }
}

/// The part of a deviation that its variance does not explain.
fn significant(deviation: f64, variance: f64) -> f64 {
    let noise = SIGNIFICANT * SIGNIFICANT * variance;
    let square = deviation * deviation;
    if square > noise {
        deviation * (1.0 - noise / square)
    } else {
        0.0
    }
}

fn of_pixels(shape: [usize; 2], background: &[f64], sums: &[[f64; TERMS]]) -> Vec<f64> {
    let estimates: Vec<Estimate> = (background.iter().zip(sums))
        .map(|(b, of_pixel)| estimate(*b, of_pixel))
        .collect();
    let Some(seen) = robust_mean(&estimates) else {
        return background.to_vec();
    };
    // What pixels that updates see have too little, they have in the mean.
    let common = of_free_pixels(sums).unwrap_or(seen);
    let systematic = (SYSTEMATIC * common).powi(2);
    let around = neighbourhoods(shape, &estimates, seen, systematic);
    let near = |(own, mean): (&Estimate, f64)| {
        let deviation = if own.information > 0.0 {
            significant(own.value - mean, 1.0 / own.information + systematic)
        } else {
            0.0
        };
        (common + (mean - seen) + deviation).max(0.0)
    };
    estimates.iter().zip(around).map(near).collect()
}

/// The mean of the pixels weighted with their information, without those that differ from the
/// weighted median by more than their uncertainty and the median itself explain.
fn robust_mean(estimates: &[Estimate]) -> Option<f64> {
    let mut sorted: Vec<Estimate> = (estimates.iter().copied())
        .filter(|e| e.information > 0.0)
        .collect();
    sorted.sort_by(|a, b| a.value.total_cmp(&b.value));
    let half = 0.5 * sorted.iter().map(|e| e.information).sum::<f64>();
    let mut sum = 0.0;
    let median = sorted.iter().find(|e| {
        sum += e.information;
        sum >= half
    })?;
    let median = median.value;
    let (mut numerator, mut denominator) = (0.0, 0.0);
    for e in &sorted {
        let own = clipped(e.value - median, e, median);
        numerator += own * e.information;
        denominator += e.information;
    }
    Some((median + numerator / denominator).max(0.0))
}

/// A deviation, limited to what the uncertainty and half of the common background explain.
fn clipped(deviation: f64, of: &Estimate, common: f64) -> f64 {
    let limit = SIGNIFICANT / of.information.sqrt() + 0.5 * common.abs();
    deviation.clamp(-limit, limit)
}

/// The mean around each pixel, where it differs from that of all.
fn neighbourhoods(
    [rows, columns]: [usize; 2],
    estimates: &[Estimate],
    common: f64,
    systematic: f64,
) -> Vec<f64> {
    let reach = (3.0 * NEIGHBOURHOOD).ceil() as isize;
    let weight = |k: isize| (-0.5 * (k as f64 / NEIGHBOURHOOD).powi(2)).exp();
    // On the detector, whose edges are no neighbours, the zero frequency is in the middle.
    let place = |index: usize, n: usize| (index + n - n / 2) % n;
    let mut values: Vec<[f64; 3]> = Vec::with_capacity(estimates.len());
    for row in 0..rows {
        for column in 0..columns {
            let own = &estimates[place(row, rows) * columns + place(column, columns)];
            values.push(if own.information > 0.0 {
                let deviation = clipped(own.value - common, own, common);
                [
                    deviation * own.information,
                    own.information,
                    own.information,
                ]
            } else {
                [0.0; 3]
            });
        }
    }
    // Σ w i d, Σ w i, Σ w² i, i the information.
    let along = |values: &[[f64; 3]], n: usize, step: usize, at: usize, i: usize| {
        let mut sums = [0.0; 3];
        for k in -reach..=reach {
            let Some(other) = i.checked_add_signed(k).filter(|other| *other < n) else {
                continue;
            };
            let w = weight(k);
            let v = values[at + other * step];
            sums[0] += w * v[0];
            sums[1] += w * v[1];
            sums[2] += w * w * v[2];
        }
        sums
    };
    let lines: Vec<[f64; 3]> = (0..rows * columns)
        .map(|i| along(&values, columns, 1, i / columns * columns, i % columns))
        .collect();
    let mut around = vec![common; rows * columns];
    for row in 0..rows {
        for column in 0..columns {
            let [deviations, weights, squares] = along(&lines, rows, columns, column, row);
            if weights > 0.0 {
                let variance = squares / (weights * weights);
                let mean = common + significant(deviations / weights, variance + systematic);
                around[place(row, rows) * columns + place(column, columns)] = mean;
            }
        }
    }
    around
}

#[cfg(test)]
mod tests;
