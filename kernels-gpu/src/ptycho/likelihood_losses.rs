//! The loss of every frame of a batch, from the spectra of its model.
//!
//! A block processes one frame, a thread one pixel in all modes. Reads 8 bytes per pixel and mode and 4 per pixel.
//! Block of 256, as `likelihood_deviation`.

use super::likelihood_noise::loss;
use warpstride_device::prelude::*;

/// `losses` of the frames `order[first..first + count]`, at their own numbers; I_m = c_j · scale · Σ_modes |Ψ|².
#[kernel(block = 256, min_blocks = 1, hot, f64)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_likelihood_losses(
    #[len(count * modes * pixels)] spectra: *const Complex32,
    #[len(frames * pixels)] magnitudes: *const f32,
    #[len(frames)] scales: *const f32,
    #[len(frames)] order: *const u32,
    #[len(frames)] losses: *mut f64,
    frames: u32,
    first: u32,
    count: u32,
    modes: u32,
    pixels: u32,
    scale: f32,
    noise: u32,
) {
    if first >= frames || count > frames - first {
        return;
    }
    for member in thread::block_stride(count) {
        let frame = *order.add((first + member) as usize) as usize;
        let spectra = spectra.add(member as usize * modes as usize * pixels as usize);
        let magnitudes = magnitudes.add(frame * pixels as usize);
        let factor = scale * *scales.add(frame);
        let mut total = 0.0;
        for pixel in thread::thread_stride(pixels) {
            let magnitude = *magnitudes.add(pixel as usize);
            if magnitude < 0.0 {
                continue;
            }
            let mut model = 0.0;
            let mut at = pixel as usize;
            for _ in 0..modes {
                model += (*spectra.add(at)).norm_sqr();
                at += pixels as usize;
            }
            total += loss(noise, f64::from(model * factor), f64::from(magnitude));
        }
        let total = reduce::block_sum_f64(total);
        if thread::index_in_block() == 0 {
            *losses.add(frame) = total;
        }
    }
}
