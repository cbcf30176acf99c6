//! The sums on a grid without a field, as products of real matrices.
//!
//! Along a row of the image the voxels n and −n have conjugate exponentials. With θ = 2π kx n,
//!
//! ρ(n) e^(−iθ) + ρ(−n) e^(iθ) = (ρ(n) + ρ(−n)) cos θ − i (ρ(n) − ρ(−n)) sin θ,
//!
//! so that a row's sum is a product of 2·(N/2 + 1) real numbers with the cosines and sines of one
//! block of samples: half the arithmetic of complex numbers, all of it in a matrix product. Rows
//! and slices follow with one complex multiplication per row. The adjoint does the transposed steps
//! in reverse order.

use super::sincos::{cos_sin, reduced};
use crate::Grid;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Samples of a block: its sums and tables stay in the second-level cache.
const FORWARD_BLOCK: usize = 128;

/// Samples between two synchronisations of the adjoint.
const ADJOINT_BLOCK: usize = 512;

/// Rows of images in one matrix product.
const BAND: usize = 32;

pub(super) struct Separable<T> {
    grid: Grid,
    /// (axis)(sample), cycles/pixel: kx, ky, kz; 0 for an axis that the trajectory lacks
    trajectory: [Vec<f64>; 3],
    precision: std::marker::PhantomData<T>,
}

/// Number of offsets 0 … ⌊N/2⌋ of an axis of N: the distances of voxels from the centre on either
/// side.
fn half(n: usize) -> usize {
    n / 2 + 1
}

/// exp(+2πi k n) of a block of samples.
struct Exponentials<T> {
    /// cosines, then sines, (2, offset, sample)
    along_x: Vec<T>,
    /// (row, sample), (slice, sample)
    along_yz: [Vec<Complex<T>>; 2],
    samples: usize,
}

/// A task with its own loops, compiled once for each vector instruction set.
struct Vectorised<F>(F);

impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Vectorised<F> {
    type Output = R;

    #[inline(always)]
    fn call(self) -> R {
        (self.0)()
    }
}

/// Passes cos and sin of 2πkn for each sample of a block to `put`.
#[inline(always)]
fn table_row(k: &[f64], n: f64, mut put: impl FnMut(usize, f64, f64)) {
    for (m, k) in k.iter().enumerate() {
        let (cosine, sine) = cos_sin(reduced(k * n));
        put(m, cosine, sine);
    }
}

impl<T: Real> Exponentials<T> {
    fn new(grid: Grid, trajectory: &[Vec<f64>; 3], block: std::ops::Range<usize>) -> Self {
        let samples = block.len();
        let [slices, rows, columns] = grid.shape;
        let k = trajectory.each_ref().map(|k| &k[block.clone()]);
        pulp::Arch::new().dispatch(Vectorised(
            #[inline(always)]
            || {
                let mut along_x = vec![T::zero(); 2 * half(columns) * samples];
                let (cosines, sines) = along_x.split_at_mut(half(columns) * samples);
                let both = cosines.chunks_mut(samples).zip(sines.chunks_mut(samples));
                for (n, (cosines, sines)) in both.enumerate() {
                    table_row(k[0], n as f64, |m, cosine, sine| {
                        cosines[m] = T::of(cosine);
                        sines[m] = T::of(sine);
                    });
                }
                let along = |k: &[f64], count: usize| {
                    let mut table = vec![Complex::default(); count * samples];
                    for (n, row) in table.chunks_mut(samples).enumerate() {
                        let offset = n as f64 - (count / 2) as f64;
                        table_row(k, offset, |m, cosine, sine| {
                            row[m] = Complex::new(T::of(cosine), T::of(sine));
                        });
                    }
                    table
                };
                Self {
                    along_yz: [along(k[1], rows), along(k[2], slices)],
                    along_x,
                    samples,
                }
            },
        ))
    }

