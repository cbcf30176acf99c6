//! Transforms of lines padded to twice their length, of which only one half is used.

use crate::Grid;
use num_complex::Complex;
use std::sync::Arc;
use warpstride_fft::Real;
use warpstride_fft::{Fft, FftPlanner, transpose};

/// Lines of one task: two cache lines of adjacent single-precision values.
pub(super) const LINES: usize = 16;

/// The transforms along one axis of N voxels.
pub(super) struct Lines<T: Real> {
    length: usize,
    /// Forward and inverse FFT
    transforms: [Arc<dyn Fft<T>>; 2],
    /// exp(−iπn/N)
    twiddles: Vec<Complex<T>>,
}

impl<T: Real> Lines<T> {
    pub(super) fn new(length: usize) -> Self {
        let mut planner = FftPlanner::new();
        let twiddle = |n: usize| {
            let (sine, cosine) = (-std::f64::consts::PI * n as f64 / length as f64).sin_cos();
            Complex::new(T::of(cosine), T::of(sine))
        };
        Self {
            length,
            transforms: [
                planner.plan_fft_forward(length),
                planner.plan_fft_inverse(length),
            ],
            twiddles: (0..length).map(twiddle).collect(),
        }
    }

    /// `to` = even (`parity` 0) or odd frequencies of the lines `from`.
    pub(super) fn forward(&self, parity: usize, from: &[Complex<T>], to: &mut [Complex<T>]) {
        if parity == 0 {
            to.copy_from_slice(from);
        } else {
            let lines = to
                .chunks_exact_mut(self.length)
                .zip(from.chunks_exact(self.length));
            for (to, from) in lines {
                for ((to, from), twiddle) in to.iter_mut().zip(from).zip(&self.twiddles) {
                    *to = *from * *twiddle;
                }
            }
        }
        self.transforms[0].process(to);
    }

    /// Adds the contribution of the even or odd frequencies `lines` to `sum`; overwrites `lines`.
    pub(super) fn inverse(&self, parity: usize, lines: &mut [Complex<T>], sum: &mut [Complex<T>]) {
        self.transforms[1].process(lines);
        let lines = sum
            .chunks_exact_mut(self.length)
            .zip(lines.chunks_exact(self.length));
        for (sum, line) in lines {
            if parity == 0 {
                sum.iter_mut().zip(line).for_each(|(s, v)| *s += *v);
            } else {
                for ((sum, value), twiddle) in sum.iter_mut().zip(line).zip(&self.twiddles) {
                    *sum += *value * twiddle.conj();
                }
            }
        }
    }

    /// Convolves `lines` with `spectrum` (line, parity, frequency); the buffers of `work` are as
    /// long as the lines.
    fn convolve(&self, lines: &mut [Complex<T>], spectrum: &[T], work: &mut [Vec<Complex<T>>; 2]) {
        let [frequencies, sum] = work;
        sum.fill(Complex::default());
        for parity in 0..2 {
            self.forward(parity, lines, frequencies);
            let each = frequencies
                .chunks_exact_mut(self.length)
                .zip(spectrum.chunks_exact(2 * self.length));
            for (line, spectrum) in each {
                let spectrum = &spectrum[parity * self.length..][..self.length];
                for (value, factor) in line.iter_mut().zip(spectrum) {
                    *value = value.scale(*factor);
                }
            }
            self.inverse(parity, frequencies, sum);
        }
        lines.copy_from_slice(sum);
    }
}

/// The axes that remain after the columns are transformed: rows, or planes of slices × rows.
pub(super) struct Plane<T: Real> {
    along_y: Lines<T>,
    /// `None` if the slices are not encoded.
    along_z: Option<Lines<T>>,
}

impl<T: Real> Plane<T> {
    pub(super) fn new(grid: Grid) -> Self {
        let [slices, rows, _] = grid.shape;
        Self {
            along_y: Lines::new(rows),
            along_z: (grid.axes == 3).then(|| Lines::new(slices)),
        }
    }

    /// Length of the spectrum of one plane.
    pub(super) fn spectrum_len(&self) -> usize {
        let slices = self.along_z.as_ref().map_or(1, |z| 2 * z.length);
        2 * self.along_y.length * slices
    }

    /// Appends the spectrum of a plane, `at` (kz, ky), in the order of traversal: (parity of ky,
    /// ky, parity of kz, kz), or (parity of ky, ky) for two axes.
    pub(super) fn arrange(&self, at: impl Fn(usize, usize) -> f64, values: &mut Vec<T>) {
        for py in 0..2 {
            for y in 0..self.along_y.length {
                match &self.along_z {
                    None => values.push(T::of(at(0, 2 * y + py))),
                    Some(along_z) => {
                        for pz in 0..2 {
                            let of = |z: usize| T::of(at(2 * z + pz, 2 * y + py));
                            values.extend((0..along_z.length).map(of));
                        }
                    }
                }
            }
        }
    }

    /// Convolves `planes` (plane, slice, row) with `spectrum` (plane, in the order of
    /// [`Plane::arrange`]).
    pub(super) fn apply(&self, planes: &mut [Complex<T>], spectrum: &[T]) {
        let zero = Complex::default();
        let rows = self.along_y.length;
        let Some(along_z) = &self.along_z else {
            let mut work = [vec![zero; planes.len()], vec![zero; planes.len()]];
            self.along_y.convolve(planes, spectrum, &mut work);
            return;
        };
        let size = rows * along_z.length;
        let buffer = || vec![zero; size];
        let (mut along_rows, mut along_slices, mut sum) = (buffer(), buffer(), buffer());
        let mut work = [buffer(), buffer()];
        let each = planes
            .chunks_exact_mut(size)
            .zip(spectrum.chunks_exact(4 * size));
        for (plane, spectrum) in each {
            sum.fill(zero);
            for (parity, spectrum) in spectrum.chunks_exact(2 * size).enumerate() {
                self.along_y.forward(parity, plane, &mut along_rows);
                transpose(&along_rows, &mut along_slices, rows, along_z.length);
                along_z.convolve(&mut along_slices, spectrum, &mut work);
                transpose(&along_slices, &mut along_rows, along_z.length, rows);
                self.along_y.inverse(parity, &mut along_rows, &mut sum);
            }
            plane.copy_from_slice(&sum);
        }
    }
}
