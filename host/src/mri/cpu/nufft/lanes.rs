//! The innermost loops, in vector instructions: one sample on the rows that it touches.
//!
//! A row of w cells, 2w numbers, is done in V whole vectors; the kernel is zero in the numbers beyond.
//! V is a constant of the code, so that loops over vectors unroll.

use super::super::super::nufft::Pieces;
use super::points::{Point, SortedPoints};
use super::vectors::{Arithmetic, Vectors};
use crate::fft::Real;
use num_complex::Complex;
use pulp::Simd;
use std::any::Any;
use std::ops::Range;

/// The kernel's polynomials as the loops take them: padded with zeros to `numbers`.
pub(super) struct Lanes<T> {
    width: usize,
    /// Numbers of a row's vectors, at least twice the width.
    numbers: usize,
    /// (power, number): every piece twice, for real and imaginary part.
    paired: Vec<T>,
    /// (power, number): every piece once.
    single: Vec<T>,
    /// 1 where a number is a real part, else 0, and 1 where it is an imaginary part.
    parts: [Vec<T>; 2],
}

/// An array of a part's rows: (z, y, x).
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    /// First cell along x.
    pub(super) start: usize,
    /// Complex numbers of a row.
    pub(super) pitch: usize,
    /// Rows from one z to the next.
    pub(super) height: usize,
    /// Whether samples touch more than one z.
    pub(super) deep: bool,
}

impl Rows {
    /// Where the row of a sample's first cells begins, in numbers.
    #[inline(always)]
    fn first<T>(&self, point: &Point<T>) -> usize {
        let row = point.z as usize * self.height + point.y as usize;
        2 * (row * self.pitch + point.x as usize - self.start)
    }
}

impl<T: Real> Lanes<T> {
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

    /// Complex numbers that a row of samples with first cells in `span` cells needs.
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
                if let Some((lanes, points)) = self.of::<$real>(points) {
                    <$real>::dispatch(Spread {
                        lanes,
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

    /// A range of samples of an array.
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
                if let Some((lanes, points)) = self.of::<$real>(points) {
                    <$real>::dispatch(Interpolate {
                        lanes,
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

    /// The same, if `T` is `R`: the loops are made for single and double precision, not for any.
    fn of<'a, R: 'static>(
        &'a self,
        points: &'a SortedPoints<T>,
    ) -> Option<(&'a Lanes<R>, &'a SortedPoints<R>)> {
        let (lanes, points): (&dyn Any, &dyn Any) = (self, points);
        lanes.downcast_ref().zip(points.downcast_ref())
    }
}

/// A loop over samples.
pub(super) trait Loop<T> {
    /// Numbers of a row's vectors.
    fn numbers(&self) -> usize;

    /// The loop, with V vectors a row.
    fn run<S: Simd, const V: usize>(self, simd: S)
    where
        T: Vectors<S>;
}

/// The polynomials `table` at `at`, of the first `count` vectors, by Horner's rule.
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

/// A table's rows as vectors.
#[inline(always)]
fn vectors<S: Simd, T: Vectors<S>, const V: usize>(table: &[T]) -> &[[T::Vector; V]] {
    T::vectors(table).as_chunks().0
}

struct Spread<'a, T> {
    lanes: &'a Lanes<T>,
    points: &'a [Point<T>],
    values: &'a [Complex<T>],
    rows: Rows,
    out: &'a mut [T],
}

impl<T: Arithmetic> Loop<T> for Spread<'_, T> {
    fn numbers(&self) -> usize {
        self.lanes.numbers
    }

    #[inline(always)]
    fn run<S: Simd, const V: usize>(self, simd: S)
    where
        T: Vectors<S>,
    {
        let lanes = self.lanes;
        let paired = vectors::<S, T, V>(&lanes.paired);
        let single = vectors::<S, T, V>(&lanes.single);
        let [real, imaginary] = [0, 1].map(|part| vectors::<S, T, V>(&lanes.parts[part])[0]);
        let (rows, half) = (self.rows, V.div_ceil(2));
        let (to_y, to_z) = (2 * rows.pitch, 2 * rows.pitch * rows.height);
        let depth = if rows.deep { lanes.width } else { 1 };
        for (point, value) in self.points.iter().zip(self.values) {
            let mut row = horner(simd, paired, point.position[0], V);
            let y = horner(simd, single, point.position[1], half);
            let y = &bytemuck::cast_slice::<_, T>(&y)[..lanes.width];
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

struct Interpolate<'a, T> {
    lanes: &'a Lanes<T>,
    points: &'a [Point<T>],
    array: &'a [T],
    rows: Rows,
    values: &'a mut [Complex<T>],
}

impl<T: Arithmetic> Loop<T> for Interpolate<'_, T> {
    fn numbers(&self) -> usize {
        self.lanes.numbers
    }

    #[inline(always)]
    fn run<S: Simd, const V: usize>(self, simd: S)
    where
        T: Vectors<S>,
    {
        let lanes = self.lanes;
        let paired = vectors::<S, T, V>(&lanes.paired);
        let single = vectors::<S, T, V>(&lanes.single);
        let (rows, half) = (self.rows, V.div_ceil(2));
        let (to_y, to_z) = (2 * rows.pitch, 2 * rows.pitch * rows.height);
        let depth = if rows.deep { lanes.width } else { 1 };
        for (point, value) in self.points.iter().zip(self.values) {
            let x = horner(simd, paired, point.position[0], V);
            let y = horner(simd, single, point.position[1], half);
            let y = &bytemuck::cast_slice::<_, T>(&y)[..lanes.width];
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
            let sums = &bytemuck::cast_slice::<_, T>(&sums)[..2 * lanes.width];
            for pair in sums.chunks_exact(2) {
                total.re += pair[0];
                total.im += pair[1];
            }
            *value = total;
        }
    }
}
