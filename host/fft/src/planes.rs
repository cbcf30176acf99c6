//! Unitary 2-D Fourier transforms of single arrays.

use crate::{Fft, FftPlanner, Precision, transpose};
use num_complex::Complex;
use std::sync::Arc;

/// Floating-point type: `f32` or `f64`.
pub trait Real:
    Precision
    + num_traits::Float
    + num_traits::NumAssign
    + num_traits::FloatConst
    + bytemuck::Pod
    + Default
    + std::iter::Sum
{
    /// Rounds to the nearest value of this type.
    fn of(value: f64) -> Self;
    /// Converts to double precision.
    fn wide(self) -> f64;
}

impl Real for f32 {
    #[inline]
    fn of(value: f64) -> Self {
        value as Self
    }
    #[inline]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    #[inline]
    fn of(value: f64) -> Self {
        value
    }
    #[inline]
    fn wide(self) -> f64 {
        self
    }
}

/// Unitary transforms of (row, column) arrays whose spectra stay transposed, (column, row). A
/// Fourier projection can use them as they are, which saves one of two transpositions in each
/// direction.
///
/// The scale 1/√(rows·columns) is not applied; the caller folds [`TransposedFft2::scale`] into a
/// neighbouring pass.
#[derive(Clone)]
pub struct TransposedFft2<T: Real> {
    rows: usize,
    columns: usize,
    along_rows: [Arc<dyn Fft<T>>; 2],
    along_columns: [Arc<dyn Fft<T>>; 2],
}

/// Scratch memory of one thread for [`TransposedFft2`].
#[derive(Default)]
pub struct FftScratch<T> {
    work: Vec<Complex<T>>,
}

impl<T: Real> TransposedFft2<T> {
    /// Plans for arrays of `rows` × `columns`, both at least 1.
    #[must_use]
    pub fn new(rows: usize, columns: usize) -> Self {
        let mut planner = FftPlanner::new();
        Self {
            rows,
            columns,
            along_rows: [
                planner.plan_fft_forward(columns),
                planner.plan_fft_inverse(columns),
            ],
            along_columns: [
                planner.plan_fft_forward(rows),
                planner.plan_fft_inverse(rows),
            ],
        }
    }

    /// Scale 1/√(rows·columns), which makes either direction unitary.
    #[must_use]
    pub fn scale(&self) -> T {
        T::of(1.0 / ((self.rows * self.columns) as f64).sqrt())
    }

    /// Allocates scratch memory for one thread.
    #[must_use]
    pub fn scratch(&self) -> FftScratch<T> {
        let length = self
            .along_rows
            .iter()
            .chain(&self.along_columns)
            .map(|f| {
                let lengths = [f.get_inplace_scratch_len(), f.get_outofplace_scratch_len()];
                lengths[0].max(lengths[1])
            })
            .max()
            .unwrap_or(0);
        FftScratch {
            work: vec![Complex::default(); length],
        }
    }

    /// Transforms `data` (row, column) to `spectrum` (column, row); overwrites `data`.
    pub fn forward(
        &self,
        data: &mut [Complex<T>],
        spectrum: &mut [Complex<T>],
        scratch: &mut FftScratch<T>,
    ) {
        self.along_rows[0].process_with_scratch(data, &mut scratch.work);
        transpose(data, spectrum, self.columns, self.rows);
        self.along_columns[0].process_with_scratch(spectrum, &mut scratch.work);
    }

    /// Transforms `spectrum` (column, row) to `data` (row, column); overwrites `spectrum`.
    pub fn inverse(
        &self,
        spectrum: &mut [Complex<T>],
        data: &mut [Complex<T>],
        scratch: &mut FftScratch<T>,
    ) {
        self.along_columns[1].process_with_scratch(spectrum, &mut scratch.work);
        transpose(spectrum, data, self.rows, self.columns);
        self.along_rows[1].process_with_scratch(data, &mut scratch.work);
    }

    /// Like [`TransposedFft2::inverse`], but writes `data` once, row after row, which is faster if
    /// it is not in a cache; overwrites `spectrum` and `work`, of the same size.
    pub fn inverse_in_order(
        &self,
        spectrum: &mut [Complex<T>],
        work: &mut [Complex<T>],
        data: &mut [Complex<T>],
        scratch: &mut FftScratch<T>,
    ) {
        self.along_columns[1].process_with_scratch(spectrum, &mut scratch.work);
        transpose(spectrum, work, self.rows, self.columns);
        self.along_rows[1].process_outofplace_with_scratch(work, data, &mut scratch.work);
    }
}

/// Unitary in-place transforms of (row, column) arrays, zero frequency at (0, 0).
pub struct Fft2<T: Real> {
    inner: TransposedFft2<T>,
    work: Vec<Complex<T>>,
    scratch: FftScratch<T>,
}

