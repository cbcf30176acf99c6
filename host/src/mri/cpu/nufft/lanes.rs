//! The innermost loops, for vector instructions: one sample's values on the rows that it touches.
//!
//! A row of w cells is done as K complex numbers, w rounded up so that whole vectors result; the
//! kernel is zero in the cells beyond w. Widths are constants of the code, so that loops unroll.

use super::super::super::nufft::Pieces;
use super::points::Point;
use crate::fft::Real;
use num_complex::Complex;

/// Widest kernel that the loops are made for.
pub(super) const WIDEST: usize = 16;

/// The kernel's polynomials in `T`, (power, piece), pieces padded with zeros to [`padded`].
pub(super) struct Lanes<T> {
    width: usize,
    coefficients: Vec<T>,
}

/// w rounded up to whole vectors.
fn padded(width: usize) -> usize {
    width.next_multiple_of(4)
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

impl<T: Real> Lanes<T> {
    pub(super) fn new(pieces: &Pieces) -> Self {
        let pitch = padded(pieces.width);
        let rows = pieces.coefficients.chunks_exact(pieces.width);
        let coefficients = rows
            .flat_map(|row| {
                let zeros = std::iter::repeat_n(0.0, pitch - row.len());
                row.iter().copied().chain(zeros).map(T::of)
            })
            .collect();
        Self {
            width: pieces.width,
            coefficients,
        }
    }

    /// Complex numbers that a row of samples with first cells in `span` cells needs.
    pub(super) fn pitch(&self, span: usize) -> usize {
        span + padded(self.width) - 1
    }

    /// Adds the samples `values` at `points` to an array.
    pub(super) fn spread(
        &self,
        points: &[Point<T>],
        values: &[Complex<T>],
        rows: Rows,
        out: &mut [Complex<T>],
    ) {
        self.dispatch(Spread {
            coefficients: &self.coefficients,
            points,
            values,
            rows,
            out,
        });
    }

    /// The samples at `points` of an array.
    pub(super) fn interpolate(
        &self,
        points: &[Point<T>],
        array: &[Complex<T>],
        rows: Rows,
        values: &mut [Complex<T>],
    ) {
        self.dispatch(Interpolate {
            coefficients: &self.coefficients,
            points,
            array,
            rows,
            values,
        });
    }

    /// Chooses the vector instructions and the width.
    fn dispatch<L: Loop>(&self, work: L) {
        let arch = pulp::Arch::new();
        let fused = !matches!(arch, pulp::Arch::Scalar);
        macro_rules! widths {
            ($($width:literal $padded:literal),*) => {
                match self.width {
                    $($width if fused => arch.dispatch(Sized::<L, $width, $padded, true>(work)),
                    $width => arch.dispatch(Sized::<L, $width, $padded, false>(work)),)*
                    _ => unreachable!("SpreadingKernel has a width of 2 … 16"),
                }
            };
        }
        widths!(2 4, 3 4, 4 4, 5 8, 6 8, 7 8, 8 8, 9 12, 10 12, 11 12, 12 12, 13 16, 14 16, 15 16, 16 16);
    }
}

/// A loop over samples, for kernels of W cells in K lanes, with fused multiplications or without.
trait Loop {
    fn run<const W: usize, const K: usize, const FUSED: bool>(self);
}

struct Sized<L, const W: usize, const K: usize, const FUSED: bool>(L);

impl<L: Loop, const W: usize, const K: usize, const FUSED: bool> pulp::NullaryFnOnce
    for Sized<L, W, K, FUSED>
{
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run::<W, K, FUSED>();
    }
}

