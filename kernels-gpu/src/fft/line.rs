//! The transform of a line of N = A B values by B threads, which hold A values each in their registers; A is B or 2 B.
//!
//! Let n = B n₁ + n₂ be the index in the line and k₁ + A k₂ the index in its spectrum. The two stages, and what a thread
//! t holds in them, are
//!
//! | stage | transforms | a thread's own index | in registers |
//! |---|---|---|---|
//! | 1 | over n₁ | n₂ = t | n₁, then k₁ |
//! | 2 | over n₂ | k₁ mod B = t | (k₁ div B, n₂), then (k₁ div B, k₂) |
//!
//! Between them the values change threads through [`Line::SLOTS`] complex numbers of shared memory: slot
//! `ROW` k₁ + n₂, `STRIDE` numbers apart. The inverse transform is the conjugate of the forward transform of the
//! conjugate, so that one kernel has both.

use super::registers::{
    on_part, reversed, transform_8, transform_16, transform_32, twisted_8, twisted_16,
};
use warpstride_device::prelude::*;

/// The memory that a line's stages use.
pub struct Line<const A: usize, const B: usize, const ROW: usize, const STRIDE: usize> {
    /// The line's first slot.
    exchange: *mut Complex32,
    /// exp(−2πi k/N) for k = 0 … N − 1.
    roots: *const Complex32,
    /// t
    thread: usize,
}

impl<const A: usize, const B: usize, const ROW: usize, const STRIDE: usize>
    Line<A, B, ROW, STRIDE>
{
    /// Values of the line.
    pub const LENGTH: usize = A * B;
    /// Complex numbers of shared memory, `STRIDE` apart.
    pub const SLOTS: usize = A * ROW;

    /// # Safety
    ///
    /// `exchange` must be the line's [`Line::SLOTS`] numbers in shared memory, which nothing else uses meanwhile, and
    /// `roots` [`Line::LENGTH`] values, exp(−2πi k/N). `thread` is below B, another one for each thread of the line.
    #[inline(always)]
    pub unsafe fn new(exchange: *mut Complex32, roots: *const Complex32, thread: usize) -> Self {
        const { assert!((A == B || A == 2 * B) && (B == 8 || B == 16) && ROW >= B) };
        Self {
            exchange,
            roots,
            thread,
        }
    }

    /// The register of the value B n₁ + t before the transform.
    #[must_use]
    pub const fn register(n1: usize) -> usize {
        reversed(n1, A.trailing_zeros())
    }

    /// How far value `v` is behind value t in the spectrum.
    #[must_use]
    pub const fn spectrum_offset(v: usize) -> usize {
        B * (v / B) + A * (v % B)
    }

    /// The forward transform. `x[register(n₁)]` is the line's value B n₁ + t; the results are the spectrum's values
    /// t + `spectrum_offset(v)`. `barrier` makes the writes of the line's threads visible to each other.
    ///
    /// # Safety
    ///
    /// All threads that `barrier` waits for call it; earlier uses of the slots are complete.
    #[inline(always)]
    pub unsafe fn forward(&self, x: &mut [Complex32; A], barrier: impl Fn()) {
        if A == 8 {
            on_part::<A, 8>(x, 0, transform_8::<false>);
        } else if A == 16 {
            on_part::<A, 16>(x, 0, transform_16::<false>);
        } else {
            on_part::<A, 32>(x, 0, transform_32::<false>);
        }
        let mine = self.exchange.add(self.thread * STRIDE);
        for k1 in 0..A {
            *mine.add(k1 * ROW * STRIDE) = x[k1];
        }
        barrier();
        let line = self.exchange.add(self.thread * ROW * STRIDE);
        for upper in 0..A / B {
            for n2 in 0..B {
                let slot = upper * B * ROW + n2;
                x[upper * B + reversed(n2, B.trailing_zeros())] = *line.add(slot * STRIDE);
            }
        }
        for upper in 0..A / B {
            let k1 = self.thread + B * upper;
            let power = |p: u32| *self.roots.add(k1 * p as usize);
            if B == 8 {
                on_part::<A, 8>(x, 8 * upper, |x| twisted_8::<false>(x, power));
            } else {
                on_part::<A, 16>(x, 16 * upper, |x| twisted_16::<false>(x, power));
            }
        }
    }
}
