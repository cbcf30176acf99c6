//! Adds up slices into the first one, in their order or as the slices of four shares.
//!
//! A thread processes one value: reads 8 bytes a slice. Block of 256: the threads are independent.

use super::batch_shares::{SHARES, ShareSums};
use warpstride_device::prelude::*;

/// `sums[0] ← scale · Σ sums[slice]` (slice, element) and `weights[0] ← Σ weights[slice]` (slice, pixel). With `apart` not 0, each
/// quarter of the slices, of a share, is summed apart.
#[kernel(block = 256)]
pub unsafe fn ptycho_slice_sums(
    #[len(slices * elements)] sums: *mut Complex32,
    #[len(slices * pixels)] weights: *mut f32,
    slices: u32,
    elements: u32,
    pixels: u32,
    apart: u32,
    scale: f32,
) {
    let of_share = if apart == 0 {
        slices.max(1)
    } else {
        slices.div_ceil(SHARES as u32).max(1)
    };
    for at in thread::grid_stride(elements as usize) {
        let mut total = ShareSums::new();
        for slice in 0..slices {
            total.go_on_to(slice / of_share);
            total.numerator += *sums.add(slice as usize * elements as usize + at);
        }
        *sums.add(at) = total.total().0.scale(scale);
    }
    for at in thread::grid_stride(pixels as usize) {
        let mut total = ShareSums::new();
        for slice in 0..slices {
            total.go_on_to(slice / of_share);
            total.weight += *weights.add(slice as usize * pixels as usize + at);
        }
        *weights.add(at) = total.total().1;
    }
}
