//! The innermost loops in vector instructions: one sample on the rows that it touches.
//!
//! A row of w cells, 2w numbers, is processed in V whole vectors; beyond the row the kernel is
//! zero. V is a compile-time constant, so that loops over vectors are unrolled.

use super::super::super::nufft::Pieces;
use super::points::{Point, SortedPoints};
use super::vectors::{Arithmetic, SimdLoop, Vectors};
use num_complex::Complex;
use pulp::Simd;
use std::any::Any;
use std::ops::Range;
use warpstride_fft::Real;

/// The kernel's polynomials as the loops read them, padded with zeros to `numbers`.
pub(super) struct SimdKernel<T> {
    width: usize,
    /// Numbers in the vectors of a row, at least twice the width.
    numbers: usize,
    /// (power, number): every piece twice, for real and imaginary part.
    paired: Vec<T>,
    /// (power, number): every piece once.
    single: Vec<T>,
    /// Masks of the real and of the imaginary parts, 1 or 0 for each number.
    parts: [Vec<T>; 2],
}

/// Layout of the array of a subproblem: (z, y, x).
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    /// First cell along x.
    pub(super) start: usize,
    /// Length of a row, in complex numbers.
    pub(super) pitch: usize,
    /// Rows from one z to the next.
    pub(super) height: usize,
    /// Whether samples touch several planes.
    pub(super) deep: bool,
}

impl Rows {
    /// Index of the first number of a sample's first row.
    #[inline(always)]
    fn first<T>(&self, point: &Point<T>) -> usize {
        let row = point.z as usize * self.height + point.y as usize;
        2 * (row * self.pitch + point.x as usize - self.start)
    }
}

impl<T: Real> SimdKernel<T> {
    pub(super) fn new(pieces: &Pieces) -> Self {
        let numbers = if size_of::<T>() == 4 {
            f32::numbers(2 * pieces.width)
        } else {
            f64::numbers(2 * pieces.width)
        };
        let padded = |repeats: usize| {
            let rows = pieces.coefficients.chunks_exact(pieces.width);
            rows.flat_map(|row| {
                let pieces = row.iter().flat_map(|c| std::iter::repeat_n(*c, repeats));
                pieces.chain(std::iter::repeat(0.0)).take(numbers)
            })
            .map(T::of)
            .collect()
        };
        let part = |odd: usize| {
            let ones = (0..numbers).map(|i| if i % 2 == odd { T::one() } else { T::zero() });
            ones.collect()
        };
        Self {
            width: pieces.width,
            numbers,
            paired: padded(2),
            single: padded(1),
            parts: [part(0), part(1)],
        }
    }

    /// Row length, in complex numbers, for samples whose first cells span `span` cells.
    pub(super) fn pitch(&self, span: usize) -> usize {
        span + self.numbers / 2 - 1
    }

    /// Adds the samples `values` of a range of `points` to an array.
    pub(super) fn spread(
        &self,
        points: &SortedPoints<T>,
        range: Range<usize>,
        values: &[Complex<T>],
        rows: Rows,
        out: &mut [Complex<T>],
    ) {
        macro_rules! of {
            ($real:ty) => {
                if let Some((kernel, points)) = self.of::<$real>(points) {
                    <$real>::dispatch(SpreadLoop {
                        kernel,
                        points: &points.points[range],
                        values: bytemuck::cast_slice(values),
                        rows,
                        out: bytemuck::cast_slice_mut(out),
                    });
                    return;
                }
            };
        }
        of!(f32);
        of!(f64);
    }

    /// Interpolates a range of samples from an array.
    pub(super) fn interpolate(
        &self,
        points: &SortedPoints<T>,
        range: Range<usize>,
        array: &[Complex<T>],
        rows: Rows,
        values: &mut [Complex<T>],
    ) {
        macro_rules! of {
            ($real:ty) => {
                if let Some((kernel, points)) = self.of::<$real>(points) {
                    <$real>::dispatch(InterpolateLoop {
                        kernel,
                        points: &points.points[range],
                        array: bytemuck::cast_slice(array),
                        rows,
                        values: bytemuck::cast_slice_mut(values),
                    });
                    return;
                }
            };
        }
        of!(f32);
        of!(f64);
    }

    /// The arguments as those of `R`, if `T` is `R`: the loops exist for single and double
    /// precision only.
    fn of<'a, R: 'static>(
        &'a self,
        points: &'a SortedPoints<T>,
    ) -> Option<(&'a SimdKernel<R>, &'a SortedPoints<R>)> {
        let (kernel, points): (&dyn Any, &dyn Any) = (self, points);
        kernel.downcast_ref().zip(points.downcast_ref())
    }
}

/// Evaluates the polynomials `table` at `at`, for the first `count` vectors, by Horner's rule.
#[inline(always)]
fn horner<S: Simd, T: Vectors<S>, const V: usize>(
    simd: S,
    table: &[[T::Vector; V]],
    at: T,
    count: usize,
) -> [T::Vector; V] {
    let at = T::splat(simd, at);
    let mut values = [T::splat(simd, T::zero()); V];
    for power in table.iter().rev() {
        for v in 0..count {
            values[v] = T::multiply_add(simd, values[v], at, power[v]);
        }
    }
    values
}

