//! Weights W that make up for the uneven density of samples.
//!
//! A weight is the area (volume) of k-space that a sample stands for, in (cycles/pixel)^axes: the
//! weights of samples that cover all of −0.5 … 0.5 sum to 1, and FᴴWF is about the identity.

use super::super::nufft::SpreadingKernel;
use super::super::{Grid, MriError};
use super::Nufft;
use ndarray::{Array1, ArrayView2};
use num_complex::Complex;

/// Iterations after which Pipe and Menon's weights hardly change any more.
pub const PIPE_MENON_ITERATIONS: usize = 10;

/// Of the kernel that samples are compared with: four cells of half a k-space pixel, wide enough to bridge
/// the gaps of a trajectory that an image can be made of, narrow enough to see its density.
const TOLERANCE: f64 = 1e-3;
const OVERSAMPLING: f64 = 2.0;

/// Weights of a radial trajectory, (sample, axis) in cycles/pixel, up to a common factor: |k| in two
/// dimensions, |k|² in three. The centre, where that is 0, gets the mean over its own cell: a quarter of the
/// step between neighbours on a spoke, or a twelfth of the step's square.
///
/// With S spokes of step Δ all through a disc's diameter, the areas are these times Δ·π/S.
#[must_use]
pub fn ramp(trajectory: ArrayView2<'_, f64>) -> Array1<f64> {
    let square = |sample: usize| trajectory.row(sample).iter().map(|k| k * k).sum::<f64>();
    let mut steps: Vec<f64> = (1..trajectory.nrows())
        .map(|sample| {
            let (a, b) = (trajectory.row(sample), trajectory.row(sample - 1));
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        })
        .collect();
    // The median: most neighbours in the list are neighbours on a spoke.
    steps.sort_by(f64::total_cmp);
    let step = steps.get(steps.len() / 2).copied().unwrap_or(0.0).sqrt();
    Array1::from_shape_fn(trajectory.nrows(), |sample| {
        if trajectory.ncols() == 3 {
            square(sample).max(step * step / 12.0)
        } else {
            square(sample).sqrt().max(step / 4.0)
        }
    })
}

/// Weights of any trajectory, (sample, axis) in cycles/pixel: the fixed point w ← w / |Cw| from w = 1, C
/// the spreading of samples to a fine grid and their interpolation from it (J. Pipe, P. Menon,
/// Magn. Reson. Med. 41 (1999) 179).
///
/// Where Cw = 1, the weights' density is 1/∫C; multiplied with this integral they are areas.
///
/// # Errors
/// Those of [`Nufft::new`].
pub fn pipe_menon(
    grid: Grid,
    trajectory: ArrayView2<'_, f64>,
    iterations: usize,
) -> Result<Array1<f64>, MriError> {
    let kernel = SpreadingKernel::new::<f64>(TOLERANCE, OVERSAMPLING, grid.axes)?;
    let nufft = Nufft::<f64>::with_kernel(grid, trajectory, kernel)?;
    let mut weights = vec![Complex::new(1.0, 0.0); trajectory.nrows()];
    let mut convolved = vec![Complex::default(); weights.len()];
    for _ in 0..iterations {
        nufft.convolve(&weights, &mut convolved);
        for (weight, sum) in weights.iter_mut().zip(&convolved) {
            weight.re /= sum.re.abs().max(f64::MIN_POSITIVE);
        }
    }
    let integral: f64 = nufft.fine()[..grid.axes]
        .iter()
        .map(|cells| kernel.fourier(0.0).powi(2) / *cells as f64)
        .product();
    Ok(weights.iter().map(|weight| weight.re * integral).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;
    use std::f64::consts::PI;

    /// Spokes through the whole diameter, k = −0.5 … 0.5 − 1/N.
    fn radial(spokes: usize, samples: usize) -> Array2<f64> {
        Array2::from_shape_fn((spokes * samples, 2), |(i, axis)| {
            let angle = PI * (i / samples) as f64 / spokes as f64;
            let along = (i % samples) as f64 / samples as f64 - 0.5;
            along * [angle.cos(), angle.sin()][axis]
        })
    }

    /// Σ|k| ΔkΔθ is the disc's area: the trapezium rule is exact for |k| but for the centre, whose quarter
    /// step makes it so, and for the half cell that the last sample of each spoke lacks.
    #[test]
    fn the_ramp_has_the_area_of_the_disc() {
        for (spokes, samples) in [(40, 64), (33, 100)] {
            let weights = ramp(radial(spokes, samples).view());
            let step = 1.0 / samples as f64;
            let element = step * PI / spokes as f64;
            let area = weights.sum() * element;
            assert!((area - PI / 4.0).abs() < 1e-3 * area, "{area}");
            assert!((weights[samples / 2] - step / 4.0).abs() < 1e-15);
        }
    }

    /// In three dimensions Σk² Δk over a diameter is ∫k² dk: 2/3 of 0.5³, to the order of Δk².
    #[test]
    fn the_ramp_in_three_dimensions_has_the_volume_of_the_ball() {
        let samples = 200;
        let line = Array2::from_shape_fn((samples + 1, 3), |(i, axis)| {
            (i as f64 / samples as f64 - 0.5) * [0.6, 0.0, 0.8][axis]
        });
        let weights = ramp(line.view());
        let sum = weights.sum() - 0.5 * (weights[0] + weights[samples]);
        let integral = sum / samples as f64;
        assert!(
            (integral / (2.0 / 3.0 * 0.125) - 1.0).abs() < 1e-4,
            "{integral}"
        );
    }

    #[test]
    fn a_cartesian_grid_has_even_weights() {
        let n = 24;
        let grid = Grid::two(n, n);
        let trajectory = Array2::from_shape_fn((n * n, 2), |(i, axis)| {
            [i % n, i / n][axis] as f64 / n as f64 - 0.5
        });
        let weights = pipe_menon(grid, trajectory.view(), PIPE_MENON_ITERATIONS).unwrap();
        let cell = 1.0 / (n * n) as f64;
        // k-space is periodic, so that there is no edge either.
        for weight in &weights {
            assert!((weight / cell - 1.0).abs() < 0.02, "{}", weight / cell);
        }
    }

    #[test]
    fn of_a_radial_trajectory_it_is_the_ramp() {
        let (spokes, samples) = (100, 64);
        let trajectory = radial(spokes, samples);
        let grid = Grid::two(samples, samples);
        let weights = pipe_menon(grid, trajectory.view(), 20).unwrap();
        let element = PI / (spokes * samples) as f64;
        let ramp = ramp(trajectory.view()) * element;
        let (mut wrong, mut all) = (0.0, 0.0);
        for ((weight, ramp), k) in weights.iter().zip(&ramp).zip(trajectory.rows()) {
            let k = k[0].hypot(k[1]);
            if (0.05..0.42).contains(&k) {
                wrong += (weight - ramp).powi(2);
                all += ramp.powi(2);
            }
        }
        assert!((wrong / all).sqrt() < 0.05, "{}", (wrong / all).sqrt());
        // At its edge a disc gets what a kernel reaches beyond it.
        let area = weights.sum() / (PI / 4.0);
        assert!((0.97..1.12).contains(&area), "{area}");
    }
}
