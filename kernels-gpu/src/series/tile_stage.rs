//! Copies timestamps and values of a tile to shared memory without passing through registers.

use super::short_bucket::staged_at;
use super::tile::{STRIP, STRIPS, TILE};
use super::tile_block::{BLOCK, Shared, index_in_block, pair_at, warp_and_lane};
use super::tile_heads::{RUN, Run};
use warpstride_device::prelude::*;

/// Begins to copy the warp's timestamps of a tile that begins with point `begin` and has `loaded` points, and the
/// timestamp before them.
///
/// # Safety
///
/// `times` must have the points, and the warp must have finished with the previous timestamps.
#[inline(always)]
pub(super) unsafe fn times(times: *const u64, shared: *mut Shared, begin: u32, loaded: u32) {
    const TO: usize = 16 * pair_at(warp::SIZE) as usize;
    const FROM: usize = 16 * warp::SIZE as usize;
    let (warp, lane) = warp_and_lane();
    if warp >= STRIPS {
        return;
    }
    let strip = warp * STRIP;
    let staged = (&raw mut (*shared).times).cast::<F64x2>();
    let mut pair = strip / 2 + lane;
    if strip + STRIP <= loaded {
        let to = staged.wrapping_add(pair_at(pair) as usize);
        let from = times.wrapping_add((begin + 2 * pair) as usize).cast();
        mem::copy_pair_to_shared::<0, 0>(to, from);
        mem::copy_pair_to_shared::<TO, FROM>(to, from);
        mem::copy_pair_to_shared::<{ 2 * TO }, { 2 * FROM }>(to, from);
        mem::copy_pair_to_shared::<{ 3 * TO }, { 3 * FROM }>(to, from);
    } else {
        while 2 * pair < loaded.min(strip + STRIP) {
            let to = staged.wrapping_add(pair_at(pair) as usize);
            let from = times.wrapping_add((begin + 2 * pair) as usize);
            if 2 * pair + 1 < loaded {
                mem::copy_pair_to_shared::<0, 0>(to, from.cast());
            } else {
                mem::copy_to_shared(to.cast(), from.cast());
            }
            pair += warp::SIZE;
        }
    }
    if lane == 0 && strip < loaded && begin + strip > 0 {
        let to = (&raw mut (*shared).times_before).cast::<f64>();
        let from = times.add((begin + strip - 1) as usize);
        mem::copy_to_shared(to.add(warp as usize), from.cast());
    }
}

/// The lane's timestamps, and their number.
///
/// # Safety
///
/// The copies that [`times`] began must be visible to all lanes of the warp.
#[inline(always)]
pub(super) unsafe fn run(shared: *const Shared, begin: u32, loaded: u32) -> (Run, u32) {
    let staged = (&raw const (*shared).times).cast::<U64x2>();
    let place = RUN * index_in_block();
    let mut run = Run::NOTHING;
    let mut there = RUN;
    if place + RUN <= loaded {
        // Neighbouring pairs.
        let from = staged.add(pair_at(place / 2) as usize);
        for pair in 0..RUN as usize / 2 {
            let U64x2([a, b]) = *from.add(pair);
            run.times[2 * pair] = a;
            run.times[2 * pair + 1] = b;
        }
    } else {
        there = loaded.saturating_sub(place);
        if there != 0 {
            // The last point takes the place of missing points.
            for k in 0..RUN {
                let point = place + k.min(there - 1);
                let from = staged.add(pair_at(point / 2) as usize).cast::<u64>();
                run.times[k as usize] = *from.add((point % 2) as usize);
            }
        }
    }
    if there != 0 && place.is_multiple_of(STRIP) && begin + place > 0 {
        let before = (&raw const (*shared).times_before).cast::<u64>();
        run.before = *before.add((place / STRIP) as usize);
    }
    (run, there)
}

/// Begins to copy the tile's values.
///
/// # Safety
///
/// `values` must have the points, and the block must have finished with what was staged before.
#[inline(always)]
pub(super) unsafe fn values(values: *const f64, staged: *mut f64, begin: u32, loaded: u32) {
    const STEP: u32 = 2 * BLOCK;
    const TO: usize = 8 * staged_at(STEP) as usize;
    const FROM: usize = 8 * STEP as usize;
    let mut place = 2 * index_in_block();
    if loaded == TILE {
        let from = values.add((begin + place) as usize).cast();
        let to = staged.add(staged_at(place) as usize).cast();
        mem::copy_pair_to_shared::<0, 0>(to, from);
        mem::copy_pair_to_shared::<TO, FROM>(to, from);
        mem::copy_pair_to_shared::<{ 2 * TO }, { 2 * FROM }>(to, from);
        if place + 3 * STEP < TILE {
            mem::copy_pair_to_shared::<{ 3 * TO }, { 3 * FROM }>(to, from);
        }
        return;
    }
    while place < loaded {
        let from = values.add((begin + place) as usize);
        let to = staged.add(staged_at(place) as usize);
        if place + 1 < loaded {
            mem::copy_pair_to_shared::<0, 0>(to.cast(), from.cast());
        } else {
            mem::copy_to_shared(to, from);
        }
        place += STEP;
    }
}