/// The rows of a table as vectors.
#[inline(always)]
fn vectors<S: Simd, T: Vectors<S>, const V: usize>(table: &[T]) -> &[[T::Vector; V]] {
    T::vectors(table).as_chunks().0
}

struct SpreadLoop<'a, T> {
    kernel: &'a SimdKernel<T>,
    points: &'a [Point<T>],
    values: &'a [Complex<T>],
    rows: Rows,
    out: &'a mut [T],
}

impl<T: Arithmetic> SimdLoop<T> for SpreadLoop<'_, T> {
    fn numbers(&self) -> usize {
        self.kernel.numbers
    }

    #[inline(always)]
    fn run<S: Simd, const V: usize>(self, simd: S)
    where
        T: Vectors<S>,
    {
        let kernel = self.kernel;
        let paired = vectors::<S, T, V>(&kernel.paired);
        let single = vectors::<S, T, V>(&kernel.single);
        let [real, imaginary] = [0, 1].map(|part| vectors::<S, T, V>(&kernel.parts[part])[0]);
        let (rows, half) = (self.rows, V.div_ceil(2));
        let (to_y, to_z) = (2 * rows.pitch, 2 * rows.pitch * rows.height);
        let depth = if rows.deep { kernel.width } else { 1 };
        for (point, value) in self.points.iter().zip(self.values) {
            let mut row = horner(simd, paired, point.position[0], V);
            let y = horner(simd, single, point.position[1], half);
            let y = &bytemuck::cast_slice::<_, T>(&y)[..kernel.width];
            let mut z = [T::splat(simd, T::one()); V];
            if rows.deep {
                z = horner(simd, single, point.position[2], half);
            }
            let z = &bytemuck::cast_slice::<_, T>(&z)[..depth];
            let (re, im) = (T::splat(simd, value.re), T::splat(simd, value.im));
            for v in 0..V {
                let pair = T::multiply(simd, re, real[v]);
                let pair = T::multiply_add(simd, im, imaginary[v], pair);
                row[v] = T::multiply(simd, row[v], pair);
            }
            let mut plane = rows.first(point);
            for z in z {
                let mut at = plane;
                for y in y {
                    let weight = T::splat(simd, *z * *y);
                    let out = T::vectors_mut(&mut self.out[at..][..V * T::LANES]);
                    for v in 0..V {
                        out[v] = T::multiply_add(simd, weight, row[v], out[v]);
                    }
                    at += to_y;
                }
                plane += to_z;
            }
        }
    }
}

struct InterpolateLoop<'a, T> {
    kernel: &'a SimdKernel<T>,
    points: &'a [Point<T>],
    array: &'a [T],
    rows: Rows,
    values: &'a mut [Complex<T>],
}

impl<T: Arithmetic> SimdLoop<T> for InterpolateLoop<'_, T> {
    fn numbers(&self) -> usize {
        self.kernel.numbers
    }

    #[inline(always)]
    fn run<S: Simd, const V: usize>(self, simd: S)
    where
        T: Vectors<S>,
    {
        let kernel = self.kernel;
        let paired = vectors::<S, T, V>(&kernel.paired);
        let single = vectors::<S, T, V>(&kernel.single);
        let (rows, half) = (self.rows, V.div_ceil(2));
        let (to_y, to_z) = (2 * rows.pitch, 2 * rows.pitch * rows.height);
        let depth = if rows.deep { kernel.width } else { 1 };
        for (point, value) in self.points.iter().zip(self.values) {
            let x = horner(simd, paired, point.position[0], V);
            let y = horner(simd, single, point.position[1], half);
            let y = &bytemuck::cast_slice::<_, T>(&y)[..kernel.width];
            let mut z = [T::splat(simd, T::one()); V];
            if rows.deep {
                z = horner(simd, single, point.position[2], half);
            }
            let z = &bytemuck::cast_slice::<_, T>(&z)[..depth];
            let mut sums = [T::splat(simd, T::zero()); V];
            let mut plane = rows.first(point);
            for z in z {
                let mut at = plane;
                for y in y {
                    let weight = T::splat(simd, *z * *y);
                    let row = T::vectors(&self.array[at..][..V * T::LANES]);
                    for v in 0..V {
                        sums[v] = T::multiply_add(simd, weight, row[v], sums[v]);
                    }
                    at += to_y;
                }
                plane += to_z;
            }
            for v in 0..V {
                sums[v] = T::multiply(simd, sums[v], x[v]);
            }
            let mut total = Complex::new(T::zero(), T::zero());
            let sums = &bytemuck::cast_slice::<_, T>(&sums)[..2 * kernel.width];
            for pair in sums.chunks_exact(2) {
                total.re += pair[0];
                total.im += pair[1];
            }
            *value = total;
        }
    }
}
