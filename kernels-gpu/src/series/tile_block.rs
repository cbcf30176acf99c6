//! A block that works on tiles: its warps, and its shared memory.

use super::short_bucket::staged_at;
use super::tile::{STRIPS, TILE, WORDS};
use warpstride_device::prelude::*;
#[cfg(not(target_arch = "nvptx64"))]
use warpstride_device::thread::Vec3;

#[cfg(not(target_arch = "nvptx64"))]
/// Lanes and warps of a block.
pub const BLOCK: Vec3<u32> = Vec3 {
    x: warp::SIZE,
    y: LEADER + 1,
    z: 1,
};
/// The warp that asks the tiles before.
pub(super) const LEADER: u32 = 13;
/// The warp that counts a tile's buckets: one without a strip.
pub(super) const COUNTER: u32 = LEADER - 1;
/// Threads of all warps but the leader.
pub(super) const WORKERS: u32 = LEADER * warp::SIZE;
/// Values that they begin to copy together.
pub(super) const STAGED_STEP: u32 = 2 * WORKERS;
const _: () = assert!(STRIPS <= COUNTER && TILE > 3 * STAGED_STEP && TILE <= 4 * STAGED_STEP);

/// Tiles whose buckets the block knows at once: three, and one that other warps may be ahead.
const SLOTS: usize = 4;
/// Instead of a tile where there is none.
pub(super) const NONE: u32 = u32::MAX;
/// Where there is nothing left to reduce either.
pub(super) const END: u32 = NONE - 1;

/// Values of a tile as they are staged, and room behind them for who looks too far.
const STAGED: usize = staged_at(TILE) as usize + 16;
/// Bytes of what is found in a tile: [`Found`].
const FOUND: usize = (2 * TILE + 4 * WORDS + 8 * STRIPS) as usize;
#[cfg(not(target_arch = "nvptx64"))]
/// Bytes of shared memory: values of two tiles, what was found in [`SLOTS`], and the numbers of two.
pub(super) const SHARED: usize = 2 * 8 * STAGED + SLOTS * (FOUND + size_of::<Place>()) + 8;

/// The thread's warp; asked anew wherever it is needed, so that what follows from it takes no register in between.
#[inline(always)]
pub(super) fn warp() -> u32 {
    thread::hidden(thread::thread_idx_y())
}

/// The thread's number, as [`warp`].
#[inline(always)]
pub(super) fn index_in_block() -> u32 {
    thread::hidden(thread::thread_idx_x()) + warp::SIZE * warp()
}

/// Where a tile's buckets are among all.
#[repr(C)]
pub(super) struct Place {
    /// The tile, or [`NONE`].
    pub(super) tile: u32,
    /// The class of its longest bucket.
    pub(super) class: u32,
    /// Own heads before each word of them.
    pub(super) before_word: [u32; WORDS as usize],
    /// Own heads before each strip, then those of the tile, then more than there can be.
    pub(super) before_strip: [u32; 16],
    /// Buckets before the tile.
    pub(super) before: u32,
    /// The first series that begins in the tile, and the first that begins behind it.
    pub(super) series: [u32; 2],
}

/// What is found in a tile.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// (strip), the number of the bucket that its first point lies in.
    pub(super) numbers: *mut u64,
    /// (word), heads and the end of points.
    pub(super) heads: *mut u32,
    /// (strip, bucket), as [`Strip::found`] has them.
    pub(super) buckets: *mut u16,
}

/// The block's shared memory, by the steps in which tiles are found.
#[derive(Clone, Copy)]
pub(super) struct Shared(*mut u8);

impl Shared {
    /// The block's.
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self(shared::dynamic_shared_mem())
    }

    /// Values of the tile.
    #[inline(always)]
    pub(super) fn staged(self, step: u32) -> *mut f64 {
        let staged = self.0.cast::<f64>();
        staged.wrapping_add((step % 2) as usize * STAGED)
    }

    /// What is found in the tile.
    #[inline(always)]
    pub(super) fn found(self, step: u32) -> Found {
        let found = self.0.wrapping_add(2 * 8 * STAGED);
        let numbers = found
            .wrapping_add(step as usize % SLOTS * FOUND)
            .cast::<u64>();
        let heads = numbers.wrapping_add(STRIPS as usize).cast::<u32>();
        Found {
            numbers,
            heads,
            buckets: heads.wrapping_add(WORDS as usize).cast::<u16>(),
        }
    }

    /// The tile's place.
    #[inline(always)]
    pub(super) fn place(self, step: u32) -> *mut Place {
        let places = self.0.wrapping_add(2 * 8 * STAGED + SLOTS * FOUND);
        places.cast::<Place>().wrapping_add(step as usize % SLOTS)
    }

    /// The tile's number.
    #[inline(always)]
    pub(super) fn tile(self, step: u32) -> *mut u32 {
        let behind = self
            .0
            .wrapping_add(2 * 8 * STAGED + SLOTS * (FOUND + size_of::<Place>()));
        behind.cast::<u32>().wrapping_add((step % 2) as usize)
    }
}
