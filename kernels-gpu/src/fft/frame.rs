//! The two-dimensional transform of a square frame by one block, or by a cluster of blocks
//! ([`super::cluster_frame`]), whose threads hold the frame in their registers, 32 values each.
//!
//! A frame has 32 A rows and as many columns and needs 32 A² threads: 64² with A = 2, 128² with A = 4. Let
//! r = A n₁ + n₂ be the row, c = A² m₁ + m₂ the column, k₁ + 32 k₂ the spectrum's row and l₁ + B l₂ its column, with
//! B = 32/A. The three stages, and what a thread holds in them, are
//!
//! | stage | transforms | a thread's own index | in registers |
//! |---|---|---|---|
//! | 1 | over n₁ | n₂, c | n₁, then k₁ |
//! | 2 | over n₂ and m₁ | k₁, m₂ | (n₂, m₁), then (k₂, l₁) |
//! | 3 | over m₂ | upper part of k₁, k₂, l₁ | (lower part of k₁, m₂), then (lower part of k₁, l₂) |
//!
//! The lower part of k₁ is k₁ mod 32/A². The inverse transform goes back through the same stages and ends where the
//! forward one began. Between stages 1 and 2 values change threads across the block, between 2 and 3 within a warp. Both
//! go through the same [`GroupFrame::WORDS`] words of shared memory, real parts first, then imaginary parts. With rows of
//! 33 A words the lanes of stage 2 read from different banks, and a warp's part is 32 rows of 33 words, in which it
//! transposes without bank conflicts. All offsets are constants.

use super::registers::{
    on_part, reversed, transform_2, transform_4, transform_8, transform_16, transform_32,
    twisted_2, twisted_4, twisted_8, twisted_16, twisted_32,
};
use core::marker::PhantomData;
use warpstride_device::prelude::*;

/// Values of a thread.
pub const VALUES: usize = 32;
/// Words of a row of a warp's transposition.
pub const WARP_ROW: usize = 33;

/// The register (n₂, m₁) of stage 2, each in reversed order.
pub(super) const fn register<const A: usize>(n2: usize, m1: usize) -> usize {
    let values = 32 / A;
    values * reversed(n2, A.trailing_zeros()) + reversed(m1, values.trailing_zeros())
}

/// A thread's values.
pub type Values = [Complex32; VALUES];

/// The threads that transform a frame together, and how values change between them.
pub trait Group {
    /// Words of shared memory that a block needs for frames of 32 A rows.
    const WORDS: [usize; 5];

    /// The thread's index in the group, below 32 A². The compiler knows nothing of it, so that it computes addresses
    /// where they are needed and does not keep them in registers meanwhile.
    fn thread<const A: usize>() -> usize;

    /// 32 rows of [`WARP_ROW`] words for every warp of the block.
    ///
    /// # Safety
    ///
    /// `memory` has the group's words for A.
    unsafe fn rows_of_warp<const A: usize>(memory: *mut f32) -> *mut f32;

    /// From the registers k₁ of stage 1 to the registers (n₂, m₁), each in reversed order, of stage 2.
    ///
    /// # Safety
    ///
    /// `memory` has the group's words for A; all threads of the group call it.
    unsafe fn outer_to_inner<const A: usize>(memory: *mut f32, x: &Values, y: &mut Values);

    /// From the registers (n₂, m₁) of stage 2 to the registers k₁, in reversed order, of stage 1.
    ///
    /// # Safety
    ///
    /// The same as for [`Group::outer_to_inner`].
    unsafe fn inner_to_outer<const A: usize>(memory: *mut f32, y: &Values, x: &mut Values);
}

/// One block.
pub struct Block;

/// The transform by one block.
pub type Frame<const A: usize> = GroupFrame<A, Block>;

