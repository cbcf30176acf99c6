//! Two-dimensional Fourier transforms of images for registration and ring correlation.

use ndarray::parallel::prelude::*;
use ndarray::{Array2, Axis};
use num_complex::Complex;
use std::sync::Arc;
use warpstride_fft::{Fft, FftPlanner};

/// Forward and inverse transforms of one shape (rows, columns).
pub(super) struct Transform {
    forward: [Arc<dyn Fft<f64>>; 2],
    inverse: [Arc<dyn Fft<f64>>; 2],
    shape: [usize; 2],
}

impl Transform {
    pub(super) fn new(shape: [usize; 2]) -> Self {
        let mut planner = FftPlanner::new();
        Self {
            forward: shape.map(|n| planner.plan_fft_forward(n)),
            inverse: shape.map(|n| planner.plan_fft_inverse(n)),
            shape,
        }
    }

    /// Forward transform Σ a exp(−2πi f·r), zero frequency at (0, 0).
    pub(super) fn forward(&self, image: Array2<Complex<f64>>) -> Array2<Complex<f64>> {
        both_axes(image, &self.forward)
    }

    /// Inverse of [`Self::forward`], including the factor 1/n.
    pub(super) fn inverse(&self, spectrum: Array2<Complex<f64>>) -> Array2<Complex<f64>> {
        let mut image = both_axes(spectrum, &self.inverse);
        let scale = 1.0 / (self.shape[0] * self.shape[1]) as f64;
        image.par_mapv_inplace(|v| v * scale);
        image
    }
}

fn both_axes(image: Array2<Complex<f64>>, plans: &[Arc<dyn Fft<f64>>; 2]) -> Array2<Complex<f64>> {
    let rows_done = along_rows(image, &plans[1]);
    let columns_done = along_rows(transposed(&rows_done), &plans[0]);
    transposed(&columns_done)
}

fn transposed(image: &Array2<Complex<f64>>) -> Array2<Complex<f64>> {
    image.t().as_standard_layout().into_owned()
}

fn along_rows(mut image: Array2<Complex<f64>>, plan: &Arc<dyn Fft<f64>>) -> Array2<Complex<f64>> {
    image.axis_iter_mut(Axis(0)).into_par_iter().for_each_init(
        || {
            let scratch = vec![Complex::default(); plan.get_inplace_scratch_len()];
            (scratch, vec![Complex::default(); plan.len()])
        },
        |(scratch, line), mut row| {
            for (to, from) in line.iter_mut().zip(&row) {
                *to = *from;
            }
            plan.process_with_scratch(line, scratch);
            for (to, from) in row.iter_mut().zip(&*line) {
                *to = *from;
            }
        },
    );
    image
}

/// Frequency of index `k` of `n`, cycles per pixel, in [−0.5, 0.5).
pub(super) fn frequency(k: usize, n: usize) -> f64 {
    let signed = if k < n.div_ceil(2) {
        k as f64
    } else {
        k as f64 - n as f64
    };
    signed / n as f64
}

/// Smallest length ≥ `n` whose only prime factors are 2, 3 and 5, for which transforms are fast.
pub(super) fn fast_length(n: usize) -> usize {
    let smooth = |mut m: usize| {
        for p in [2, 3, 5] {
            while m.is_multiple_of(p) {
                m /= p;
            }
        }
        m == 1
    };
    (n.max(1)..).find(|m| smooth(*m)).unwrap_or(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_wave_transforms_to_one_line_on_a_non_square_grid() {
        let (rows, columns) = (6, 10);
        let turn = std::f64::consts::TAU;
        let wave = Array2::from_shape_fn((rows, columns), |(r, c)| {
            Complex::cis(turn * (2.0 * r as f64 / rows as f64 - 3.0 * c as f64 / columns as f64))
        });
        let t = Transform::new([rows, columns]);
        let spectrum = t.forward(wave.clone());
        for ((r, c), v) in spectrum.indexed_iter() {
            let expected = if (r, c) == (2, 7) { 60.0 } else { 0.0 };
            assert!((v - expected).norm() < 1e-12, "{r} {c} {v}");
        }
        assert!((frequency(2, rows) - 2.0 / 6.0).abs() < 1e-15);
        assert!((frequency(7, columns) + 0.3).abs() < 1e-15);
        let back = t.inverse(spectrum);
        assert!(back.iter().zip(&wave).all(|(a, b)| (a - b).norm() < 1e-14));
    }

    #[test]
    fn fast_lengths_are_the_smallest_smooth_lengths() {
        assert_eq!([1, 7, 97, 121, 128].map(fast_length), [1, 8, 100, 125, 128]);
    }
}
