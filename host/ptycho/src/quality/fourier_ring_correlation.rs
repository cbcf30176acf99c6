//! Fourier ring correlation: the spatial frequency up to which two images agree.

use super::transform::{Transform, frequency};
use ndarray::Array2;
use num_complex::Complex;
use serde::Serialize;
use std::f64::consts::PI;

/// Fraction of the image's length, at each end, over which the window rises from 0 to 1.
const WINDOW_EDGE: f64 = 0.25;

/// Signal-to-noise ratios of the two thresholds, for one of two images that each contain half of
/// the data (van Heel & Schatz 2005, J. Struct. Biol. 151, 250: ½ bit corresponds to an SNR of
/// 0.4142, and 1 bit to an SNR of 1, of the whole data).
const SNR_HALF_BIT: f64 = 0.207_106_781_186_547_5;
const SNR_ONE_BIT: f64 = 0.5;

/// One ring.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ring {
    /// Frequency of the ring's middle, cycles per pixel (of the coarser axis if pixels are not
    /// square).
    pub frequency: f64,
    /// Re Σ A B* / √(Σ|A|² Σ|B|²) over the ring, −1…1.
    pub correlation: f64,
    /// Half-bit threshold: half a bit of information per pixel.
    pub half_bit: f64,
    /// One-bit threshold: one bit of information per pixel.
    pub one_bit: f64,
    /// Number of independent values in the ring: its pixels, reduced by the window's correlations.
    pub independent: f64,
}

/// Frequency at which a curve first falls below a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Resolution {
    /// Frequency, cycles per pixel.
    pub frequency: f64,
    /// Half the period at that frequency, m: one pixel at the highest frequency.
    pub half_period: f64,
    /// Whether the curve stays above the threshold up to the highest frequency, so that the pixel
    /// size limits the resolution.
    pub limited_by_pixel: bool,
}

/// Rings from the lowest frequency above 0 to half a cycle per pixel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FourierRingCorrelation {
    /// Rings by ascending frequency.
    pub rings: Vec<Ring>,
    /// Resolution at the half-bit threshold; `None` if the images do not agree at all.
    pub half_bit: Option<Resolution>,
    /// Resolution at the one-bit threshold; `None` if the images do not agree at all.
    pub one_bit: Option<Resolution>,
}

/// Correlates the aligned images `a` and `b` of the same shape (row, column); `pixel` is (row,
/// column), m. Means are subtracted and borders tapered with a Tukey window, as otherwise the edges
/// would correlate. Images need not be square; with fewer than 8 pixels along an axis there are no
/// rings.
#[must_use]
pub fn correlate(
    a: &Array2<Complex<f64>>,
    b: &Array2<Complex<f64>>,
    pixel: [f64; 2],
) -> FourierRingCorrelation {
    let (rows, columns) = a.dim();
    if rows.min(columns) < 8 || b.dim() != a.dim() {
        return FourierRingCorrelation {
            rings: Vec::new(),
            half_bit: None,
            one_bit: None,
        };
    }
    let [window_rows, window_columns] = [window(rows), window(columns)];
    let transform = Transform::new([rows, columns]);
    let spectrum = |image: &Array2<Complex<f64>>| {
        let weight = |r: usize, c: usize| window_rows[r] * window_columns[c];
        let whole: f64 = window_rows.iter().sum::<f64>() * window_columns.iter().sum::<f64>();
        let sum: Complex<f64> = image
            .indexed_iter()
            .map(|((r, c), v)| v * weight(r, c))
            .sum();
        let mean = sum / whole;
        let faded = Array2::from_shape_fn((rows, columns), |(r, c)| {
            (image[[r, c]] - mean) * weight(r, c)
        });
        transform.forward(faded)
    };
    let (fa, fb) = (spectrum(a), spectrum(b));

    let coarse = pixel[0].max(pixel[1]);
    let axis_scale = pixel.map(|p| coarse / p);
    // A ring is as wide as one line along the axis with the coarser frequency resolution.
    let width = (axis_scale[0] / rows as f64).max(axis_scale[1] / columns as f64);
    let count = (0.5 / width).floor() as usize;
    let mut sums = vec![(0.0, 0.0, 0.0, 0.0); count + 1];
    for ((r, c), va) in fa.indexed_iter() {
        let f = [
            frequency(r, rows) * axis_scale[0],
            frequency(c, columns) * axis_scale[1],
        ];
        let ring = (f[0].hypot(f[1]) / width).round() as usize;
        if let Some(sum) = sums.get_mut(ring) {
            let vb = fb[[r, c]];
            sum.0 += (va * vb.conj()).re;
            sum.1 += va.norm_sqr();
            sum.2 += vb.norm_sqr();
            sum.3 += 1.0;
        }
    }
    let freedom = independence(&window_rows) * independence(&window_columns);
    let rings: Vec<Ring> = sums
        .into_iter()
        .enumerate()
        .skip(1)
        .map(|(ring, (cross, power_a, power_b, pixels))| {
            let power: f64 = (power_a * power_b).sqrt();
            let independent = (pixels * freedom).max(1.0);
            Ring {
                frequency: ring as f64 * width,
                correlation: if power > 0.0 { cross / power } else { 0.0 },
                half_bit: threshold(SNR_HALF_BIT, independent),
                one_bit: threshold(SNR_ONE_BIT, independent),
                independent,
            }
        })
        .collect();
    FourierRingCorrelation {
        half_bit: first_crossing(&rings, |r| r.half_bit, coarse),
        one_bit: first_crossing(&rings, |r| r.one_bit, coarse),
        rings,
    }
}

