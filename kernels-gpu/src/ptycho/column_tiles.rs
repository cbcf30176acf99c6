//! Tiles of 16 neighbouring columns of frames, which the blocks of a step in passes handle.
//!
//! A block keeps to a tile of one mode and goes through the frames. The blocks that run together have all tiles of some
//! frames, whole rows of them. While a block handles one frame, the next one's values are copied to its shared memory
//! (`cp.async`) if columns have 256 values: without, its few warps wait for L2 and device memory more than half of the time.
//!
//! Shared memory, with columns of A B values, each thread of B for a column having the rows B k + t: the exchange of the
//! transform, whose slots ([`Line::slot`]) receive the next frame's values once it is free, if they are copied; the probe in
//! the tile, read once; the object under it, if it is copied; what each warp needs to know of its next frame; the block's
//! tile. Columns of 64 and 128 values have more blocks instead, and those of 512 have a smaller exchange, for real
//! and imaginary parts one after the other, so that there are two blocks a multiprocessor.

use crate::fft::line::Line;
use warpstride_device::prelude::*;

/// Columns of a tile.
pub const WIDTH: u32 = 16;
/// Length of the columns of which the next frame's values and the object are copied ahead.
pub const COPIED: usize = 256;
/// Words of a row of the smaller exchange, between which 16 columns lie: one more than values, so that the two rows of a warp
/// are in different banks.
const ROW: usize = 17;
/// Words of a warp.
const WARP_WORDS: usize = 8;
/// Values that a thread loads together.
const TOGETHER: usize = 8;

/// A column of a tile and its transform.
pub(super) type Column<const A: usize, const B: usize> = Line<A, B, B, { WIDTH as usize }>;

/// Complex numbers of the exchange of columns of `length` values, of which stage 1 has `a` in registers.
const fn exchange(length: usize, a: usize) -> usize {
    if length <= 256 {
        length * WIDTH as usize
    } else {
        a * ROW * WIDTH as usize / 2
    }
}

/// Complex numbers of a block's arrays.
const fn arrays(length: usize, a: usize) -> usize {
    let others = if length == COPIED { 2 } else { 1 };
    exchange(length, a) + others * length * WIDTH as usize
}

/// Bytes of shared memory of a block whose columns have `length` values.
#[must_use]
pub const fn shared_memory(length: usize) -> usize {
    // The words of 8 warps, and of the block.
    arrays(length, 32) * 8 + 8 * 4 * WARP_WORDS + 16
}

/// The thread's number in its column, and its column in the tile.
#[inline(always)]
pub(super) fn place() -> (u32, u32) {
    let index = thread::hidden(thread::thread_idx_x());
    (index / WIDTH, index % WIDTH)
}

/// The tiles of a group of frames.
pub(super) struct Tiles {
    /// The block's shared memory.
    pub(super) memory: *mut Complex32,
    /// exp(−2πi k/rows).
    pub(super) roots: *const Complex32,
    /// (mode, row, column)
    pub(super) probe: *const Complex32,
    pub(super) object: *const Complex32,
    /// Corners of the group's frames.
    pub(super) corners: *const [u32; 2],
    /// Frames of the group.
    pub(super) count: u32,
    pub(super) modes: u32,
    /// Columns of a frame and of the object.
    pub(super) columns: u32,
    pub(super) object_columns: u32,
}

impl Tiles {
    /// Calls `first` with the first frame that the block handles of each of its tiles, and `each` with all of them.
    #[inline(always)]
    pub(super) unsafe fn run<const A: usize, const B: usize>(
        &self,
        first: impl Fn(u32),
        each: impl Fn(u32),
    ) {
        let mut tile = thread::block_idx_x();
        loop {
            let tiles = self.columns / WIDTH;
            // Not 0, so that a division by it is no call.
            let all = (self.modes * tiles).max(1);
            let lanes = (thread::hidden(thread::grid_dim_x()) / all).max(1);
            if tile >= lanes * all {
                return;
            }
            let words = self.words::<A, B>();
            thread::sync_threads();
            if thread::thread_idx_x() == 0 {
                *words = tile % all / tiles.max(1);
                *words.add(1) = tile % all % tiles.max(1) * WIDTH;
                *words.add(2) = lanes;
                // Not in registers, of which the transforms need all.
                *words.add(3) = tile;
            }
            thread::sync_threads();
            self.keep::<A, B>();
            let mut member = tile / all;
            if member < self.count {
                first(member);
            }
            while member < self.count {
                each(member);
                member = self.next::<A, B>(member);
            }
            tile = *self.words::<A, B>().add(3) + thread::grid_dim_x();
        }
    }

