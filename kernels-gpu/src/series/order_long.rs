//! Buckets that no block can hold: how blocks share them.
//!
//! Points are cut into tiles of 4096. A bucket of more points lies over the beginning of a tile, so a tile has points of
//! two such buckets at most: the one at its beginning and the one at its end. The first tile that a long bucket lies over
//! the beginning of is its *slot*: no two buckets have the same, and nobody makes a list.

use super::order_query::{LONG, WINDOW};
use warpstride_device::prelude::*;

/// Places for long buckets, and tiles.
#[inline(always)]
#[must_use]
pub const fn slots(points: usize) -> usize {
    points.div_ceil(LONG as usize)
}

/// What a tile has of a long bucket.
pub(super) struct Part {
    /// Which bucket.
    pub(super) bucket: usize,
    /// Its slot.
    pub(super) slot: usize,
    /// Its first point.
    pub(super) first: u32,
    /// Its points.
    pub(super) n: u32,
    /// Tiles that have some of them.
    pub(super) tiles: u32,
    /// First point in the tile.
    pub(super) from: u32,
    /// Points in the tile.
    pub(super) count: u32,
}

impl Part {
    /// Of the bucket at the tile's beginning (`at_end` 0), or at its end (1) where that is another one.
    ///
    /// # Safety
    /// `tile` lies below the tiles of `points`; `first` and `covering` are those of the points' buckets.
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

/// Whether this block is the last of `blocks` that come here for a slot, whose `done` counts them and is 0 at first.
/// What all of them wrote before is then visible to it. The same in all threads of the block.
///
/// # Safety
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
