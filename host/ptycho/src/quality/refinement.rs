//! Least-squares fit of the sub-pixel displacement, phase ramp and complex factor between two
//! images.

use super::transform::{Transform, fast_length, frequency};
use super::translation::WeightedImage;
use nalgebra::{Matrix6, Vector6};
use ndarray::{Array2, Zip, s};
use num_complex::Complex;
use std::f64::consts::{PI, TAU};
use std::ops::Range;

/// Margin of the reference around the window, pixels, so that a shift brings in the actual
/// neighbourhood; the outer [`TAPER`] pixels fall smoothly to the mean, as the transform is
/// periodic.
const MARGIN: usize = 24;
const TAPER: usize = 20;

/// Largest number of steps; from half a pixel away Gauss-Newton converges quadratically in fewer.
const STEPS: usize = 40;

/// Largest step at convergence: pixels, radians at the window's edge, relative change of the
/// factor.
const STEP_TOLERANCE: f64 = 1e-6;

/// Parameters for which scale · exp(−i ramp·r) · a(r) fits b(r + shift) best.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    /// Displacement (row, column), pixels.
    pub(super) shift: [f64; 2],
    /// Phase ramp (row, column), rad per pixel.
    pub(super) ramp: [f64; 2],
    /// Complex factor, for r measured from the window's middle.
    pub(super) scale: Complex<f64>,
}

/// Refines the displacement `whole` (pixels) over `window` of `a`; `weight` has the window's shape.
/// Returns the fit, the window of `a` with ramp and scale applied, and the shifted window of `b`.
pub(super) fn refine(
    a: &Array2<Complex<f64>>,
    b: WeightedImage<'_>,
    weight: &Array2<f64>,
    window: &[Range<usize>; 2],
    whole: [i64; 2],
) -> (Fit, [Array2<Complex<f64>>; 2]) {
    let a = a.slice(s![window[0].clone(), window[1].clone()]);
    let reference = Shifter::new(b, window, whole);
    let (rows, columns) = a.dim();
    let half = [rows, columns].map(|n| (n as f64 - 1.0).max(1.0) / 2.0);
    // Coordinates from −1 to 1 over the window.
    let along = |at: (usize, usize)| [at.0 as f64 / half[0] - 1.0, at.1 as f64 / half[1] - 1.0];
    let turned = |k: [f64; 2]| {
        Array2::from_shape_fn((rows, columns), |at| {
            let u = along(at);
            a[at] * Complex::cis(-k[0] * u[0] - k[1] * u[1])
        })
    };

    let mut fractional = [0.0; 2];
    let mut moved = reference.shifted(fractional);
    let beat = Zip::from(&a)
        .and(&moved)
        .and(weight)
        .par_map_collect(|a, b, w| a * b.conj() * w);
    let steepness = strongest_frequency(&beat);
    let mut k = [0, 1].map(|axis| steepness[axis] * half[axis]);
    let mut flat = turned(k);
    let mut scale = best_factor(&flat, &moved, weight);
    let mut misfit = distance(&flat, scale, &moved, weight);

    let mut damping = 1e-3;
    for _ in 0..STEPS {
        let slopes = [0, 1].map(|axis| reference.slope(fractional, axis));
        let mut normal = Matrix6::<f64>::zeros();
        let mut right = Vector6::<f64>::zeros();
        for ((at, w), model) in weight.indexed_iter().zip(&flat) {
            if *w == 0.0 {
                continue;
            }
            let u = along(at);
            let scaled = model * scale;
            let residual = scaled - moved[at];
            let columns = [
                *model,
                Complex::new(-model.im, model.re),
                Complex::new(scaled.im, -scaled.re) * u[0],
                Complex::new(scaled.im, -scaled.re) * u[1],
                -slopes[0][at],
                -slopes[1][at],
            ];
            for (i, left) in columns.iter().enumerate() {
                right[i] -= w * (left.conj() * residual).re;
                for (j, other) in columns.iter().enumerate().skip(i) {
                    normal[(i, j)] += w * (left.conj() * other).re;
                }
            }
        }
        normal.fill_lower_triangle_with_upper_triangle();
        let factor_tolerance = STEP_TOLERANCE * scale.norm();
        let converged = |step: &Vector6<f64>| {
            step.rows(2, 4).amax() < STEP_TOLERANCE && step.rows(0, 2).norm() < factor_tolerance
        };
        let mut better = false;
        while !better && damping < 1e9 {
            let mut damped = normal;
            for i in 0..6 {
                // An image without contrast does not determine the shift, which then stays
                // unchanged.
                damped[(i, i)] += damping * damped[(i, i)] + f64::MIN_POSITIVE;
            }
            let step = damped.cholesky().map(|c| c.solve(&right));
            let Some(step) = step.filter(|s| s.iter().all(|v| v.is_finite())) else {
                damping *= 10.0;
                continue;
            };
            if converged(&step) {
                break;
            }
            let new_k = [k[0] + step[2], k[1] + step[3]];
            let new_fraction = [fractional[0] + step[4], fractional[1] + step[5]];
            let new_flat = turned(new_k);
            let new_moved = reference.shifted(new_fraction);
            let new_scale = best_factor(&new_flat, &new_moved, weight);
            let new_misfit = distance(&new_flat, new_scale, &new_moved, weight);
            let near = new_fraction
                .iter()
                .all(|f| f.abs() <= (MARGIN - TAPER) as f64);
            better = new_misfit < misfit && near;
            if better {
                (k, fractional, flat, moved) = (new_k, new_fraction, new_flat, new_moved);
                (scale, misfit) = (new_scale, new_misfit);
                damping = (damping * 0.1).max(1e-12);
            } else {
                damping *= 10.0;
            }
        }
        if !better {
            break;
        }
    }
    flat.par_mapv_inplace(|v| v * scale);
    let fit = Fit {
        shift: [0, 1].map(|axis| whole[axis] as f64 + fractional[axis]),
        ramp: [k[0] / half[0], k[1] / half[1]],
        scale,
    };
    (fit, [flat, moved])
}