    /// (cosines and sines of the offsets, sample)
    fn along_x(&self) -> ArrayView2<'_, T> {
        matrix(&self.along_x, self.samples)
    }

    /// Stores exp(+2πi (ky y + kz z)) of a row of the image, (sample), in `phase`.
    #[inline(always)]
    fn of_row(&self, grid: Grid, row: usize, phase: &mut [Complex<T>]) {
        let [_, rows, _] = grid.shape;
        let of = |axis: usize, n: usize| &self.along_yz[axis][n * self.samples..][..self.samples];
        let (y, z) = (row % rows, row / rows);
        phase.copy_from_slice(of(0, y));
        if grid.axes == 3 {
            for (phase, z) in phase.iter_mut().zip(of(1, z)) {
                *phase *= *z;
            }
        }
    }
}

fn matrix<T>(values: &[T], columns: usize) -> ArrayView2<'_, T> {
    ArrayView2::from_shape((values.len() / columns, columns), values).expect("whole rows")
}

fn matrix_mut<T>(values: &mut [T], columns: usize) -> ArrayViewMut2<'_, T> {
    ArrayViewMut2::from_shape((values.len() / columns, columns), values).expect("whole rows")
}

/// One row ρ (column) as two real rows: [e_re | o_im] and [e_im | −o_re], with e the sums and o the
/// differences of the voxels on either side of the centre.
fn fold<T: Real>(row: &[Complex<T>], folded: &mut [T]) {
    let (n, half) = (row.len(), half(row.len()));
    let (real, imaginary) = folded.split_at_mut(2 * half);
    let centre = n / 2;
    for offset in 0..half {
        let plus = row.get(centre + offset).copied().unwrap_or_default();
        let (even, odd) = if offset == 0 {
            (plus, Complex::default())
        } else {
            let minus = row[centre - offset];
            (plus + minus, plus - minus)
        };
        real[offset] = even.re;
        real[half + offset] = odd.im;
        imaginary[offset] = even.im;
        imaginary[half + offset] = -odd.re;
    }
}

/// The adjoint of [`fold`]: [a_re | b_re] and [a_im | b_im] give a ± ib at ±n.
fn unfold<T: Real>(folded: &[T], row: &mut [Complex<T>]) {
    let (n, half) = (row.len(), half(row.len()));
    let (real, imaginary) = folded.split_at(2 * half);
    let centre = n / 2;
    for offset in 0..half {
        let a = Complex::new(real[offset], imaginary[offset]);
        let b = Complex::new(-imaginary[half + offset], real[half + offset]);
        if offset == 0 {
            row[centre] = a;
            continue;
        }
        row[centre - offset] = a - b;
        if let Some(plus) = row.get_mut(centre + offset) {
            *plus = a + b;
        }
    }
}

impl<T: Real> Separable<T> {
    pub(super) fn new(grid: Grid, trajectory: ArrayView2<'_, f64>) -> Self {
        let samples = trajectory.nrows();
        let along = |axis: usize| {
            if axis < trajectory.ncols() {
                trajectory.column(axis).to_vec()
            } else {
                vec![0.0; samples]
            }
        };
        Self {
            grid,
            trajectory: std::array::from_fn(along),
            precision: std::marker::PhantomData,
        }
    }

    fn samples(&self) -> usize {
        self.trajectory[0].len()
    }

    /// Number of rows in all slices.
    fn rows(&self) -> usize {
        self.grid.shape[0] * self.grid.shape[1]
    }

    pub(super) fn forward(&self, images: &[Complex<T>], samples: &mut [Complex<T>]) {
        let columns = self.grid.shape[2];
        let width = 4 * half(columns);
        let mut folded = vec![T::zero(); images.len() / columns * width];
        folded
            .par_chunks_mut(width)
            .zip(images.par_chunks(columns))
            .for_each(|(folded, row)| fold(row, folded));
        let batch = images.len() / self.grid.voxels();
        let count = self.samples();
        let blocks: Vec<Vec<Complex<T>>> = (0..count)
            .into_par_iter()
            .step_by(FORWARD_BLOCK)
            .map(|start| {
                self.forward_block(&folded, start..count.min(start + FORWARD_BLOCK), batch)
            })
            .collect();
        for (block, values) in blocks.iter().enumerate() {
            let length = values.len() / batch;
            for (image, values) in values.chunks_exact(length).enumerate() {
                let start = image * count + block * FORWARD_BLOCK;
                samples[start..start + length].copy_from_slice(values);
            }
        }
    }

