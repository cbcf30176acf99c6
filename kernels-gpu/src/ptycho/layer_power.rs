//! Σ |·|² over layers: the power of all probe modes in each pixel.
//!
//! A thread processes one pixel. Reads 8 bytes per layer and pixel, writes 4 per pixel; a probe is a few hundred KiB,
//! so the cost is that of the launch. Block of 256: one pixel a thread, independent threads.

use warpstride_device::prelude::*;

/// `power = Σ_layers |waves|²`.
#[kernel(block = 256)]
pub unsafe fn ptycho_layer_power(
    #[len(layers * pixels)] waves: *const Complex32,
    #[len(pixels)] power: *mut f32,
    layers: u32,
    pixels: u32,
) {
    for pixel in thread::grid_stride(pixels as usize) {
        let mut sum = 0.0;
        for layer in 0..layers as usize {
            sum += (*waves.add(layer * pixels as usize + pixel)).norm_sqr();
        }
        *power.add(pixel) = sum;
    }
}
