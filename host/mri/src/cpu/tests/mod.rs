//! The methods compared with the definitions of their results.

mod engines;
mod operators;
mod solutions;

use super::*;
use crate::{Encoding, Grid};
use ndarray::{Array2, Array3, Axis, stack};
use num_complex::Complex;
use std::sync::Arc;
use warpstride_fft::Real;

/// Numbers in −1 … 1 without a regularity that the sums could share.
fn wave(n: usize, seed: f64) -> Vec<f64> {
    (0..n)
        .map(|i| (seed * (i as f64 + 1.0).powi(2)).sin())
        .collect()
}

fn complex<T: Real>(n: usize, seed: f64) -> Vec<Complex<T>> {
    let (re, im) = (wave(n, seed), wave(n, seed + 0.37));
    let one = |(re, im): (&f64, &f64)| Complex::new(T::of(*re), T::of(*im));
    re.iter().zip(&im).map(one).collect()
}

fn trajectory(samples: usize, axes: usize) -> Array2<f64> {
    let values = wave(samples * axes, 0.731)
        .iter()
        .map(|v| v / 2.0)
        .collect();
    Array2::from_shape_vec((samples, axes), values).unwrap()
}

fn weights(samples: usize) -> Vec<f64> {
    wave(samples, 0.317).iter().map(|w| 1.5 + w).collect()
}

/// Smooth maps of different moduli, nowhere all 0.
fn maps(grid: Grid, coils: usize) -> Array2<Complex<f64>> {
    Array2::from_shape_fn((coils, grid.voxels()), |(c, n)| {
        let phase = 0.1 * n as f64 * (c as f64 + 1.0) / grid.voxels() as f64;
        Complex::from_polar(1.0 + 0.5 * (phase + c as f64).sin(), 10.0 * phase)
    })
}

fn encoded<T: Real>(grid: Grid, k: &Array2<f64>, weights: &[f64]) -> Gram<T> {
    Gram::Encoded {
        encoding: Arc::new(Direct::new(grid, k.view(), None).unwrap()),
        weights: Some(weights.iter().map(|w| T::of(*w)).collect()),
    }
}

fn convolved<T: Real>(grid: Grid, k: &Array2<f64>, weights: &[f64]) -> Gram<T> {
    let doubled = Direct::new(grid.doubled(), k.view(), None).unwrap();
    let toeplitz = Toeplitz::new(grid, &doubled, Some(weights)).unwrap();
    Gram::Toeplitz(Arc::new(toeplitz))
}

/// |a − b|/|b|.
fn difference<T: Real>(a: &[Complex<T>], b: &[Complex<T>]) -> f64 {
    let d: Vec<_> = a.iter().zip(b).map(|(a, b)| *a - *b).collect();
    (norm_squared(&d) / norm_squared(b)).sqrt()
}
