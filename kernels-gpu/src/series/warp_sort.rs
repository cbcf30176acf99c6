//! Sorts keys in the registers of a warp, `K` in each lane; sorted, lane l holds those from l·K on.
//!
//! Each lane sorts its own keys by a network; then runs of 2, 4, 8, 16 and 32 lanes are merged bitonically: keys of
//! two lanes are exchanged by a shuffle, those of one lane in registers. With K = 16 a key is shuffled 15 times; a
//! bitonic sort with keys dealt to the lanes in turn takes 35.

use super::order;
use super::sorting_network::{Merged, Registers};
use warpstride_device::prelude::*;

/// The lesser of two keys, or the greater.
#[inline(always)]
fn pick(mine: u64, other: u64, lesser: bool) -> u64 {
    if (other < mine) == lesser {
        other
    } else {
        mine
    }
}

/// Keys of `n` values, in any order, followed by padding keys.
///
/// # Safety
///
/// The first `n` of `values` must be valid for reads; n ≥ 1.
#[inline(always)]
pub(super) unsafe fn load<const K: usize>(values: *const f64, n: u32) -> [u64; K] {
    let lane = warp::lane_id();
    let mut keys = [0; K];
    for j in 0..K {
        let at = j as u32 * warp::SIZE + lane;
        let value = *values.add(at.min(n - 1) as usize);
        keys[j] = if at < n { order::key(value) } else { u64::MAX };
    }
    keys
}

/// Sorts the keys.
///
/// # Safety
///
/// All lanes of the warp call it together.
#[inline(always)]
pub(super) unsafe fn sort<const K: usize>(keys: &mut [u64; K])
where
    [u64; K]: Registers + Merged,
{
    let lane = warp::lane_id();
    keys.sort();
    let mut lanes = 2;
    while lanes <= warp::SIZE {
        // The second half of the run is reversed.
        let lower = lane & (lanes / 2) == 0;
        for j in 0..K / 2 {
            let (a, b) = (keys[j], keys[K - 1 - j]);
            let meets_a = warp::shuffle_xor(warp::FULL, b, lanes - 1);
            let meets_b = warp::shuffle_xor(warp::FULL, a, lanes - 1);
            keys[j] = pick(a, meets_a, lower);
            keys[K - 1 - j] = pick(b, meets_b, lower);
        }
        merge(keys, lanes / 4);
        lanes *= 2;
    }
}

/// Sorts runs of 2·`lanes` lanes, each of which first falls and then rises, or the reverse; `lanes` is a power of two
/// or 0.
///
/// # Safety
///
/// All lanes of the warp call it together.
#[inline(always)]
pub(super) unsafe fn merge<const K: usize>(keys: &mut [u64; K], mut lanes: u32)
where
    [u64; K]: Registers + Merged,
{
    let lane = warp::lane_id();
    while lanes > 0 {
        let lower = lane & lanes == 0;
        for j in 0..K {
            let other = warp::shuffle_xor(warp::FULL, keys[j], lanes);
            keys[j] = pick(keys[j], other, lower);
        }
        lanes /= 2;
    }
    keys.merge();
}

/// The key of rank `rank`, in every lane.
///
/// # Safety
///
/// All lanes of the warp call it together, with the same rank.
#[inline(always)]
pub(super) unsafe fn at<const K: usize>(keys: &[u64; K], rank: u32) -> u64 {
    let mut key = keys[0];
    for j in 1..K {
        if rank % K as u32 == j as u32 {
            key = keys[j];
        }
    }
    warp::shuffle_idx(warp::FULL, key, rank / K as u32)
}