    /// (image, sample of the block)
    fn forward_block(
        &self,
        folded: &[T],
        block: std::ops::Range<usize>,
        batch: usize,
    ) -> Vec<Complex<T>> {
        let length = block.len();
        let exponentials = Exponentials::new(self.grid, &self.trajectory, block);
        let width = 2 * half(self.grid.shape[2]);
        let mut values = vec![Complex::default(); batch * length];
        let mut sums = vec![T::zero(); 2 * BAND * length];
        let mut phase = vec![Complex::default(); length];
        for (band, folded) in folded.chunks(2 * BAND * width).enumerate() {
            let sums = &mut sums[..folded.len() / width * length];
            general_mat_mul(
                T::one(),
                &matrix(folded, width),
                &exponentials.along_x(),
                T::zero(),
                &mut matrix_mut(sums, length),
            );
            pulp::Arch::new().dispatch(Vectorised(
                #[inline(always)]
                || {
                    for (row, sums) in sums.chunks_exact(2 * length).enumerate() {
                        let row = band * BAND + row;
                        let (image, row) = (row / self.rows(), row % self.rows());
                        exponentials.of_row(self.grid, row, &mut phase);
                        let (real, imaginary) = sums.split_at(length);
                        let values = &mut values[image * length..][..length];
                        for (m, value) in values.iter_mut().enumerate() {
                            let sum = Complex::new(real[m], imaginary[m]);
                            *value += phase[m].conj() * sum;
                        }
                    }
                },
            ));
        }
        values
    }

    pub(super) fn adjoint(&self, samples: &[Complex<T>], images: &mut [Complex<T>]) {
        let columns = self.grid.shape[2];
        let count = self.samples();
        let width = 2 * half(columns);
        let mut folded = vec![T::zero(); images.len() / columns * 2 * width];
        for start in (0..count).step_by(ADJOINT_BLOCK) {
            let block = start..count.min(start + ADJOINT_BLOCK);
            let exponentials = Exponentials::<T>::new(self.grid, &self.trajectory, block.clone());
            folded
                .par_chunks_mut(2 * BAND * width)
                .enumerate()
                .for_each(|(band, folded)| {
                    let modulated =
                        self.modulated(&exponentials, samples, &block, band, folded, width);
                    general_mat_mul(
                        T::one(),
                        &matrix(&modulated, block.len()),
                        &exponentials.along_x().t(),
                        T::one(),
                        &mut matrix_mut(folded, width),
                    );
                });
        }
        images
            .par_chunks_mut(columns)
            .zip(folded.par_chunks(2 * width))
            .for_each(|(row, folded)| unfold(folded, row));
    }

    /// Samples times the exponentials of a band's rows, (row, real and imaginary part, sample).
    fn modulated(
        &self,
        exponentials: &Exponentials<T>,
        samples: &[Complex<T>],
        block: &std::ops::Range<usize>,
        band: usize,
        folded: &[T],
        width: usize,
    ) -> Vec<T> {
        let length = block.len();
        let mut modulated = vec![T::zero(); folded.len() / width * length];
        let mut phase = vec![Complex::default(); length];
        pulp::Arch::new().dispatch(Vectorised(
            #[inline(always)]
            || {
                for (row, modulated) in modulated.chunks_exact_mut(2 * length).enumerate() {
                    let row = band * BAND + row;
                    let (image, row) = (row / self.rows(), row % self.rows());
                    exponentials.of_row(self.grid, row, &mut phase);
                    let samples = &samples[image * self.samples()..][block.clone()];
                    let (real, imaginary) = modulated.split_at_mut(length);
                    for (m, sample) in samples.iter().enumerate() {
                        let value = phase[m] * *sample;
                        real[m] = value.re;
                        imaginary[m] = value.im;
                    }
                }
            },
        ));
        modulated
    }
}
