//! A block that works on tiles: its warps, and its shared memory.

use super::short_bucket::staged_at;
use super::tile::{Noted, OWN, STRIP, STRIPS, TILE, WORDS};
use super::tile_heads::{Heads, RUN};
use super::told::{Added, Told};
use warpstride_device::prelude::*;

/// Threads of a block: a warp for each of a tile's strips, and one more.
pub const BLOCK: u32 = (STRIPS + 1) * warp::SIZE;
/// The warp that has no strip.
pub(super) const LAST: u32 = STRIPS;
#[cfg(not(target_arch = "nvptx64"))]
/// Bytes of shared memory.
pub(super) const SHARED: usize = size_of::<Shared>();
/// Instead of a tile where there is none.
pub(super) const NONE: u32 = u32::MAX;
/// Pairs of values that a tile stages, and room behind them for who looks too far.
const STAGED: usize = staged_at(TILE) as usize / 2 + 8;

/// Pairs of timestamps as they are staged.
const TIMES: usize = pair_at(TILE / 2) as usize;

/// Where pair `pair` of a tile's timestamps is staged: neighbouring lanes, which have four each, use different banks.
pub(super) const fn pair_at(pair: u32) -> u32 {
    pair + pair / 8
}

/// What a block knows of a tile.
#[repr(C)]
pub(super) struct Found {
    /// Heads, in pairs of words.
    pub(super) heads: [u64; WORDS as usize / 2],
    /// (strip), the number of the bucket that its first point lies in; then less the heads of the strips before.
    pub(super) numbers: [u64; STRIPS as usize],
    /// (strip), heads.
    pub(super) of_strips: [u32; STRIPS as usize],
    /// Those of the last strip that the tile has.
    pub(super) own_of_last: u32,
    /// All heads, and those that the tile has.
    pub(super) counts: [u32; 2],
    /// Buckets before the tile.
    pub(super) before: u32,
    /// The first series that begins in the tile, and the first that begins behind it.
    pub(super) series: [u32; 2],
}

/// Shared memory of a block, by the steps in which tiles are found.
#[repr(C, align(16))]
pub(super) struct Shared {
    /// Values of two tiles.
    pub(super) values: [[F64x2; STAGED]; 2],
    /// Timestamps of the next tile: each warp has its own.
    pub(super) times: [U64x2; TIMES],
    /// (strip), the timestamp before.
    pub(super) times_before: [u64; STRIPS as usize + 1],
    /// Of some, more than two, since warps may be ahead.
    pub(super) found: [Found; 4],
    /// Buckets of two tiles ([`Noted`]).
    pub(super) noted: [[u16; TILE as usize]; 2],
    /// Tickets, of which the next is one.
    pub(super) next: [u32; 2],
    /// The last ticket of all blocks.
    pub(super) last: u32,
    /// Where this launch's words of [`Told`] begin.
    pub(super) told: u32,
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
    /// Heads of the strips before one, and those that the tile has. For a whole warp.
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

    /// Notes heads and how many there are; tells the lane's marks ([`Noted::marks`]).
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
        Noted::marks(up_to - count, heads.number.wrapping_sub(first), heads)
    }

    /// Notes where a tile's buckets are that was found in the step before, and how many lie before them. For one warp.
    /// `of_tile`: (tile + 1), first series.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn place(
        this: *mut Self,
        of_tile: *const u32,
        tile: u32,
        told: Told,
        added: &mut Added,
    ) {
        let lane = warp::lane_id();
        let series = mem::load_ahead(lane < 2, of_tile.wrapping_add((tile + lane) as usize));
        let before = told.before(tile, added);
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

/// The thread's warp, lane, and place in its block; asked anew wherever they are needed, so that what follows from them
/// takes no register in between.
#[inline(always)]
pub(super) fn warp_and_lane() -> (u32, u32) {
    let thread = index_in_block();
    (thread / warp::SIZE, thread % warp::SIZE)
}

/// As [`warp_and_lane`].
#[inline(always)]
pub(super) fn index_in_block() -> u32 {
    thread::hidden(thread::thread_idx_x())
}