/// Factor γ that minimises Σ w |γ a − b|².
fn best_factor(
    a: &Array2<Complex<f64>>,
    b: &Array2<Complex<f64>>,
    weight: &Array2<f64>,
) -> Complex<f64> {
    let mut product = Complex::default();
    let mut power = 0.0;
    Zip::from(a).and(b).and(weight).for_each(|a, b, w| {
        product += a.conj() * b * w;
        power += a.norm_sqr() * w;
    });
    if power > 0.0 {
        product / power
    } else {
        Complex::from(1.0)
    }
}

fn distance(
    a: &Array2<Complex<f64>>,
    scale: Complex<f64>,
    b: &Array2<Complex<f64>>,
    weight: &Array2<f64>,
) -> f64 {
    Zip::from(a)
        .and(b)
        .and(weight)
        .fold(0.0, |sum, a, b, w| sum + w * (a * scale - b).norm_sqr())
}

/// Frequency (row, column), rad per pixel, at which `beat` is strongest: the maximum of its
/// transform after zero-padding to twice its size, accurate to half a line of its own resolution.
pub(super) fn strongest_frequency(beat: &Array2<Complex<f64>>) -> [f64; 2] {
    let (rows, columns) = beat.dim();
    let shape = [fast_length(2 * rows), fast_length(2 * columns)];
    let mut padded = Array2::zeros(shape);
    padded.slice_mut(s![..rows, ..columns]).assign(beat);
    let spectrum = Transform::new(shape).forward(padded);
    let mut best = (0.0, [0, 0]);
    for ((r, c), v) in spectrum.indexed_iter() {
        if v.norm_sqr() > best.0 {
            best = (v.norm_sqr(), [r, c]);
        }
    }
    [0, 1].map(|axis| TAU * frequency(best.1[axis], shape[axis]))
}

/// Samples a window of an image at sub-pixel displacements.
struct Shifter {
    transform: Transform,
    shape: [usize; 2],
    /// Spectrum of the image minus `mean`, tapered at the margin.
    spectrum: Array2<Complex<f64>>,
    mean: Complex<f64>,
    window: [usize; 2],
}

impl Shifter {
    fn new(image: WeightedImage<'_>, window: &[Range<usize>; 2], whole: [i64; 2]) -> Self {
        let extent = [0, 1].map(|axis| window[axis].len() + 2 * MARGIN);
        let shape = extent.map(fast_length);
        let (rows, columns) = image.values.dim();
        // Outside the image its border pixels are repeated.
        let index = |i: usize, axis: usize, n: usize| {
            let at = window[axis].start as i64 + whole[axis] + i as i64 - MARGIN as i64;
            at.clamp(0, n as i64 - 1) as usize
        };
        let at = |r: usize, c: usize| (index(r, 0, rows), index(c, 1, columns));
        let mut mean = Complex::default();
        let mut whole_weight = 0.0;
        for r in MARGIN..extent[0] - MARGIN {
            for c in MARGIN..extent[1] - MARGIN {
                let w = image.weight[at(r, c)];
                mean += image.values[at(r, c)] * w;
                whole_weight += w;
            }
        }
        if whole_weight > 0.0 {
            mean /= whole_weight;
        }
        let fade = |i: usize, n: usize| {
            let border = (i + 1).min(n.saturating_sub(i)) as f64 / (TAPER + 1) as f64;
            0.5 - 0.5 * (PI * border.min(1.0)).cos()
        };
        let image = Array2::from_shape_fn(shape, |(r, c)| {
            let taper = fade(r, extent[0]) * fade(c, extent[1]);
            if taper > 0.0 {
                (image.values[at(r, c)] - mean) * taper
            } else {
                Complex::default()
            }
        });
        let transform = Transform::new(shape);
        Self {
            spectrum: transform.forward(image),
            transform,
            shape,
            mean,
            window: [window[0].len(), window[1].len()],
        }
    }

    /// image(r + by) over the window.
    fn shifted(&self, by: [f64; 2]) -> Array2<Complex<f64>> {
        self.filtered(by, |_| Complex::from(1.0))
            .mapv_into(|v| v + self.mean)
    }

    /// Derivative ∂ image(r + by) / ∂ by along `axis`, over the window.
    fn slope(&self, by: [f64; 2], axis: usize) -> Array2<Complex<f64>> {
        self.filtered(by, |f| Complex::new(0.0, TAU * f[axis]))
    }

    fn filtered(
        &self,
        by: [f64; 2],
        factor: impl Fn([f64; 2]) -> Complex<f64>,
    ) -> Array2<Complex<f64>> {
        let mut spectrum = self.spectrum.clone();
        for ((r, c), v) in spectrum.indexed_iter_mut() {
            let f = [frequency(r, self.shape[0]), frequency(c, self.shape[1])];
            *v *= Complex::cis(TAU * (f[0] * by[0] + f[1] * by[1])) * factor(f);
        }
        let image = self.transform.inverse(spectrum);
        let [rows, columns] = self.window;
        image
            .slice(s![MARGIN..MARGIN + rows, MARGIN..MARGIN + columns])
            .to_owned()
    }
}