/// The memory that the stages of a frame of 32 A × 32 A values use; A is 2 or 4.
pub struct GroupFrame<const A: usize, G> {
    /// [`GroupFrame::WORDS`] words of shared memory.
    memory: *mut f32,
    /// exp(−2πi k/SIDE) for k = 0 … SIDE − 1.
    roots: *const Complex32,
    group: PhantomData<G>,
}

impl<const A: usize, G: Group> GroupFrame<A, G> {
    /// Rows and columns.
    pub const SIDE: usize = 32 * A;
    /// Pixels.
    pub const PIXELS: usize = Self::SIDE * Self::SIDE;
    /// Threads of the group.
    pub const THREADS: usize = 32 * A * A;
    /// Words of a block's shared memory.
    pub const WORDS: usize = G::WORDS[A];
    /// Values that the columns' transforms of stage 2 have.
    const B: usize = 32 / A;
    /// Values that the transforms of stage 3 have.
    const C: usize = A * A;

    /// # Safety
    ///
    /// `memory` must be [`GroupFrame::WORDS`] words of shared memory, which nothing else uses meanwhile, and `roots`
    /// [`GroupFrame::SIDE`] values, exp(−2πi k/SIDE). All [`GroupFrame::THREADS`] threads of the group take part in every
    /// call.
    #[inline(always)]
    pub unsafe fn new(memory: *mut f32, roots: *const Complex32) -> Self {
        const { assert!(A == 2 || A == 4) };
        Self {
            memory,
            roots,
            group: PhantomData,
        }
    }

    /// The row of the thread's first value before the forward and after the inverse transform, and the column of
    /// all of them. Value n is A n rows below the first.
    #[inline(always)]
    #[must_use]
    pub fn place(&self) -> (usize, usize) {
        let thread = Self::thread();
        (thread / Self::SIDE, thread % Self::SIDE)
    }

    /// The (row, column) of the thread's first value in the spectrum. Value v is (v div A²) rows below and
    /// B (v mod A²) columns to the right.
    #[inline(always)]
    #[must_use]
    pub fn spectrum_place(&self) -> (usize, usize) {
        let thread = Self::thread();
        let (warp, lane) = (thread / 32, thread % 32);
        (
            warp * (32 / Self::C) + 32 * (lane / Self::B),
            lane % Self::B,
        )
    }

    /// Offset of value `v` from the first in a spectrum of (row, column).
    #[inline(always)]
    #[must_use]
    pub const fn spectrum_offset(v: usize) -> usize {
        v / Self::C * Self::SIDE + v % Self::C * Self::B
    }

    #[inline(always)]
    fn thread() -> usize {
        G::thread::<A>()
    }

    /// exp(∓2πi power/SIDE)
    #[inline(always)]
    unsafe fn root<const INVERSE: bool>(&self, power: usize) -> Complex32 {
        let root = *self.roots.add(power % Self::SIDE);
        if INVERSE { root.conj() } else { root }
    }

    /// The forward transform. `x[reversed(n, 5)]` is the value of row A n + n₂; the results are the spectrum's values
    /// of [`GroupFrame::spectrum_place`].
    ///
    /// # Safety
    ///
    /// All threads of the block call it; earlier uses of the shared memory are complete.
    #[inline(always)]
    pub unsafe fn forward(&self, x: &mut Values) {
        transform_32::<false>(x);
        let mut y = [Complex32::ZERO; VALUES];
        G::outer_to_inner::<A>(self.memory, x, &mut y);
        // Register (n₂, m₁), each in reversed order.
        let k1 = Self::thread() / Self::C;
        for m1 in 0..Self::B {
            let power = |p: u32| self.root::<false>(k1 * p as usize);
            if A == 2 {
                let mut pair = [y[m1], y[Self::B + m1]];
                twisted_2::<false>(&mut pair, power);
                [y[m1], y[Self::B + m1]] = pair;
            } else {
                let mut four = [y[m1], y[8 + m1], y[16 + m1], y[24 + m1]];
                twisted_4::<false>(&mut four, power);
                [y[m1], y[8 + m1], y[16 + m1], y[24 + m1]] = four;
            }
        }
        for k2 in 0..A {
            if A == 2 {
                on_part::<VALUES, 16>(&mut y, 16 * k2, transform_16::<false>);
            } else {
                on_part::<VALUES, 8>(&mut y, 8 * k2, transform_8::<false>);
            }
        }
        self.transpose::<true>(&mut y, x);
        let l1 = Self::thread() % Self::B;
        for line in 0..VALUES / Self::C {
            let power = |p: u32| self.root::<false>(l1 * p as usize);
            if A == 2 {
                on_part::<VALUES, 4>(x, 4 * line, |x| twisted_4::<false>(x, power));
            } else {
                on_part::<VALUES, 16>(x, 16 * line, |x| twisted_16::<false>(x, power));
            }
        }
    }