#[inline(always)]
fn multiply_add<T: Real, const FUSED: bool>(a: T, b: T, c: T) -> T {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// The kernel at the cells that a sample touches along an axis, by Horner's rule in all lanes.
#[inline(always)]
fn kernel<T: Real, const K: usize, const FUSED: bool>(coefficients: &[[T; K]], at: T) -> [T; K] {
    let mut values = [T::default(); K];
    for power in coefficients.iter().rev() {
        for lane in 0..K {
            values[lane] = multiply_add::<T, FUSED>(values[lane], at, power[lane]);
        }
    }
    values
}

/// K complex numbers of `array` from `at` on.
#[inline(always)]
fn stretch<T, const K: usize>(array: &[Complex<T>], at: usize) -> &[Complex<T>; K] {
    array[at..][..K].first_chunk().expect("it has this length")
}

#[inline(always)]
fn stretch_mut<T, const K: usize>(array: &mut [Complex<T>], at: usize) -> &mut [Complex<T>; K] {
    array[at..][..K]
        .first_chunk_mut()
        .expect("it has this length")
}

struct Spread<'a, T> {
    coefficients: &'a [T],
    points: &'a [Point<T>],
    values: &'a [Complex<T>],
    rows: Rows,
    out: &'a mut [Complex<T>],
}

impl<T: Real> Loop for Spread<'_, T> {
    #[inline(always)]
    fn run<const W: usize, const K: usize, const FUSED: bool>(self) {
        let (coefficients, _) = self.coefficients.as_chunks::<K>();
        let Rows {
            start,
            pitch,
            height,
            deep,
        } = self.rows;
        for (point, value) in self.points.iter().zip(self.values) {
            let along_x = kernel::<T, K, FUSED>(coefficients, point.position[0]);
            let along_y = kernel::<T, K, FUSED>(coefficients, point.position[1]);
            let row = along_x.map(|w| value.scale(w));
            let first =
                (point.z as usize * height + point.y as usize) * pitch + (point.x as usize - start);
            let mut plane = |first: usize, weight: T| {
                for y in 0..W {
                    let weight = weight * along_y[y];
                    let out = stretch_mut::<T, K>(self.out, first + y * pitch);
                    for (out, v) in out.iter_mut().zip(&row) {
                        out.re = multiply_add::<T, FUSED>(weight, v.re, out.re);
                        out.im = multiply_add::<T, FUSED>(weight, v.im, out.im);
                    }
                }
            };
            if deep {
                let along_z = kernel::<T, K, FUSED>(coefficients, point.position[2]);
                for z in 0..W {
                    plane(first + z * height * pitch, along_z[z]);
                }
            } else {
                plane(first, T::one());
            }
        }
    }
}

struct Interpolate<'a, T> {
    coefficients: &'a [T],
    points: &'a [Point<T>],
    array: &'a [Complex<T>],
    rows: Rows,
    values: &'a mut [Complex<T>],
}

impl<T: Real> Loop for Interpolate<'_, T> {
    #[inline(always)]
    fn run<const W: usize, const K: usize, const FUSED: bool>(self) {
        let (coefficients, _) = self.coefficients.as_chunks::<K>();
        let Rows {
            start,
            pitch,
            height,
            deep,
        } = self.rows;
        for (point, value) in self.points.iter().zip(self.values) {
            let along_x = kernel::<T, K, FUSED>(coefficients, point.position[0]);
            let along_y = kernel::<T, K, FUSED>(coefficients, point.position[1]);
            let first =
                (point.z as usize * height + point.y as usize) * pitch + (point.x as usize - start);
            let mut sums = [Complex::<T>::default(); K];
            let mut plane = |first: usize, weight: T| {
                for y in 0..W {
                    let weight = weight * along_y[y];
                    let row = stretch::<T, K>(self.array, first + y * pitch);
                    for (sum, v) in sums.iter_mut().zip(row) {
                        sum.re = multiply_add::<T, FUSED>(weight, v.re, sum.re);
                        sum.im = multiply_add::<T, FUSED>(weight, v.im, sum.im);
                    }
                }
            };
            if deep {
                let along_z = kernel::<T, K, FUSED>(coefficients, point.position[2]);
                for z in 0..W {
                    plane(first + z * height * pitch, along_z[z]);
                }
            } else {
                plane(first, T::one());
            }
            let mut total = Complex::default();
            for (sum, w) in sums.iter().zip(along_x) {
                total += sum.scale(w);
            }
            *value = total;
        }
    }
}
