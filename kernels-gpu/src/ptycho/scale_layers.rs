//! Multiplies layers of waves by one real weight a pixel: supports.
//!
//! A thread processes one element: reads 12 bytes, writes 8. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `waves ← factor · weights · waves`, with the same weights (pixel) for every layer. Does nothing while `*gate` is
/// not 0.
#[kernel(block = 256)]
pub unsafe fn ptycho_scale_layers(
    #[len(layers * pixels)] waves: *mut Complex32,
    #[len(pixels)] weights: *const f32,
    #[len(1)] gate: *const u32,
    layers: u32,
    pixels: u32,
    factor: f32,
) {
    if *gate != 0 || pixels == 0 {
        return;
    }
    for at in thread::grid_stride(layers as usize * pixels as usize) {
        let weight = *weights.add(at % pixels as usize) * factor;
        *waves.add(at) = (*waves.add(at)).scale(weight);
    }
}
