//! Tiles of 16 neighbouring columns of frames, which the blocks of a step in passes handle.
//!
//! A block keeps to a tile of one mode and goes through the frames. The blocks that run together have all tiles of some
//! frames, whole rows of them. While a block handles one frame, the next one's values are copied to its shared memory
//! (`cp.async`): without, its few warps wait for L2 and device memory more than half of the time.
//!
//! Shared memory, with columns of A B values, each thread of B for a column having the rows B k + t: the exchange of the
//! transform, whose slots ([`Line::slot`]) receive the next frame's values once it is free; up to [`KEPT`] rows the probe
//! in the tile, read once, and the object under it; what each warp needs to know of its next frame; the block's tile.

use crate::fft::line::Line;
use warpstride_device::prelude::*;

/// Columns of a tile.
pub const WIDTH: u32 = 16;
/// Longest column of which a block has probe and object in shared memory.
pub const KEPT: usize = 256;
/// Values that a thread loads together.
const TOGETHER: usize = 8;

/// A column of a tile and its transform.
pub(super) type Column<const A: usize, const B: usize> = Line<A, B, B, { WIDTH as usize }>;

/// Bytes of shared memory of a block whose columns have `length` values.
#[must_use]
pub const fn shared_memory(length: usize) -> usize {
    let arrays = if length <= KEPT { 3 } else { 1 };
    // The words of 8 warps, and of the block.
    arrays * length * WIDTH as usize * 8 + 8 * 16 + 16
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
        let tiles = self.columns / WIDTH;
        // Not 0, so that a division by it is no call.
        let all = (self.modes * tiles).max(1);
        let lanes = (thread::grid_dim_x() / all).max(1);
        for tile in thread::block_stride(lanes * all) {
            let words = self.words::<A, B>();
            thread::sync_threads();
            if thread::thread_idx_x() == 0 {
                *words = tile % all / tiles.max(1);
                *words.add(1) = tile % all % tiles.max(1) * WIDTH;
                *words.add(2) = lanes;
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
        }
    }

    /// The words of the block: mode and first column of its tile, and from a frame to its next one.
    #[inline(always)]
    unsafe fn words<const A: usize, const B: usize>(&self) -> *mut u32 {
        self.warp_words::<A, B>(0).add(8 * 4)
    }

    /// The words of a warp: a corner, a factor, and one that is not used.
    #[inline(always)]
    unsafe fn warp_words<const A: usize, const B: usize>(&self, warp: usize) -> *mut u32 {
        let arrays = if A * B <= KEPT { 3 } else { 1 };
        let words: *mut u32 = self.memory.add(arrays * A * B * WIDTH as usize).cast();
        words.add(warp * 4)
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

    /// Where the thread finds its row t of the probe, and how far each row is behind the one before.
    #[inline(always)]
    pub(super) unsafe fn probe<const A: usize, const B: usize>(&self) -> (*const Complex32, u32) {
        if A * B <= KEPT {
            (self.own::<A, B>(1), WIDTH)
        } else {
            (self.probe.add(self.start::<A, B>(0)), self.columns)
        }
    }

    /// The thread's row t in array number `array` of the shared memory; no other thread uses its rows.
    #[inline(always)]
    pub(super) unsafe fn own<const A: usize, const B: usize>(
        &self,
        array: usize,
    ) -> *mut Complex32 {
        let (t, inner) = place();
        let array = self.memory.add(array * A * B * WIDTH as usize);
        array.add((t * WIDTH + inner) as usize)
    }

    /// Reads the probe in the tile, if it is kept.
    #[inline(always)]
    unsafe fn keep<const A: usize, const B: usize>(&self) {
        if A * B > KEPT {
            return;
        }
        let from = self.probe.add(self.start::<A, B>(0));
        let kept = self.own::<A, B>(1);
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

    /// Begins to copy the tile of a layer, from the thread's row t on, to the exchange, if `there` is true.
    #[inline(always)]
    pub(super) unsafe fn read_ahead<const A: usize, const B: usize>(
        &self,
        there: bool,
        source: *const Complex32,
    ) {
        let column = self.column::<A, B>();
        let pitch = B as u32 * thread::hidden(self.columns);
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
        if A * B > KEPT {
            return;
        }
        let own = self.own::<A, B>(2);
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

    /// Begins to copy a frame's factor, the first of its pair, to where [`Tiles::factor`] finds it.
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

    /// The copied factor; likewise.
    #[inline(always)]
    pub(super) unsafe fn factor<const A: usize, const B: usize>(&self) -> f32 {
        let index = thread::hidden(thread::thread_idx_x());
        f32::from_bits(*self.warp_words::<A, B>(index as usize / 32).add(2))
    }
}
