//! What kernels over the values of object and probe share: which values a block has, and sums over a block.
//!
//! The first blocks have `share` values of the object each, those behind them `share` of the probe.

use warpstride_device::prelude::*;

/// The most warps of a block.
const WARPS: usize = 32;
/// The most sums of a block.
const SUMS: usize = 5;

/// The values of a block.
pub(super) struct Part {
    /// Whether they are of the probe, or of the object.
    pub(super) of_probe: bool,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// How many blocks have values; `share` is not 0.
#[inline(always)]
pub(super) fn parts(share: u32, [object, probe]: [u32; 2]) -> u32 {
    object.div_ceil(share) + probe.div_ceil(share)
}

/// The values of the block with this number; none beyond the last one. `share` is not 0.
#[inline(always)]
pub(super) fn part(block: u32, share: u32, [object, probe]: [u32; 2]) -> Part {
    let of_object = object.div_ceil(share);
    let of_probe = block >= of_object;
    let (number, length) = if of_probe {
        (block - of_object, probe)
    } else {
        (block, object)
    };
    let from = number.saturating_mul(share).min(length);
    Part {
        of_probe,
        from,
        to: from.saturating_add(share).min(length),
    }
}

/// At most [`SUMS`] sums over the block with two barriers for all of them; every thread gets them. All threads of the block
/// call it.
#[inline(always)]
pub(super) unsafe fn block_sums<const N: usize>(mut own: [f64; N]) -> [f64; N] {
    let sums: *mut [f64; N] = shared_array![f64; WARPS * SUMS].cast();
    for n in 0..N {
        own[n] = reduce::warp_sum_f64(own[n]);
    }
    if warp::lane_id() == 0 {
        *sums.add(warp::warp_id() as usize) = own;
    }
    thread::sync_threads();
    let mut total = [0.0; N];
    for w in 0..thread::block_threads().div_ceil(32) as usize {
        let of_warp = *sums.add(w);
        for n in 0..N {
            total[n] += of_warp[n];
        }
    }
    // The next sums use the same memory.
    thread::sync_threads();
    total
}
