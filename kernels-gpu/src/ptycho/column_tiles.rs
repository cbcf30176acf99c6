//! Tiles of 16 neighbouring columns of frames, which the blocks of a step in passes handle.
//!
//! A block keeps to a tile of one mode and goes through the frames. The blocks that run together have all tiles of some
//! frames, whole rows of them. What a warp needs to know of its next frame, corner and factor, is copied to shared memory
//! ahead (`cp.async`), because the addresses of all other loads depend on it.
//!
//! Shared memory, with columns of A B values, each thread of B for a column having the rows B k + t: the exchange of the
//! transform; the probe in the tile, read once, up to [`KEPT`] rows; the words of each warp; those of the block.

use crate::fft::line::Line;
use warpstride_device::prelude::*;

/// Columns of a tile.
pub const WIDTH: u32 = 16;
/// Longest column of which a block has the probe in shared memory; with longer ones there would be one block a
/// multiprocessor.
pub const KEPT: usize = 256;
/// Words of a warp.
const WARP_WORDS: usize = 8;
/// Values that a thread loads together.
const TOGETHER: usize = 8;

/// A column of a tile and its transform.
pub(super) type Column<const A: usize, const B: usize> = Line<A, B, B, { WIDTH as usize }>;

/// Complex numbers of a block's arrays.
const fn arrays(length: usize) -> usize {
    let arrays = if length <= KEPT { 2 } else { 1 };
    arrays * length * WIDTH as usize
}

/// Bytes of shared memory of a block whose columns have `length` values.
#[must_use]
pub const fn shared_memory(length: usize) -> usize {
    // The words of 8 warps, and of the block.
    arrays(length) * 8 + 8 * 4 * WARP_WORDS + 16
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

/// What a kernel does with the frames of a tile. Not closures, which the compiler does not inline if they are long.
pub(super) trait TileKernel<const A: usize, const B: usize> {
    /// Begins with the first frame that the block handles of a tile.
    unsafe fn begin(&self, member: u32);

    /// Handles one frame.
    unsafe fn handle(&self, member: u32);
}

impl Tiles {
    /// Calls `kernel` with the frames that the block handles, tile after tile.
    #[inline(always)]
    pub(super) unsafe fn run<const A: usize, const B: usize>(
        &self,
        kernel: &impl TileKernel<A, B>,
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
                kernel.begin(member);
            }
            while member < self.count {
                kernel.handle(member);
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
        let words: *mut u32 = self.memory.add(arrays(A * B)).cast();
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

    /// Where the thread's row t is in an array (frame, mode, row, column), in frame number `frame`.
    #[inline(always)]
    pub(super) unsafe fn start<const A: usize, const B: usize>(&self, frame: u32) -> usize {
        let (t, inner) = place();
        let layer = frame as usize * self.modes as usize + self.mode::<A, B>() as usize;
        let place = t * self.columns + self.first_column::<A, B>() + inner;
        layer * ((A * B) as u32 * self.columns) as usize + place as usize
    }

    /// Where it is on the object, for a frame with this corner.
    #[inline(always)]
    pub(super) unsafe fn on_object<const A: usize, const B: usize>(
        &self,
        [top, left]: [u32; 2],
    ) -> u32 {
        let (t, inner) = place();
        (top + t) * self.object_columns + left + self.first_column::<A, B>() + inner
    }

    /// Where the thread finds its row t of the probe, and how far each row is behind the one before. No other thread uses its
    /// rows in shared memory.
    #[inline(always)]
    pub(super) unsafe fn probe<const A: usize, const B: usize>(&self) -> (*const Complex32, u32) {
        if A * B <= KEPT {
            (self.kept::<A, B>(), WIDTH)
        } else {
            let start = self.start::<A, B>(0);
            (self.probe.add(start), thread::recomputed(self.columns))
        }
    }

    #[inline(always)]
    unsafe fn kept<const A: usize, const B: usize>(&self) -> *mut Complex32 {
        let (t, inner) = place();
        let array = self.memory.add(A * B * WIDTH as usize);
        array.add((t * WIDTH + inner) as usize)
    }

    /// Reads the probe in the tile, if it is kept.
    #[inline(always)]
    unsafe fn keep<const A: usize, const B: usize>(&self) {
        if A * B > KEPT {
            return;
        }
        let from = self.probe.add(self.start::<A, B>(0));
        let kept = self.kept::<A, B>();
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