    /// The words of the block: mode and first column of its tile, from a frame to its next one, and the tile's number.
    #[inline(always)]
    unsafe fn words<const A: usize, const B: usize>(&self) -> *mut u32 {
        self.warp_words::<A, B>(0).add(8 * WARP_WORDS)
    }

    /// The words of a warp: a corner, a factor and one that is not used, as they are copied; then those of the present frame.
    #[inline(always)]
    unsafe fn warp_words<const A: usize, const B: usize>(&self, warp: usize) -> *mut u32 {
        let words: *mut u32 = self.memory.add(arrays(A * B, A)).cast();
        words.add(warp * WARP_WORDS)
    }

    /// The block's next frame after `member`.
    #[inline(always)]
    pub(super) unsafe fn next<const A: usize, const B: usize>(&self, member: u32) -> u32 {
        member + *self.words::<A, B>().add(2)
    }

    /// The tile's mode.
    #[inline(always)]
    pub(super) unsafe fn mode<const A: usize, const B: usize>(&self) -> u32 {
        *self.words::<A, B>()
    }

    /// The tile's first column.
    #[inline(always)]
    pub(super) unsafe fn first_column<const A: usize, const B: usize>(&self) -> u32 {
        *self.words::<A, B>().add(1)
    }

    #[inline(always)]
    pub(super) unsafe fn column<const A: usize, const B: usize>(&self) -> Column<A, B> {
        let (t, inner) = place();
        Line::new(self.memory.add(inner as usize), self.roots, t as usize)
    }

    /// Stage 1 of the column's transform, after which the exchange is free.
    #[inline(always)]
    pub(super) unsafe fn outer<const A: usize, const B: usize>(&self, x: &mut [Complex32; A]) {
        let (t, inner) = place();
        if A * B <= 256 {
            self.column::<A, B>().outer(x, thread::sync_threads);
        } else {
            let column =
                Line::<A, B, ROW, { WIDTH as usize }>::new(self.memory, self.roots, t as usize);
            let exchange = self.memory.cast::<f32>().add(inner as usize);
            column.outer_in_parts(x, exchange, thread::sync_threads);
        }
        thread::sync_threads();
    }

    /// Where the thread's row t is in an array (frame, mode, row, column), in frame number `frame`.
    #[inline(always)]
    pub(super) unsafe fn start<const A: usize, const B: usize>(&self, frame: u32) -> usize {
        let (t, inner) = place();
        let layer = frame as usize * self.modes as usize + self.mode::<A, B>() as usize;
        let place = t * self.columns + self.first_column::<A, B>() + inner;
        layer * ((A * B) as u32 * self.columns) as usize + place as usize
    }

    /// Where it is on the object, for a frame with this corner; without a frame anything.
    #[inline(always)]
    pub(super) unsafe fn on_object<const A: usize, const B: usize>(
        &self,
        [top, left]: [u32; 2],
    ) -> u32 {
        let (t, inner) = place();
        let row = top.wrapping_add(t).wrapping_mul(self.object_columns);
        row.wrapping_add(left.wrapping_add(self.first_column::<A, B>() + inner))
    }

    /// The thread's row t of the probe in shared memory, where rows are [`WIDTH`] apart; no other thread uses its rows.
    #[inline(always)]
    pub(super) unsafe fn kept_probe<const A: usize, const B: usize>(&self) -> *mut Complex32 {
        let (t, inner) = place();
        let array = self.memory.add(exchange(A * B, A));
        array.add((t * WIDTH + inner) as usize)
    }

    /// The same of the object, if it is copied.
    #[inline(always)]
    pub(super) unsafe fn copied_object<const A: usize, const B: usize>(&self) -> *mut Complex32 {
        self.kept_probe::<A, B>().add(A * B * WIDTH as usize)
    }