    /// The inverse transform, unnormalised, of values as [`GroupFrame::forward`] leaves them; `x[n]` becomes the value of
    /// row A n + n₂.
    ///
    /// # Safety
    ///
    /// The same as for [`GroupFrame::forward`].
    #[inline(always)]
    pub unsafe fn inverse(&self, x: &mut Values) {
        for line in 0..VALUES / Self::C {
            if A == 2 {
                reverse_part::<4>(x, 4 * line);
                on_part::<VALUES, 4>(x, 4 * line, transform_4::<true>);
            } else {
                reverse_part::<16>(x, 16 * line);
                on_part::<VALUES, 16>(x, 16 * line, transform_16::<true>);
            }
        }
        let mut y = [Complex32::ZERO; VALUES];
        self.transpose::<false>(x, &mut y);
        let m2 = Self::thread() % Self::C;
        for k2 in 0..A {
            let power = |p: u32| self.root::<true>(m2 * p as usize);
            if A == 2 {
                reverse_part::<16>(&mut y, 16 * k2);
                on_part::<VALUES, 16>(&mut y, 16 * k2, |x| twisted_16::<true>(x, power));
            } else {
                reverse_part::<8>(&mut y, 8 * k2);
                on_part::<VALUES, 8>(&mut y, 8 * k2, |x| twisted_8::<true>(x, power));
            }
        }
        for m1 in 0..Self::B {
            if A == 2 {
                let mut pair = [y[m1], y[Self::B + m1]];
                transform_2::<true>(&mut pair);
                [y[m1], y[Self::B + m1]] = pair;
            } else {
                let mut four = [y[m1], y[16 + m1], y[8 + m1], y[24 + m1]];
                transform_4::<true>(&mut four);
                [y[m1], y[8 + m1], y[16 + m1], y[24 + m1]] = four;
            }
        }
        G::inner_to_outer::<A>(self.memory, &y, x);
        let n2 = Self::thread() / Self::SIDE;
        twisted_32::<true>(x, |p| self.root::<true>(n2 * p as usize));
    }

    /// Transposes registers and lanes of the warp. `FORWARD`: from registers (k₂, l₁) to registers (lower part of k₁,
    /// m₂), m₂ in reversed order; otherwise from registers (lower part of k₁, m₂) to (k₂, l₁).
    #[inline(always)]
    unsafe fn transpose<const FORWARD: bool>(&self, from: &mut Values, to: &mut Values) {
        let region = G::rows_of_warp::<A>(self.memory);
        let lane = Self::thread() % 32;
        // A register of stage 2 is a row, a lane of stage 2 a column.
        let along_rows = region.add(lane);
        let along_columns = region.add(lane * WARP_ROW);
        for part in 0..2 {
            warp::sync_warp(warp::FULL);
            for v in 0..VALUES {
                let value = if part == 0 { from[v].re } else { from[v].im };
                if FORWARD {
                    *along_rows.add(v * WARP_ROW) = value;
                } else {
                    *along_columns.add(v) = value;
                }
            }
            warp::sync_warp(warp::FULL);
            for v in 0..VALUES {
                let (value, place) = if FORWARD {
                    let bits = Self::C.trailing_zeros();
                    let place = v / Self::C * Self::C + reversed(v % Self::C, bits);
                    (*along_columns.add(v), place)
                } else {
                    (*along_rows.add(v * WARP_ROW), v)
                };
                if part == 0 {
                    to[place].re = value;
                } else {
                    to[place].im = value;
                }
            }
        }
    }
}

