//! The transform of a line of N = A B values by B threads, 8 or 16, which hold A values each in their registers.
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
//! `ROW` k₁ + n₂, `STRIDE` numbers apart. If A is no multiple of B, a thread does stage 2 for one k₁ after another, and the
//! last threads have one less. The inverse transform is the conjugate of the forward transform of the
//! conjugate, so that one kernel has both.

use super::mixed_radix::{self, digit_reversed};
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
        const { assert!((B == 8 || B == 16) && ROW >= B) };
        Self {
            exchange,
            roots,
            thread,
        }
    }

    /// The register of the value B n₁ + t before the transform.
    #[must_use]
    pub const fn register(n1: usize) -> usize {
        if A.is_power_of_two() {
            reversed(n1, A.trailing_zeros())
        } else {
            digit_reversed::<A>(n1)
        }
    }

    /// How far value `v` is behind value t in the spectrum.
    #[must_use]
    pub const fn spectrum_offset(v: usize) -> usize {
        B * (v / B) + A * (v % B)
    }

    /// The forward transform, if A is a multiple of B. `x[register(n₁)]` is the line's value B n₁ + t; the results are the
    /// spectrum's values t + `spectrum_offset(v)`. `barrier` makes the writes of the line's threads visible to each other.
    ///
    /// # Safety
    ///
    /// All threads that `barrier` waits for call it; earlier uses of the slots are complete.
    #[inline(always)]
    pub unsafe fn forward(&self, x: &mut [Complex32; A], barrier: impl Fn()) {
        const { assert!(A.is_multiple_of(B)) };
        self.stage_1(x, barrier);
        self.stage_2(x);
    }

    /// The forward transform for every A; `x` and `barrier` as for [`Line::forward`]. `store(first, offset, value)` gets
    /// the spectrum's value t + `offset`, with the `first` that `place` gives after a stage 2; nothing is stored if it
    /// gives `None`.
    ///
    /// # Safety
    ///
    /// The same as for [`Line::forward`].
    #[inline(always)]
    pub unsafe fn forward_to<P>(
        &self,
        x: &mut [Complex32; A],
        barrier: impl Fn(),
        place: impl Fn() -> Option<P>,
        store: impl Fn(&P, usize, Complex32),
    ) {
        self.stage_1(x, barrier);
        if A.is_multiple_of(B) {
            self.stage_2(x);
            if let Some(first) = place() {
                for v in 0..A {
                    store(&first, Self::spectrum_offset(v), x[v]);
                }
            }
            return;
        }
        for upper in 0..A.div_ceil(B) {
            if B * (upper + 1) <= A || self.thread + B * upper < A {
                let mut y = [Complex32::ZERO; B];
                self.read(upper, &mut y, 0);
                self.transform_read(upper, &mut y, 0);
                if let Some(first) = place() {
                    for v in 0..B {
                        store(&first, Self::spectrum_offset(B * upper + v), y[v]);
                    }
                }
            }
        }
    }

    /// Stage 1, and the writes of its results.
    #[inline(always)]
    unsafe fn stage_1(&self, x: &mut [Complex32; A], barrier: impl Fn()) {
        if A == 8 {
            on_part::<A, 8>(x, 0, transform_8::<false>);
        } else if A == 16 {
            on_part::<A, 16>(x, 0, transform_16::<false>);
        } else if A == 32 {
            on_part::<A, 32>(x, 0, transform_32::<false>);
        } else {
            mixed_radix::transform(x);
        }
        let mine = self.exchange.add(self.thread * STRIDE);
        for k1 in 0..A {
            *mine.add(k1 * ROW * STRIDE) = x[k1];
        }
        barrier();
    }

    /// Stage 2, if A is a multiple of B: all reads first.
    #[inline(always)]
    unsafe fn stage_2(&self, x: &mut [Complex32; A]) {
        for upper in 0..A / B {
            self.read(upper, x, B * upper);
        }
        for upper in 0..A / B {
            self.transform_read(upper, x, B * upper);
        }
    }

    /// Reads the values of k₁ = B `upper` + t into `y`, from `first` on.
    #[inline(always)]
    unsafe fn read<const Y: usize>(&self, upper: usize, y: &mut [Complex32; Y], first: usize) {
        let line = self.exchange.add(self.thread * ROW * STRIDE);
        for n2 in 0..B {
            let slot = upper * B * ROW + n2;
            y[first + reversed(n2, B.trailing_zeros())] = *line.add(slot * STRIDE);
        }
    }

    /// Transforms what [`Line::read`] has read, over n₂.
    #[inline(always)]
    unsafe fn transform_read<const Y: usize>(
        &self,
        upper: usize,
        y: &mut [Complex32; Y],
        first: usize,
    ) {
        let k1 = self.thread + B * upper;
        let power = |p: u32| *self.roots.add(k1 * p as usize);
        if B == 8 {
            on_part::<Y, 8>(y, first, |y| twisted_8::<false>(y, power));
        } else {
            on_part::<Y, 16>(y, first, |y| twisted_16::<false>(y, power));
        }
    }
}
