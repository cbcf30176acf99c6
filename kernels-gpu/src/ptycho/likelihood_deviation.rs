//! What a likelihood asks of the spectra of a batch: Ψ ← Ψ c_j D/N, 0 where masked or free, where D is the derivative
//! of the loss by the model intensity I_m = c_j · scale · Σ_modes |Ψ|², and N the number of pixels (for the inverse
//! transform); and the loss and the metrics of the model.
//!
//! A block processes one frame, a thread one pixel in all modes, twice: the second time Ψ comes from the caches. Reads
//! and writes 8 bytes per pixel and mode, reads 4 per pixel. Block of 256: six reductions a frame, and double precision
//! takes twice the registers of `magnitude_deviation`.

use super::FREE;
use super::likelihood_noise::{loss, slope};
use warpstride_device::prelude::*;

/// The deviations of the frames `order[first..first + count]`; and for each of these frames, at its own number, the
/// loss in `losses`, `errors` (Σ w (√I_model − √I)²/Σ w), `moved` (Σ w (√I_model − √I)²/c_j), `photon`, `residual` and
/// `free` as `model_metrics`.
#[kernel(block = 256, hot, f64)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_likelihood_deviation(
    #[len(count * modes * pixels)] spectra: *mut Complex32,
    #[len(frames * pixels)] magnitudes: *const f32,
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
    modes: u32,
    pixels: u32,
    scale: f32,
    noise: u32,
) {
    if first >= frames || count > frames - first {
        return;
    }
    for member in thread::block_stride(count) {
        let frame = *order.add((first + member) as usize);
        let spectra = spectra.add(member as usize * modes as usize * pixels as usize);
        let magnitudes = magnitudes.add(frame as usize * pixels as usize);
        let of_frame = *scales.add(frame as usize);
        let factor = scale * of_frame;
        let (mut photons, mut roots, mut valid, mut hidden) = (0.0, 0.0, 0.0, 0.0);
        let mut total = 0.0;
        for pixel in thread::thread_stride(pixels) {
            let magnitude = *magnitudes.add(pixel as usize);
            let mut model = 0.0;
            let mut at = pixel as usize;
            for _ in 0..modes {
                model += (*spectra.add(at)).norm_sqr();
                at += pixels as usize;
            }
            model *= factor;
            let root = GpuFloat::sqrt(model);
            let mut ratio = 0.0;
            if magnitude >= 0.0 {
                let counts = magnitude * magnitude;
                let (by_count, by_root) = (model - counts, root - magnitude);
                photons += float::div_approx(by_count * by_count, counts + 1.0);
                roots = by_root.mul_add(by_root, roots);
                valid += 1.0;
                let (model, magnitude) = (f64::from(model), f64::from(magnitude));
                total += loss(noise, model, magnitude);
                ratio = slope(noise, model, magnitude) as f32 * factor;
            } else if magnitude <= FREE {
                let by_root = root - (FREE - magnitude);
                hidden = by_root.mul_add(by_root, hidden);
            }
            let mut at = pixel as usize;
            for _ in 0..modes {
                *spectra.add(at) = (*spectra.add(at)).scale(ratio);
                at += pixels as usize;
            }
        }
        let (photons, roots) = reduce::block_sum_pair(photons, roots);
        let (valid, hidden) = reduce::block_sum_pair(valid, hidden);
        let total = reduce::block_sum_f64(total);
        if thread::index_in_block() == 0 {
            let frame = frame as usize;
            let per_pixel = if valid > 0.0 { 1.0 / valid } else { 0.0 };
            *losses.add(frame) = total;
            *errors.add(frame) = roots * per_pixel;
            *moved.add(frame) = roots / of_frame;
            *photon.add(frame) = photons * per_pixel;
            *residual.add(frame) = roots;
            *free.add(frame) = hidden;
        }
    }
}
