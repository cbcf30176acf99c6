//! Sums over the arrays of several ranks, for scans whose frames are divided among devices.
//!
//! A thread adds elements of all arrays: of an element it reads 12 `ranks` bytes and writes 12. Block of 256: independent threads,
//! little state. (Sums in fixed point are added where they are used, in `object_from_sums`.)

use warpstride_device::prelude::*;

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
