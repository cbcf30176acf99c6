//! What a likelihood asks of the intensities that a detector with blur or background measures: c_j · scale · D, 0 where masked or free,
//! with the derivative D of the loss by I_model; and the loss and the metrics of the model. The loss of amplitudes has those that
//! are corrected for the background.
//!
//! A block processes one frame. Reads 12 bytes per pixel, 4 of them from the caches, and writes 4, but for losses alone; two roots, two
//! quotients and a logarithm (Poisson) in double precision a pixel. Block of 256, as `likelihood_deviation`.

use super::FREE;
use super::detector_amplitude::wide_amplitude;
use super::likelihood_noise::{AMPLITUDE, loss, slope};
use warpstride_device::prelude::*;

/// The `losses` of the frames `order[first..first + count]` at their own numbers; with `metrics` 1 their factors in place of the
/// intensities `measured` (member, pixel), and `errors` (Σ w (√I_model − √I)²/Σ w), `moved` (Σ w (√I_model − √I)²/c_j), `photon`,
/// `residual` and `free` as `model_metrics`.
#[kernel(block = 256, min_blocks = 1, hot, f64)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_detector_likelihood(
    #[len(count * pixels)] measured: *mut f32,
    #[len(frames * pixels)] magnitudes: *const f32,
    #[len(pixels)] background: *const f32,
    #[len(frames)] scales: *const f32,
    #[len(frames)] order: *const u32,
    #[len(frames)] losses: *mut f64,
    #[len(frames)] errors: *mut f32,
    #[len(frames)] moved: *mut f32,
    #[len(frames)] photon: *mut f32,
    #[len(frames)] residual: *mut f32,
    #[len(frames)] free: *mut f32,
    frames: u32,
    first: u32,
    count: u32,
    pixels: u32,
    metrics: u32,
    noise: u32,
    scale: f32,
) {
    if first >= frames || count > frames - first {
        return;
    }
    for member in thread::block_stride(count) {
        let frame = *order.add((first + member) as usize) as usize;
        let measured = measured.add(member as usize * pixels as usize);
        let magnitudes = magnitudes.add(frame * pixels as usize);
        let of_frame = *scales.add(frame);
        let (mut photons, mut roots, mut valid, mut hidden) = (0.0, 0.0, 0.0, 0.0);
        let mut total = 0.0;
        for pixel in thread::thread_stride(pixels) {
            let pixel = pixel as usize;
            let (magnitude, model) = (*magnitudes.add(pixel), *measured.add(pixel));
            let mut factor = 0.0;
            if magnitude >= 0.0 {
                let wide = f64::from(model);
                let compared = if noise == AMPLITUDE {
                    wide_amplitude(magnitude, *background.add(pixel))
                } else {
                    f64::from(magnitude)
                };
                total += loss(noise, wide, compared);
                if metrics != 0 {
                    let counts = magnitude * magnitude;
                    let by_count = model - counts;
                    let by_root = GpuFloat::sqrt(model) - magnitude;
                    photons += float::div_approx(by_count * by_count, counts + 1.0);
                    roots = by_root.mul_add(by_root, roots);
                    valid += 1.0;
                    factor = slope(noise, wide, compared) as f32 * (scale * of_frame);
                }
            } else if magnitude <= FREE {
                let by_root = GpuFloat::sqrt(model) - (FREE - magnitude);
                hidden = by_root.mul_add(by_root, hidden);
            }
            if metrics != 0 {
                *measured.add(pixel) = factor;
            }
        }
        let total = reduce::block_sum_f64(total);
        let (photons, roots) = reduce::block_sum_pair(photons, roots);
        let (valid, hidden) = reduce::block_sum_pair(valid, hidden);
        if thread::index_in_block() == 0 {
            *losses.add(frame) = total;
            if metrics != 0 {
                let per_pixel = if valid > 0.0 { 1.0 / valid } else { 0.0 };
                *errors.add(frame) = roots * per_pixel;
                *moved.add(frame) = roots / of_frame;
                *photon.add(frame) = photons * per_pixel;
                *residual.add(frame) = roots;
                *free.add(frame) = hidden;
            }
        }
    }
}
