//! The background that the frames determine, from sums over the frames of each pixel.
//!
//! The objective is the Poisson likelihood of counts I and model I_m = G ∗ S + b with δ photons added to both, Σ w (I_m − (I + δ)
//! log(I_m + δ)); its derivative by b is −Σ w (I − I_m)/(I_m + δ), the expected second derivative Σ w/(I_m + δ). Its mean is
//! 0 at the truth whatever the light, which does not hold for amplitudes.
//!
//! *One number for all pixels* takes a step of Fisher's scoring: b + Σ w (I − I_m)/(I_m + δ) / Σ w/(I_m + δ), the mean of counts
//! minus light, weighted with the inverse variances. Pixels that the model does not explain have less weight.
//!
//! *A number for each pixel* is determined only as far as the pixel's light varies with the frame: light that is the same in all
//! of them cannot be told from a background. So a factor on the light of each pixel is fitted beside b, with a variance of 1, and
//! b̂ has what remains of the information after that. Pixels are drawn to the mean of all, and to that of their neighbourhood
//! where it differs from it, as far as they differ by less than their uncertainty explains: of a deviation d of variance v the
//! part 1 − 9 v/d² is kept, if it is positive (an empirical Bayes estimate of the family of James and Stein, and of Breiman's
//! garrote).

use crate::ptycho::recipe::BackgroundFit;

/// Sums of a pixel over the frames in which it is valid and not free. With v = I_m + δ, S = I_m − b and r = I − I_m: Σ 1, Σ 1/v, Σ S/v,
/// Σ S²/v, Σ r/v, Σ r S/v, Σ r²/v.
pub(crate) const TERMS: usize = 7;

/// χ² of a pixel, per frame, above which it has less weight; about 1 where the model explains the counts.
const MISFIT: f64 = 2.0;
/// Deviations of so many standard deviations, or less, are taken for noise.
const SIGNIFICANT: f64 = 3.0;
/// Standard deviation of the neighbourhood of a pixel, pixels.
const NEIGHBOURHOOD: f64 = 4.0;

/// A value and its information, the inverse of its variance.
#[derive(Clone, Copy)]
struct Estimate {
    value: f64,
    information: f64,
}

/// The next background (row, column) from the present one and the sums of each pixel; zero frequency at (0, 0).
pub(crate) fn updated(
    fit: BackgroundFit,
    shape: [usize; 2],
    background: &[f64],
    sums: &[[f64; TERMS]],
) -> Vec<f64> {
    match fit {
        BackgroundFit::Off => background.to_vec(),
        BackgroundFit::Uniform => {
            let common = weighted_mean(background, sums);
            vec![common.unwrap_or_default(); background.len()]
        }
        BackgroundFit::Pixels => of_pixels(shape, background, sums),
    }
}

/// How much more a pixel's counts scatter than photons do.
fn excess([count, .., squares]: &[f64; TERMS]) -> f64 {
    (squares / (MISFIT * count.max(1.0))).max(1.0)
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
    let [count, a, b, c, r1, r2, _] = *of_pixel;
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
    let Some(common) = robust_mean(&estimates) else {
        return background.to_vec();
    };
    let around = neighbourhoods(shape, &estimates, common);
    let near = |(own, mean): (&Estimate, f64)| {
        if own.information <= 0.0 {
            return mean;
        }
        (mean + significant(own.value - mean, 1.0 / own.information)).max(0.0)
    };
    estimates.iter().zip(around).map(near).collect()
}

/// The mean of the pixels weighted with their information, without those that differ from the weighted median by more than
/// their uncertainty and the median itself explain.
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
fn neighbourhoods([rows, columns]: [usize; 2], estimates: &[Estimate], common: f64) -> Vec<f64> {
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
                let mean = common + significant(deviations / weights, variance);
                around[place(row, rows) * columns + place(column, columns)] = mean.max(0.0);
            }
        }
    }
    around
}

#[cfg(test)]
mod tests;
