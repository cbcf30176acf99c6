//! Metrics of how well the model explains the counts: the sums behind err_phot and R.
//!
//! `spectra` has the unnormalised transforms of P·O; with `I_m = scale · Σ_modes |f|²` and I = m², a frame gives `Σ w
//! (I_m − I)²/(I + 1) / Σ w` and `Σ w (√I_m − √I)²`, w = 1 where m ≥ 0, and the latter over the free pixels, where √I = −2
//! − m with m ≤ −2.
//!
//! A block processes one frame at a time. Reads 8 bytes per pixel and mode and 4 per pixel, writes 12 a frame. Block
//! of 512: two reductions a frame; half as many threads would leave too few loads in flight.

use super::FREE;
use warpstride_device::prelude::*;

/// `photon`, `residual` and `free` of every frame.
#[kernel(block = 512, min_blocks = 3, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_model_metrics(
    #[len(frames * modes * pixels)] spectra: *const Complex32,
    #[len(frames * pixels)] magnitudes: *const f32,
    #[len(frames)] photon: *mut f32,
    #[len(frames)] residual: *mut f32,
    #[len(frames)] free: *mut f32,
    frames: u32,
    modes: u32,
    pixels: u32,
    scale: f32,
) {
    for frame in thread::block_stride(frames) {
        let spectra = spectra.add(frame as usize * modes as usize * pixels as usize);
        let magnitudes = magnitudes.add(frame as usize * pixels as usize);
        let (mut photons, mut roots, mut count, mut hidden) = (0.0, 0.0, 0.0, 0.0);
        for pixel in thread::thread_stride(pixels) {
            let magnitude = *magnitudes.add(pixel as usize);
            if magnitude >= 0.0 || magnitude <= FREE {
                let mut model = 0.0;
                let mut at = pixel as usize;
                for _ in 0..modes {
                    model += (*spectra.add(at)).norm_sqr();
                    at += pixels as usize;
                }
                model *= scale;
                if magnitude < 0.0 {
                    let by_root = float::sqrt_approx(model) - (FREE - magnitude);
                    hidden = by_root.mul_add(by_root, hidden);
                    continue;
                }
                let counts = magnitude * magnitude;
                let (by_count, by_root) = (model - counts, float::sqrt_approx(model) - magnitude);
                photons += float::div_approx(by_count * by_count, counts + 1.0);
                roots = by_root.mul_add(by_root, roots);
                count += 1.0;
            }
        }
        let (photons, roots) = reduce::block_sum_pair(photons, roots);
        let (count, hidden) = reduce::block_sum_pair(count, hidden);
        if thread::index_in_block() == 0 {
            *photon.add(frame as usize) = if count > 0.0 { photons / count } else { 0.0 };
            *residual.add(frame as usize) = roots;
            *free.add(frame as usize) = hidden;
        }
    }
}
