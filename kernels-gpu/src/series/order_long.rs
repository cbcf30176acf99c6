//! Buckets that are too long for one block, and how blocks share them.
//!
//! Points are divided into tiles of 4096. A longer bucket covers the beginning of a tile, so a tile has points of at
//! most two such buckets: one at its beginning and one at its end. The first tile whose beginning a long bucket
//! covers is its *slot*. No two buckets have the same slot, so no list of them is needed.

use super::order_query::{LONG, WINDOW};
use warpstride_device::prelude::*;

/// The number of slots for long buckets, which is the number of tiles.
#[inline(always)]
#[must_use]
pub const fn slots(points: usize) -> usize {
    points.div_ceil(LONG as usize)
}

/// A tile's part of a long bucket.
pub(super) struct Part {
    /// The bucket's number.
    pub(super) bucket: usize,
    /// Its slot.
    pub(super) slot: usize,
    /// The bucket's first point.
    pub(super) first: u32,
    /// The bucket's number of points.
    pub(super) n: u32,
    /// The number of tiles that have points of it.
    pub(super) tiles: u32,
    /// Its first point in the tile.
    pub(super) from: u32,
    /// Its number of points in the tile.
    pub(super) count: u32,
}

impl Part {
    /// The part of the bucket at the tile's beginning (`at_end` 0), or of a different one at its end (1).
    ///
    /// # Safety
    ///
    /// `tile` must be less than the number of tiles of `points`; `first` and `covering` must describe the points'
    /// buckets.
    #[inline(always)]
    pub(super) unsafe fn of(
        tile: u32,
        at_end: u32,
        points: u32,
        first: *const u32,
        covering: *const u32,
    ) -> Option<Self> {
        let begin = tile * LONG;
        let end = points.min(begin.saturating_add(LONG));
        let at = if at_end == 0 { begin } else { end };
        if at >= points {
            return None;
        }
        let bucket = *covering.add((at / WINDOW) as usize) as usize;
        let (lo, hi) = (*first.add(bucket), *first.add(bucket + 1));
        if hi - lo <= LONG || at_end == 1 && lo <= begin {
            return None;
        }
        let (from, to) = (lo.max(begin), hi.min(end));
        (from < to).then(|| Self {
            bucket,
            slot: lo.div_ceil(LONG) as usize,
            first: lo,
            n: hi - lo,
            tiles: (hi - 1) / LONG - lo / LONG + 1,
            from,
            count: to - from,
        })
    }
}

/// Whether this block is the last of the `blocks` that call this for a slot; `done` counts them and must be 0 before.
/// What all of them wrote before the call is then visible to it. The result is the same in all threads of the block.
///
/// # Safety
///
/// All threads of the block call it together.
#[inline(always)]
pub(super) unsafe fn is_last(done: *mut u32, blocks: u32) -> bool {
    let last = shared_array![u32; 1];
    thread::device_fence();
    thread::sync_threads();
    if thread::index_in_block() == 0 {
        *last = u32::from(atomic::fetch_add_u32(done, 1) + 1 == blocks);
    }
    thread::sync_threads();
    thread::device_fence();
    *last == 1
}
