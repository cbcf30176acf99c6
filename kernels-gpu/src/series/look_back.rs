//! How many heads lie before a tile, asked of the tiles before it while they are still at work.
//!
//! Each tile tells how many it has as soon as it knows, and how many there are up to its end as soon as it knows that;
//! a tile adds what those before it tell, back to the first that knows the whole (decoupled look-back: D. Merrill and
//! M. Garland, NVIDIA Technical Report NVR-2016-002). Tiles are taken in their order ([`super::tile`]), so whoever waits,
//! waits for blocks that are running. Whole numbers: the result does not depend on who told what when.

use warpstride_device::prelude::*;

/// A tile knows its own count.
const OWN: u64 = 1 << 62;
/// A tile knows the count up to its end.
const WHOLE: u64 = 1 << 63;
/// Where the class of lengths stands.
const CLASS_SHIFT: u32 = 40;

/// Heads, and the greatest class of their buckets' lengths.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub(super) count: u32,
    pub(super) class: u32,
}

impl Heads {
    #[inline(always)]
    fn word(self) -> u64 {
        u64::from(self.class) << CLASS_SHIFT | u64::from(self.count)
    }

    #[inline(always)]
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            class: self.class.max(other.class),
        }
    }
}

/// Tells the count of tile `tile`; of the first tile it is the whole.
///
/// # Safety
/// `told` has an entry for each tile, zero before the launch; called once a tile, by one thread.
#[inline(always)]
pub(super) unsafe fn tell_own(told: *mut u64, tile: u32, heads: Heads) {
    let kind = if tile == 0 { WHOLE } else { OWN };
    // SAFETY: the caller's.
    unsafe { atomic::store_u64(told.add(tile as usize), kind | heads.word()) };
}

/// Tells the count up to the end of tile `tile`.
///
/// # Safety
/// As [`tell_own`].
#[inline(always)]
pub(super) unsafe fn tell_whole(told: *mut u64, tile: u32, heads: Heads) {
    // SAFETY: the caller's.
    unsafe { atomic::store_u64(told.add(tile as usize), WHOLE | heads.word()) };
}

/// Heads of all tiles before `tile`, to every lane.
///
/// # Safety
/// As [`tell_own`]; all lanes of the warp are here, and every tile before was taken by a block.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub(super) unsafe fn before(told: *mut u64, tile: u32) -> Heads {
    let lane = warp::lane_id();
    let mut sum = Heads { count: 0, class: 0 };
    let mut end = tile;
    loop {
        // Lane 0 asks the nearest. Before the first there is nothing, and that is known.
        let mut word = WHOLE;
        if lane < end {
            // SAFETY: a tile before this one.
            word = unsafe { atomic::load_u64(told.add((end - 1 - lane) as usize)) };
        }
        // SAFETY: all lanes are here.
        let silent = unsafe { warp::ballot(warp::FULL, word == 0) };
        // SAFETY: as above.
        let whole = unsafe { warp::ballot(warp::FULL, word & WHOLE != 0) };
        // Lanes below the nearest that knows the whole; all if none does.
        if silent & (whole.wrapping_sub(1) & !whole) != 0 {
            continue;
        }
        if lane <= whole.trailing_zeros() {
            sum = sum.and(Heads {
                count: word as u32,
                class: (word >> CLASS_SHIFT) as u32 & 7,
            });
        }
        if whole != 0 {
            break;
        }
        end -= warp::SIZE;
    }
    // SAFETY: all lanes are here.
    unsafe {
        Heads {
            count: warp::sum_u32(warp::FULL, sum.count),
            class: warp::max_u32(warp::FULL, sum.class),
        }
    }
}