    /// Reads the probe in the tile.
    #[inline(always)]
    unsafe fn keep<const A: usize, const B: usize>(&self) {
        let from = self.probe.add(self.start::<A, B>(0));
        let kept = self.kept_probe::<A, B>();
        for group in 0..A / TOGETHER {
            let mut values = [Complex32::ZERO; TOGETHER];
            for u in 0..TOGETHER {
                let row = ((group * TOGETHER + u) * B) as u32;
                values[u] = *from.add((row * self.columns) as usize);
            }
            for u in 0..TOGETHER {
                *kept.add((group * TOGETHER + u) * B * WIDTH as usize) = values[u];
            }
        }
    }

    /// Begins to copy the tile of a layer, from the thread's row t on, to the exchange, if it is copied and `there` is true.
    #[inline(always)]
    pub(super) unsafe fn read_ahead<const A: usize, const B: usize>(
        &self,
        there: bool,
        source: *const Complex32,
    ) {
        let pitch = B as u32 * thread::hidden(self.columns);
        if A * B != COPIED {
            return;
        }
        let column = self.column::<A, B>();
        for n1 in 0..A {
            let from = source.add((n1 as u32 * pitch) as usize);
            mem::copy_complex_ahead(there, column.slot(n1), from);
        }
    }

    /// Begins to copy the object under the tile, from `on_object` on, if it is copied and `there` is true.
    #[inline(always)]
    pub(super) unsafe fn read_object_ahead<const A: usize, const B: usize>(
        &self,
        there: bool,
        on_object: u32,
    ) {
        if A * B != COPIED {
            return;
        }
        let own = self.copied_object::<A, B>();
        let from = self.object.add(on_object as usize);
        let pitch = B as u32 * thread::hidden(self.object_columns);
        for n1 in 0..A {
            let from = from.add((n1 as u32 * pitch) as usize);
            mem::copy_complex_ahead(there, own.add(n1 * B * WIDTH as usize), from);
        }
    }

    /// Begins to copy a frame's corner, if there is such a frame, to where [`Tiles::corner`] finds it.
    #[inline(always)]
    pub(super) unsafe fn read_corner_ahead<const A: usize, const B: usize>(&self, member: u32) {
        self.read_words_ahead::<A, B>(member, 0, self.corners.cast());
    }

    /// Begins to copy a frame's factor, the first of its pair, to where [`Tiles::take_words`] finds it.
    #[inline(always)]
    pub(super) unsafe fn read_factor_ahead<const A: usize, const B: usize>(
        &self,
        member: u32,
        factors: *const [f32; 2],
    ) {
        self.read_words_ahead::<A, B>(member, 2, factors.cast());
    }

    #[inline(always)]
    unsafe fn read_words_ahead<const A: usize, const B: usize>(
        &self,
        member: u32,
        word: usize,
        pairs: *const Complex32,
    ) {
        let index = thread::hidden(thread::thread_idx_x());
        let there = index.is_multiple_of(32) && member < self.count;
        let to = self.warp_words::<A, B>(index as usize / 32).add(word);
        mem::copy_complex_ahead(there, to.cast(), pairs.add(member as usize));
    }

    /// The copied corner; after [`mem::wait_for_copies`] and a barrier of the warp.
    #[inline(always)]
    pub(super) unsafe fn corner<const A: usize, const B: usize>(&self) -> [u32; 2] {
        let index = thread::hidden(thread::thread_idx_x());
        let words = self.warp_words::<A, B>(index as usize / 32);
        [*words, *words.add(1)]
    }

    /// Takes the copied corner and factor for those of the present frame; after [`mem::wait_for_copies`].
    #[inline(always)]
    pub(super) unsafe fn take_words<const A: usize, const B: usize>(&self) {
        let index = thread::hidden(thread::thread_idx_x());
        let words = self.warp_words::<A, B>(index as usize / 32);
        if index.is_multiple_of(32) {
            for word in 0..3 {
                *words.add(4 + word) = *words.add(word);
            }
        }
        warp::sync_warp(warp::FULL);
    }

    /// Corner and factor of the present frame.
    #[inline(always)]
    pub(super) unsafe fn taken<const A: usize, const B: usize>(&self) -> ([u32; 2], f32) {
        let index = thread::hidden(thread::thread_idx_x());
        let words = self.warp_words::<A, B>(index as usize / 32).add(4);
        ([*words, *words.add(1)], f32::from_bits(*words.add(2)))
    }
}
