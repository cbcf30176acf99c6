//! Sums and maxima over a warp or a block, in a fixed order: the same values give the same bits.
//!
//! A warp adds by halves (lane i and lane i + 16, then i + 8 …); a block adds its warps' results
//! by halves again. All threads get the result, and all must call. Any block size is right (the
//! emulator's may be no multiple of a warp).

use crate::warp::{self, Shuffle};
use crate::{Complex32, shared_array, thread};

const WARPS: usize = 32;

/// By halves over the lanes that the warp has; every lane gets the result.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
fn over_lanes<T: Shuffle>(value: T, lanes: u32, combine: impl Fn(T, T) -> T) -> T {
    #[cfg(target_arch = "nvptx64")]
    {
        let lane = warp::lane_id();
        let mut value = value;
        let mut offset = warp::SIZE / 2;
        while offset > 0 {
            // SAFETY: all lanes of the warp are here, as the callers ask of theirs.
            let other = unsafe { warp::shuffle_down(warp::FULL, value, offset) };
            if lanes == warp::SIZE || lane + offset < lanes {
                value = combine(value, other);
            }
            offset /= 2;
        }
        // SAFETY: as above.
        unsafe { warp::shuffle_idx(warp::FULL, value, 0) }
    }
    // One exchange, then the same additions in every lane.
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let exchanged = crate::emulator::warp_exchange("reduce", warp::FULL, value.to_bits());
        let mut values: [T; WARPS] = exchanged.values.map(T::from_bits);
        let lanes = lanes as usize;
        let mut offset = WARPS / 2;
        while offset > 0 {
            for lane in 0..offset.min(lanes.saturating_sub(offset)) {
                values[lane] = combine(values[lane], values[lane + offset]);
            }
            offset /= 2;
        }
        values[0]
    }
}

#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
fn over_block<T: Shuffle>(value: T, scratch: *mut T, combine: impl Fn(T, T) -> T) -> T {
    let warps = thread::block_threads().div_ceil(warp::SIZE);
    let (warp_id, lane, lanes) = (warp::warp_id(), warp::lane_id(), warp::lanes());
    let value = over_lanes(value, lanes, &combine);
    if warps == 1 {
        return value;
    }
    if lane == 0 {
        // SAFETY: warp_id is below 32, the scratch array's length; one lane of each warp writes.
        unsafe { *scratch.add(warp_id as usize) = value };
    }
    thread::sync_threads();
    #[cfg_attr(
        target_arch = "nvptx64",
        expect(unused_mut, reason = "for partial warps")
    )]
    let mut total = if lanes == warp::SIZE {
        // SAFETY: within the array; entries below `warps` were written before the barrier.
        let of_warp = unsafe { *scratch.add(lane.min(warps - 1) as usize) };
        over_lanes(of_warp, warps, &combine)
    } else {
        value
    };
    // A last warp with fewer lanes than there are warps could not gather all results itself.
    #[cfg(not(target_arch = "nvptx64"))]
    if !thread::block_threads().is_multiple_of(warp::SIZE) {
        if warp_id == 0 && lane == 0 {
            // SAFETY: entry `WARPS` of the array is for the total; one thread writes it.
            unsafe { *scratch.add(WARPS) = total };
        }
        thread::sync_threads();
        // SAFETY: written before the barrier.
        total = unsafe { *scratch.add(WARPS) };
    }
    thread::sync_threads();
    total
}

/// Sum over the lanes of the warp.
///
/// # Safety
/// All lanes of the warp must call it together.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn warp_sum(value: f32) -> f32 {
    over_lanes(value, warp::lanes(), |a, b| a + b)
}

/// Largest value over the lanes of the warp.
///
/// # Safety
/// As [`warp_sum`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn warp_max(value: f32) -> f32 {
    over_lanes(value, warp::lanes(), f32::max)
}

/// Sum over the block; every thread gets it.
///
/// # Safety
/// All threads of the block must call it together (it contains barriers).
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn block_sum(value: f32) -> f32 {
    over_block(value, shared_array![f32; WARPS + 1], |a, b| a + b)
}

/// Largest value over the block; every thread gets it.
///
/// # Safety
/// As [`block_sum`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn block_max(value: f32) -> f32 {
    over_block(value, shared_array![f32; WARPS + 1], f32::max)
}

/// Two sums over the block at the price of one; every thread gets them.
///
/// # Safety
/// As [`block_sum`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn block_sum_pair(a: f32, b: f32) -> (f32, f32) {
    let sums = over_block(
        Complex32::new(a, b),
        shared_array![Complex32; WARPS + 1],
        |x, y| x + y,
    );
    (sums.re, sums.im)
}

/// Sum over the block in double precision; every thread gets it.
///
/// # Safety
/// As [`block_sum`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn block_sum_f64(value: f64) -> f64 {
    over_block(value, shared_array![f64; WARPS + 1], |a, b| a + b)
}