impl<T: Real> Fft2<T> {
    /// Plans for arrays of `rows` × `columns`, both at least 1.
    #[must_use]
    pub fn new(rows: usize, columns: usize) -> Self {
        let inner = TransposedFft2::new(rows, columns);
        let scratch = inner.scratch();
        Self {
            work: vec![Complex::default(); rows * columns],
            inner,
            scratch,
        }
    }

    /// Transforms in place with the kernel exp(−2πi …).
    pub fn forward(&mut self, data: &mut [Complex<T>]) {
        self.inner.forward(data, &mut self.work, &mut self.scratch);
        let scale = self.inner.scale();
        transpose(&self.work, data, self.inner.rows, self.inner.columns);
        data.iter_mut().for_each(|v| *v = v.scale(scale));
    }

    /// Transforms in place with the kernel exp(+2πi …).
    pub fn inverse(&mut self, data: &mut [Complex<T>]) {
        transpose(data, &mut self.work, self.inner.columns, self.inner.rows);
        self.inner.inverse(&mut self.work, data, &mut self.scratch);
        let scale = self.inner.scale();
        data.iter_mut().for_each(|v| *v = v.scale(scale));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn naive(data: &[Complex<f64>], rows: usize, columns: usize) -> Vec<Complex<f64>> {
        let mut out = vec![Complex::default(); rows * columns];
        for (k, value) in out.iter_mut().enumerate() {
            let (kr, kc) = (k / columns, k % columns);
            for (n, v) in data.iter().enumerate() {
                let (r, c) = (n / columns, n % columns);
                let turns = (kr * r) as f64 / rows as f64 + (kc * c) as f64 / columns as f64;
                *value += v * Complex::cis(-TAU * turns);
            }
            *value /= ((rows * columns) as f64).sqrt();
        }
        out
    }

    fn data(n: usize) -> Vec<Complex<f64>> {
        (0..n)
            .map(|i| Complex::new((i as f64 * 1.7).sin(), (i as f64 * 0.3).cos()))
            .collect()
    }

    #[test]
    fn forward_agrees_with_the_naive_dft_and_inverse_undoes_it() {
        // The last ones are 2^a 3^b 5^c.
        let sizes = [
            (1, 1),
            (1, 5),
            (4, 3),
            (7, 11),
            (8, 16),
            (6, 10),
            (15, 12),
            (27, 25),
            (24, 40),
        ];
        for (rows, columns) in sizes {
            let original = data(rows * columns);
            let mut values = original.clone();
            let mut fft = Fft2::new(rows, columns);
            fft.forward(&mut values);
            for (a, b) in values.iter().zip(naive(&original, rows, columns)) {
                assert!((a - b).norm() < 1e-12, "{rows}x{columns}");
            }
            fft.inverse(&mut values);
            for (a, b) in values.iter().zip(&original) {
                assert!((a - b).norm() < 1e-12, "{rows}x{columns}");
            }
        }
    }

    #[test]
    fn both_inverses_undo_the_forward_transform() {
        for (rows, columns) in [(1, 5), (7, 11), (8, 16), (12, 20)] {
            let plan = TransposedFft2::<f64>::new(rows, columns);
            let mut scratch = plan.scratch();
            let original = data(rows * columns);
            let zero = vec![Complex::default(); rows * columns];
            let (mut spectrum, mut work, mut values) = (zero.clone(), zero.clone(), zero);
            plan.forward(&mut original.clone(), &mut spectrum, &mut scratch);
            let mut copy = spectrum.clone();
            plan.inverse_in_order(&mut copy, &mut work, &mut values, &mut scratch);
            let scale2 = plan.scale() * plan.scale();
            for (a, b) in values.iter().zip(&original) {
                assert!((a * scale2 - b).norm() < 1e-12, "{rows}x{columns}");
            }
            plan.inverse(&mut spectrum, &mut work, &mut scratch);
            for (a, b) in values.iter().zip(&work) {
                assert!((a - b).norm() < 1e-12, "{rows}x{columns}");
            }
        }
    }

    #[test]
    fn the_transposed_spectrum_is_the_transpose_of_the_spectrum() {
        let (rows, columns) = (5, 6);
        let plan = TransposedFft2::<f64>::new(rows, columns);
        let mut scratch = plan.scratch();
        let mut values = data(rows * columns);
        let expected = naive(&values, rows, columns);
        let mut spectrum = vec![Complex::default(); rows * columns];
        plan.forward(&mut values, &mut spectrum, &mut scratch);
        for r in 0..rows {
            for c in 0..columns {
                let a = spectrum[c * rows + r] * plan.scale();
                assert!((a - expected[r * columns + c]).norm() < 1e-12);
            }
        }
    }
}
