//! Vectors of single and double precision under one name.

use pulp::{Arch, Simd, WithSimd};
use warpstride_fft::Real;

/// A precision whose loops can be compiled for every vector instruction set.
pub(super) trait Arithmetic: Real {
    /// Numbers in the vectors that hold at least `count`, on this CPU.
    fn numbers(count: usize) -> usize;

    /// Runs a loop with this CPU's vectors.
    fn dispatch(work: impl SimdLoop<Self>);
}

/// A precision in the vectors of one instruction set.
pub(super) trait Vectors<S: Simd>: Arithmetic {
    type Vector: bytemuck::Pod;
    /// Numbers in a vector.
    const LANES: usize;

    fn splat(simd: S, value: Self) -> Self::Vector;
    fn multiply(simd: S, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// ab + c.
    fn multiply_add(simd: S, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// The whole vectors of a slice.
    fn vectors(numbers: &[Self]) -> &[Self::Vector];
    /// The whole vectors of a slice.
    fn vectors_mut(numbers: &mut [Self]) -> &mut [Self::Vector];
}

/// A loop over samples.
pub(super) trait SimdLoop<T> {
    /// Numbers in the vectors of a row.
    fn numbers(&self) -> usize;

    /// Runs the loop with V vectors per row.
    fn run<S: Simd, const V: usize>(self, simd: S)
    where
        T: Vectors<S>;
}

/// Numbers of vectors per row for which there is code; the largest is 2 · 16 scalars.
const COUNTS: [usize; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 16, 32];

macro_rules! arithmetic {
    ($real:ty, $vector:ident, $lanes:ident, $run:ident, $splat:ident, $mul:ident, $mul_add:ident, $as:ident, $as_mut:ident) => {
        impl<S: Simd> Vectors<S> for $real {
            type Vector = S::$vector;
            const LANES: usize = S::$lanes;

            #[inline(always)]
            fn splat(simd: S, value: Self) -> Self::Vector {
                simd.$splat(value)
            }
            #[inline(always)]
            fn multiply(simd: S, a: Self::Vector, b: Self::Vector) -> Self::Vector {
                simd.$mul(a, b)
            }
            #[inline(always)]
            fn multiply_add(
                simd: S,
                a: Self::Vector,
                b: Self::Vector,
                c: Self::Vector,
            ) -> Self::Vector {
                simd.$mul_add(a, b, c)
            }
            #[inline(always)]
            fn vectors(numbers: &[Self]) -> &[Self::Vector] {
                S::$as(numbers).0
            }
            #[inline(always)]
            fn vectors_mut(numbers: &mut [Self]) -> &mut [Self::Vector] {
                S::$as_mut(numbers).0
            }
        }

        impl Arithmetic for $real {
            fn numbers(count: usize) -> usize {
                struct Width;
                impl WithSimd for Width {
                    type Output = usize;
                    fn with_simd<S: Simd>(self, _: S) -> usize {
                        S::$lanes
                    }
                }
                let lanes = Arch::new().dispatch(Width);
                let vectors = count.div_ceil(lanes);
                let available = COUNTS.into_iter().find(|available| *available >= vectors);
                available.unwrap_or(vectors) * lanes
            }

            fn dispatch(work: impl SimdLoop<Self>) {
                Arch::new().dispatch($run(work));
            }
        }

        struct $run<L>(L);

        impl<L: SimdLoop<$real>> WithSimd for $run<L> {
            type Output = ();

            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) {
                match self.0.numbers() / S::$lanes {
                    1 => self.0.run::<S, 1>(simd),
                    2 => self.0.run::<S, 2>(simd),
                    3 => self.0.run::<S, 3>(simd),
                    4 => self.0.run::<S, 4>(simd),
                    5 => self.0.run::<S, 5>(simd),
                    6 => self.0.run::<S, 6>(simd),
                    7 => self.0.run::<S, 7>(simd),
                    8 => self.0.run::<S, 8>(simd),
                    16 if S::$lanes <= 2 => self.0.run::<S, 16>(simd),
                    32 if S::$lanes == 1 => self.0.run::<S, 32>(simd),
                    _ => unreachable!("numbers() gives counts that there is code for"),
                }
            }
        }
    };
}

// The `_e` forms are fused if the instruction set has it, otherwise a product and a sum.
arithmetic!(
    f32,
    f32s,
    F32_LANES,
    Singles,
    splat_f32s,
    mul_f32s,
    mul_add_e_f32s,
    as_simd_f32s,
    as_mut_simd_f32s
);
arithmetic!(
    f64,
    f64s,
    F64_LANES,
    Doubles,
    splat_f64s,
    mul_f64s,
    mul_add_e_f64s,
    as_simd_f64s,
    as_mut_simd_f64s
);
