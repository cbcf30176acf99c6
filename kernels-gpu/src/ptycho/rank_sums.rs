//! Sums over the arrays of several ranks, for scans whose frames are divided among devices.
//!
//! A thread adds elements of all arrays: of an element it reads 8 `ranks` bytes and writes 8 in fixed point, 12 and 12 otherwise. Block of 256:
//! independent threads, little state; in fixed point they load two elements of each array together.

use warpstride_device::prelude::*;

/// Elements that a thread loads together.
const TOGETHER: usize = 2;

/// `to[i] = Σ all[rank · elements + i]` in fixed point (`ptycho::fixed_point`): exact, so that it does not depend on which rank has added
/// what.
#[kernel(block = 256)]
pub unsafe fn ptycho_add_ranks_fixed(
    #[len(elements)] to: *mut u64,
    #[len(ranks * elements)] all: *const u64,
    ranks: u32,
    elements: u32,
) {
    let threads = thread::block_threads();
    for item in thread::block_stride(elements.div_ceil(threads * TOGETHER as u32)) {
        let first = item * threads * TOGETHER as u32 + thread::index_in_block();
        let mut sums = [0_u64; TOGETHER];
        for rank in 0..ranks {
            let array = all.add(rank as usize * elements as usize);
            for u in 0..TOGETHER {
                let at = first + u as u32 * threads;
                if at < elements {
                    sums[u] = sums[u].wrapping_add(*array.add(at as usize));
                }
            }
        }
        for u in 0..TOGETHER {
            let at = first + u as u32 * threads;
            if at < elements {
                *to.add(at as usize) = sums[u];
            }
        }
    }
}

/// `numerators[i] = Σ all_numerators[rank · elements + i]` and the same for weights, ranks in their order. Does nothing while
/// `*gate` is not 0.
#[kernel(block = 256)]
pub unsafe fn ptycho_add_ranks(
    #[len(elements)] numerators: *mut Complex32,
    #[len(elements)] weights: *mut f32,
    #[len(ranks * elements)] all_numerators: *const Complex32,
    #[len(ranks * elements)] all_weights: *const f32,
    #[len(1)] gate: *const u32,
    ranks: u32,
    elements: u32,
) {
    if *gate != 0 {
        return;
    }
    for at in thread::grid_stride(elements as usize) {
        let (mut numerator, mut weight) = (Complex32::ZERO, 0.0_f32);
        for rank in 0..ranks {
            let from = rank as usize * elements as usize + at;
            numerator += *all_numerators.add(from);
            weight += *all_weights.add(from);
        }
        *numerators.add(at) = numerator;
        *weights.add(at) = weight;
    }
}
