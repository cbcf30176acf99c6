//! A block that processes tiles: its warps and its shared memory.

use super::lookback::{Added, TilePrefix};
use super::short_bucket::staged_at;
use super::tile::{Noted, OWN, STRIP, STRIPS, TILE, WORDS};
use super::tile_heads::{Heads, RUN};
use warpstride_device::prelude::*;

/// Threads of a block: a warp for each strip of a tile, and one more.
pub const BLOCK: u32 = (STRIPS + 1) * warp::SIZE;
/// The warp without a strip.
pub(super) const LAST: u32 = STRIPS;
/// Bytes of shared memory.
pub(super) const SHARED: usize = size_of::<Shared>();
/// Stands for the absence of a tile.
pub(super) const NONE: u32 = u32::MAX;
/// Pairs of values that a tile stages, with padding for reads beyond the end.
const STAGED: usize = staged_at(TILE) as usize / 2 + 8;

/// Pairs of timestamps as they are staged.
const TIMES: usize = pair_at(TILE / 2) as usize;

/// Position of pair `pair` of a tile's timestamps: neighbouring lanes, which read four pairs each, use different
/// banks.
pub(super) const fn pair_at(pair: u32) -> u32 {
    pair + pair / 8
}

/// What a block has found out about a tile.
#[repr(C)]
pub(super) struct Found {
    /// Heads, in pairs of words.
    pub(super) heads: [u64; WORDS as usize / 2],
    /// (strip), the number of the bucket of its first point; later reduced by the heads of earlier strips.
    pub(super) numbers: [u64; STRIPS as usize],
    /// (strip), number of heads.
    pub(super) of_strips: [u32; STRIPS as usize],
    /// Heads of the last strip that the tile owns.
    pub(super) own_of_last: u32,
    /// The number of all heads, and of those that the tile owns.
    pub(super) counts: [u32; 2],
    /// Buckets before the tile.
    pub(super) before: u32,
    /// The first series that begins in the tile, and the first that begins after it.
    pub(super) series: [u32; 2],
}

/// Shared memory of a block, in the order of the steps.
#[repr(C, align(16))]
pub(super) struct Shared {
    /// Values of two tiles.
    pub(super) values: [[F64x2; STAGED]; 2],
    /// Timestamps of the next tile; each warp has its own.
    pub(super) times: [U64x2; TIMES],
    /// (strip), the timestamp before its first point.
    pub(super) times_before: [u64; STRIPS as usize + 1],
    /// Results for several tiles, more than two because warps may run ahead.
    pub(super) found: [Found; 4],
    /// Buckets of two tiles ([`Noted`]).
    pub(super) noted: [[u16; TILE as usize]; 2],
    /// Tickets: the current and the next one alternate.
    pub(super) next: [u32; 2],
    /// The last ticket of all blocks.
    pub(super) last: u32,
    /// Where this launch's words of [`TilePrefix`] begin.
    pub(super) lookback: u32,
}

impl Shared {
    #[inline(always)]
    pub(super) unsafe fn values(this: *mut Self, step: u32) -> *mut f64 {
        let values = (&raw mut (*this).values).cast::<[F64x2; STAGED]>();
        values.add((step % 2) as usize).cast()
    }

    #[inline(always)]
    pub(super) unsafe fn noted(this: *mut Self, step: u32) -> *mut u16 {
        let noted = (&raw mut (*this).noted).cast::<[u16; TILE as usize]>();
        noted.add((step % 2) as usize).cast()
    }

    #[inline(always)]
    pub(super) unsafe fn found(this: *mut Self, step: u32) -> *mut Found {
        (&raw mut (*this).found)
            .cast::<Found>()
            .add((step % 4) as usize)
    }

    #[inline(always)]
    pub(super) unsafe fn next(this: *mut Self, step: u32) -> *mut u32 {
        (&raw mut (*this).next)
            .cast::<u32>()
            .add((step % 2) as usize)
    }
}

impl Found {
    /// The heads of the strips before `strip`, and those that the tile owns. A whole warp calls it.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn count(this: *const Self, strip: u32) -> (u32, u32) {
        let lane = warp::lane_id();
        let mut count = 0;
        if lane < STRIPS {
            count = *(&raw const (*this).of_strips)
                .cast::<u32>()
                .add(lane as usize);
        }
        let before = warp::sum_u32(warp::FULL, if lane < strip { count } else { 0 });
        let own = warp::sum_u32(warp::FULL, if lane < STRIPS - 1 { count } else { 0 });
        (before, own + (*this).own_of_last)
    }

    /// Records heads and their number; returns the lane's packed word ([`Noted::packed`]).
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn note_heads(this: *mut Self, place: u32, heads: Heads) -> u32 {
        let lane = warp::lane_id();
        let strip = place / STRIP;
        let bytes = (&raw mut (*this).heads).cast::<u8>();
        *bytes.add((place / 8) as usize) = heads.bits as u8;
        let count = heads.bits.count_ones();
        let mut up_to = count;
        for step in 0..5 {
            let below = warp::shuffle_up(warp::FULL, up_to, 1 << step);
            if lane >= 1 << step {
                up_to += below;
            }
        }
        if lane == warp::SIZE - 1 {
            *(&raw mut (*this).of_strips)
                .cast::<u32>()
                .add(strip as usize) = up_to;
        }
        if place + RUN == OWN {
            (*this).own_of_last = up_to;
        }
        if lane == 0 {
            let numbers = (&raw mut (*this).numbers).cast::<u64>();
            *numbers.add(strip as usize) = heads.number;
        }
        let first = warp::shuffle_idx(warp::FULL, heads.number, 0);
        Noted::packed(up_to - count, heads.number.wrapping_sub(first), heads)
    }

    /// Records where the buckets of the tile found in the previous step are, and how many precede them. One warp
    /// calls it. `of_tile`: (tile + 1), first series.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn place(
        this: *mut Self,
        of_tile: *const u32,
        tile: u32,
        lookback: TilePrefix,
        added: &mut Added,
    ) {
        let lane = warp::lane_id();
        let series = mem::load_ahead(lane < 2, of_tile.wrapping_add((tile + lane) as usize));
        let before = lookback.before(tile, added);
        let mut count = 0;
        if lane < STRIPS {
            count = *(&raw const (*this).of_strips)
                .cast::<u32>()
                .add(lane as usize);
        }
        let mut up_to = count;
        for step in 0..3 {
            let below = warp::shuffle_up(warp::FULL, up_to, 1 << step);
            if lane >= 1 << step {
                up_to += below;
            }
        }
        if lane < STRIPS {
            let number = (&raw mut (*this).numbers).cast::<u64>().add(lane as usize);
            *number = (*number).wrapping_sub(u64::from(up_to - count));
        }
        if lane == STRIPS - 1 {
            (*this).counts = [up_to, up_to - count + (*this).own_of_last];
            (*this).before = before;
        }
        if lane < 2 {
            *(&raw mut (*this).series).cast::<u32>().add(lane as usize) = series;
        }
    }
}

/// The thread's warp, lane, and index in its block. Callers ask again wherever they need them, so that derived values
/// occupy no register in between.
#[inline(always)]
pub(super) fn warp_and_lane() -> (u32, u32) {
    let thread = index_in_block();
    (thread / warp::SIZE, thread % warp::SIZE)
}

/// The thread's index in its block; see [`warp_and_lane`].
#[inline(always)]
pub(super) fn index_in_block() -> u32 {
    thread::hidden(thread::thread_idx_x())
}