impl Block {
    /// Words of a row of the exchange between stages 1 and 2.
    const fn row(a: usize) -> usize {
        33 * a
    }

    /// Words of shared memory.
    const fn words(a: usize) -> usize {
        32 * a * Self::row(a)
    }

    /// Where a thread of stage 1 and one of stage 2 find their first word.
    #[inline(always)]
    unsafe fn exchanges<const A: usize>(memory: *mut f32) -> (*mut f32, *mut f32) {
        let (side, row, c) = (32 * A, Self::row(A), A * A);
        let thread = Self::thread::<A>();
        (
            memory.add(thread / side * row + thread % side),
            memory.add(thread / c * A * row + thread % c),
        )
    }
}

impl Group for Block {
    const WORDS: [usize; 5] = [0, 0, Self::words(2), 0, Self::words(4)];

    #[inline(always)]
    fn thread<const A: usize>() -> usize {
        thread::hidden(thread::thread_idx_x()) as usize
    }

    #[inline(always)]
    unsafe fn rows_of_warp<const A: usize>(memory: *mut f32) -> *mut f32 {
        memory.add(Self::thread::<A>() / 32 * (32 * WARP_ROW))
    }

    #[inline(always)]
    unsafe fn outer_to_inner<const A: usize>(memory: *mut f32, x: &Values, y: &mut Values) {
        let (outer, inner) = Self::exchanges::<A>(memory);
        for k1 in 0..VALUES {
            *outer.add(k1 * A * Self::row(A)) = x[k1].re;
        }
        thread::sync_threads();
        for n2 in 0..A {
            for m1 in 0..32 / A {
                y[register::<A>(n2, m1)].re = *inner.add(n2 * Self::row(A) + A * A * m1);
            }
        }
        thread::sync_threads();
        for k1 in 0..VALUES {
            *outer.add(k1 * A * Self::row(A)) = x[k1].im;
        }
        thread::sync_threads();
        for n2 in 0..A {
            for m1 in 0..32 / A {
                y[register::<A>(n2, m1)].im = *inner.add(n2 * Self::row(A) + A * A * m1);
            }
        }
    }

    #[inline(always)]
    unsafe fn inner_to_outer<const A: usize>(memory: *mut f32, y: &Values, x: &mut Values) {
        let (outer, inner) = Self::exchanges::<A>(memory);
        warp::sync_warp(warp::FULL);
        for n2 in 0..A {
            for m1 in 0..32 / A {
                *inner.add(n2 * Self::row(A) + A * A * m1) = y[32 / A * n2 + m1].re;
            }
        }
        thread::sync_threads();
        for k1 in 0..VALUES {
            x[reversed(k1, 5)].re = *outer.add(k1 * A * Self::row(A));
        }
        thread::sync_threads();
        for n2 in 0..A {
            for m1 in 0..32 / A {
                *inner.add(n2 * Self::row(A) + A * A * m1) = y[32 / A * n2 + m1].im;
            }
        }
        thread::sync_threads();
        for k1 in 0..VALUES {
            x[reversed(k1, 5)].im = *outer.add(k1 * A * Self::row(A));
        }
    }
}

/// Puts `R` of the values, from `first` on, in reversed order.
#[inline(always)]
fn reverse_part<const R: usize>(values: &mut Values, first: usize) {
    let mut part = [Complex32::ZERO; R];
    for v in 0..R {
        part[reversed(v, R.trailing_zeros())] = values[first + v];
    }
    values[first..first + R].copy_from_slice(&part);
}