/// Threshold for `n` independent values at the signal-to-noise ratio `snr` (van Heel & Schatz
/// 2005, equation 17).
fn threshold(snr: f64, n: f64) -> f64 {
    let cross = 2.0 * snr.sqrt() / n.sqrt();
    (snr + cross + 1.0 / n.sqrt()) / (snr + 1.0 + cross)
}

/// Tukey window that never reaches 0.
fn window(n: usize) -> Vec<f64> {
    let edge = WINDOW_EDGE * n as f64;
    (0..n)
        .map(|i| {
            let border = (i as f64 + 0.5).min(n as f64 - i as f64 - 0.5) / edge;
            0.5 - 0.5 * (PI * border.min(1.0)).cos()
        })
        .collect()
}

/// Fraction of a spectrum's values that remain independent under a window w: (Σw²)² / (n Σw⁴).
fn independence(window: &[f64]) -> f64 {
    let second: f64 = window.iter().map(|w| w * w).sum();
    let fourth: f64 = window.iter().map(|w| w.powi(4)).sum();
    second * second / (window.len() as f64 * fourth)
}

/// First frequency at which the curve falls below the threshold, interpolated between rings.
fn first_crossing(rings: &[Ring], level: impl Fn(&Ring) -> f64, pixel: f64) -> Option<Resolution> {
    let above = |r: &Ring| r.correlation - level(r);
    // With few values in a ring the threshold is 1 or more and cannot be exceeded.
    let informative: Vec<&Ring> = rings.iter().filter(|r| level(r) < 0.99).collect();
    let below = informative.iter().position(|r| above(r) < 0.0);
    let (frequency, limited_by_pixel) = match below {
        None => (informative.last()?.frequency, true),
        Some(0) => return None,
        Some(i) => {
            let (before, after) = (above(informative[i - 1]), above(informative[i]));
            let fraction = before / (before - after);
            let (low, high) = (informative[i - 1].frequency, informative[i].frequency);
            (low + fraction * (high - low), false)
        }
    };
    Some(Resolution {
        frequency,
        half_period: if limited_by_pixel {
            pixel
        } else {
            pixel / (2.0 * frequency)
        },
        limited_by_pixel,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};

    fn noise(shape: (usize, usize), seed: u64) -> Array2<Complex<f64>> {
        let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
        Array2::from_shape_simple_fn(shape, || {
            Complex::new(
                StandardNormal.sample(&mut random),
                StandardNormal.sample(&mut random),
            )
        })
    }

    #[test]
    fn an_image_agrees_with_itself_up_to_the_highest_frequency() {
        let a = noise((60, 84), 1);
        let frc = correlate(&a, &a.mapv(|v| v * 3.0), [2e-8, 2e-8]);
        assert_eq!(frc.rings.len(), 30);
        assert!(
            frc.rings
                .iter()
                .all(|r| (r.correlation - 1.0).abs() < 1e-12)
        );
        let half = frc.half_bit.unwrap();
        assert!(half.limited_by_pixel && half.half_period == 2e-8);
    }

    #[test]
    fn independent_noise_is_uncorrelated_within_its_statistics() {
        let frc = correlate(&noise((128, 96), 2), &noise((128, 96), 3), [1e-8, 1e-8]);
        for ring in &frc.rings {
            let bound = 3.0 / ring.independent.sqrt();
            assert!(ring.correlation.abs() < bound, "{ring:?}");
        }
        assert_eq!(frc.one_bit, None);
    }

    #[test]
    fn agreement_ends_at_the_band_limit_on_a_non_square_grid() {
        let (rows, columns) = (160, 128);
        let limit = 0.2;
        let transform = Transform::new([rows, columns]);
        let mut spectrum = transform.forward(noise((rows, columns), 4));
        for ((r, c), v) in spectrum.indexed_iter_mut() {
            if frequency(r, rows).hypot(frequency(c, columns)) > limit {
                *v = Complex::default();
            }
        }
        let signal = transform.inverse(spectrum);
        let a = &signal + &noise((rows, columns), 5).mapv(|v| v * 0.2);
        let b = &signal + &noise((rows, columns), 6).mapv(|v| v * 0.2);
        let frc = correlate(&a, &b, [1e-8, 1e-8]);
        let found = frc.half_bit.unwrap();
        // The window broadens the limit by one to two lines of 1/128.
        assert!((found.frequency - limit).abs() < 2.0 / 128.0, "{found:?}");
        assert!((found.half_period - 0.5e-8 / found.frequency).abs() < 1e-20);
        for ring in frc.rings.iter().filter(|r| r.frequency < limit - 0.03) {
            // The noise has 0.04 of the signal's power, so the expected correlation is 1/1.04.
            assert!((ring.correlation - 1.0 / 1.04).abs() < 0.03, "{ring:?}");
        }
    }

    #[test]
    fn thresholds_are_the_published_ones() {
        // van Heel & Schatz 2005, equations 13 and 14, with the rounded constants given there.
        let n: f64 = 250.0;
        let half = (0.2071 + 1.9102 / n.sqrt()) / (1.2071 + 0.9102 / n.sqrt());
        let one = (0.5 + 2.4142 / n.sqrt()) / (1.5 + 2_f64.sqrt() / n.sqrt());
        assert!((threshold(SNR_HALF_BIT, n) - half).abs() < 1e-4);
        assert!((threshold(SNR_ONE_BIT, n) - one).abs() < 1e-4);
    }

    #[test]
    fn too_small_images_have_no_rings() {
        let a = noise((7, 30), 1);
        assert!(correlate(&a, &a, [1.0, 1.0]).rings.is_empty());
    }
}
