//! The definition of F and Fᴴ as plain loops, for tests.

use super::super::Grid;
use ndarray::Array2;
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::f64::consts::TAU;
use warpstride_device::Complex32;

pub(super) type C = Complex<f64>;

fn phase(grid: Grid, k: &[f64], voxel: usize) -> f64 {
    let [_, rows, columns] = grid.shape;
    let position = [
        voxel % columns,
        voxel / columns % rows,
        voxel / columns / rows,
    ];
    let axes = k.iter().zip(position).zip(grid.along_k());
    axes.map(|((k, n), voxels)| k * (n as f64 - (voxels / 2) as f64))
        .sum::<f64>()
        .rem_euclid(1.0)
        * TAU
}

/// Σ_n image_n exp(−2πi k·n) at every point.
pub(super) fn forward(grid: Grid, trajectory: &Array2<f64>, image: &[C]) -> Vec<C> {
    let points = trajectory.rows().into_iter();
    points
        .map(|k| {
            let k = k.to_vec();
            let terms = image.iter().enumerate();
            terms
                .map(|(n, value)| value * C::from_polar(1.0, -phase(grid, &k, n)))
                .sum()
        })
        .collect()
}

/// Σ_m w_m samples_m exp(+2πi k·n) at every voxel.
pub(super) fn adjoint(grid: Grid, trajectory: &Array2<f64>, samples: &[C]) -> Vec<C> {
    (0..grid.voxels())
        .map(|n| {
            let points = trajectory.rows().into_iter().zip(samples);
            points
                .map(|(k, value)| value * C::from_polar(1.0, phase(grid, &k.to_vec(), n)))
                .sum()
        })
        .collect()
}

pub(super) fn noise(seed: u64, len: usize) -> Vec<C> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut next = || random.random_range(-1.0..1.0_f64);
    (0..len).map(|_| C::new(next(), next())).collect()
}

pub(super) fn narrow(values: &[C]) -> Vec<Complex32> {
    let values = values.iter();
    values
        .map(|v| Complex32::new(v.re as f32, v.im as f32))
        .collect()
}

/// ‖found − expected‖/‖expected‖; 0 for empty slices.
pub(super) fn error(found: &[Complex32], expected: &[C]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let wide = |v: &Complex32| C::new(v.re.into(), v.im.into());
    let pairs = found.iter().zip(expected);
    let difference: f64 = pairs.map(|(a, b)| (wide(a) - b).norm_sqr()).sum();
    let norm: f64 = expected.iter().map(Complex::norm_sqr).sum();
    (difference / norm.max(f64::MIN_POSITIVE)).sqrt()
}

/// Σ conj(a) b.
pub(super) fn product(a: &[Complex32], b: &[Complex32]) -> C {
    let wide = |v: &Complex32| C::new(v.re.into(), v.im.into());
    a.iter().zip(b).map(|(a, b)| wide(a).conj() * wide(b)).sum()
}
