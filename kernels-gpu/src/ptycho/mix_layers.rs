//! Sums of layers: new modes from old ones.
//!
//! A thread processes one pixel of one new layer: reads 8 bytes an old layer from the caches, writes 8. Block of 256:
//! the threads are independent.

use warpstride_device::prelude::*;

/// `to[m] = Σ_n mixture[m · layers + n] · from[n]` (layer, pixel).
#[kernel(block = 256)]
pub unsafe fn ptycho_mix_layers(
    #[len(layers * pixels)] to: *mut Complex32,
    #[len(layers * pixels)] from: *const Complex32,
    #[len(layers * layers)] mixture: *const Complex32,
    layers: u32,
    pixels: u32,
) {
    if pixels == 0 {
        return;
    }
    for at in thread::grid_stride(layers as usize * pixels as usize) {
        let (layer, pixel) = (at / pixels as usize, at % pixels as usize);
        let shares = mixture.add(layer * layers as usize);
        let mut sum = Complex32::ZERO;
        for n in 0..layers as usize {
            sum = (*from.add(n * pixels as usize + pixel)).mul_add(*shares.add(n), sum);
        }
        *to.add(at) = sum;
    }
}
