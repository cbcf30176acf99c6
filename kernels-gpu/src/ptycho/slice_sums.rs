//! Adds up slices, in their order, into the first one.
//!
//! A thread processes one value: reads 8 bytes a slice. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `sums[0] ← scale · Σ sums[slice]` (slice, element) and `weights[0] ← Σ weights[slice]` (slice, pixel).
#[kernel(block = 256)]
pub unsafe fn ptycho_slice_sums(
    #[len(slices * elements)] sums: *mut Complex32,
    #[len(slices * pixels)] weights: *mut f32,
    slices: u32,
    elements: u32,
    pixels: u32,
    scale: f32,
) {
    for at in thread::grid_stride(elements as usize) {
        let mut sum = Complex32::ZERO;
        for slice in 0..slices as usize {
            sum += *sums.add(slice * elements as usize + at);
        }
        *sums.add(at) = sum.scale(scale);
    }
    for at in thread::grid_stride(pixels as usize) {
        let mut sum = 0.0;
        for slice in 0..slices as usize {
            sum += *weights.add(slice * pixels as usize + at);
        }
        *weights.add(at) = sum;
    }
}
