//! What the counts ask of the intensities that a detector with blur or background measures: `scale (a/√I_model − 1)`, 0 where masked or
//! free, with a = √I corrected for the background; and the metrics of the model.
//!
//! A block processes one frame. Reads 12 bytes per pixel, 4 of them from the caches, and writes 4; two roots and two quotients a
//! pixel. Block of 512: two reductions a frame, as `model_metrics`.

use super::FREE;
use super::detector_amplitude::amplitude;
use super::magnitude_floor::MAGNITUDE_FLOOR_F32;
use warpstride_device::prelude::*;

/// The factors of `count` frames in place of the intensities `measured` (member, pixel); the frame of a member is
/// `order[first + member]` if `ordered` is 1, else first + member. With `of_model` 1 their metrics, at the frames' own numbers:
/// `errors` (Σ w (√I_model − √I)²/Σ w), `photon`, `residual` and `free` as `model_metrics`; with 0 `errors` alone, of the corrected
/// amplitudes.
#[kernel(block = 512, min_blocks = 2, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_detector_deviation(
    #[len(count * pixels)] measured: *mut f32,
    #[len(frames * pixels)] magnitudes: *const f32,
    #[len(pixels)] background: *const f32,
    #[len(frames * ordered.min(1))] order: *const u32,
    #[len(frames)] errors: *mut f32,
    #[len(frames)] photon: *mut f32,
    #[len(frames)] residual: *mut f32,
    #[len(frames)] free: *mut f32,
    frames: u32,
    first: u32,
    count: u32,
    pixels: u32,
    ordered: u32,
    of_model: u32,
    scale: f32,
) {
    if first >= frames || count > frames - first {
        return;
    }
    for member in thread::block_stride(count) {
        let place = (first + member) as usize;
        let frame = if ordered != 0 {
            *order.add(place) as usize
        } else {
            place
        };
        let measured = measured.add(member as usize * pixels as usize);
        let magnitudes = magnitudes.add(frame * pixels as usize);
        let (mut photons, mut roots, mut valid) = (0.0, 0.0, 0.0);
        let (mut hidden, mut corrected) = (0.0, 0.0);
        for pixel in thread::thread_stride(pixels) {
            let pixel = pixel as usize;
            let (magnitude, model) = (*magnitudes.add(pixel), *measured.add(pixel));
            let root = GpuFloat::sqrt(model);
            let mut factor = 0.0;
            if magnitude >= 0.0 {
                let counts = magnitude * magnitude;
                let (by_count, by_root) = (model - counts, root - magnitude);
                photons += float::div_approx(by_count * by_count, counts + 1.0);
                roots = by_root.mul_add(by_root, roots);
                valid += 1.0;
                let by_target = amplitude(magnitude, *background.add(pixel)) - root;
                corrected = by_target.mul_add(by_target, corrected);
                factor = float::div_approx(by_target, root + MAGNITUDE_FLOOR_F32) * scale;
            } else if magnitude <= FREE {
                let by_root = root - (FREE - magnitude);
                hidden = by_root.mul_add(by_root, hidden);
            }
            *measured.add(pixel) = factor;
        }
        let (photons, roots) = reduce::block_sum_pair(photons, roots);
        let (valid, hidden) = reduce::block_sum_pair(valid, hidden);
        let corrected = reduce::block_sum(corrected);
        if thread::index_in_block() == 0 {
            let per_pixel = if valid > 0.0 { 1.0 / valid } else { 0.0 };
            if of_model != 0 {
                *errors.add(frame) = roots * per_pixel;
                *photon.add(frame) = photons * per_pixel;
                *residual.add(frame) = roots;
                *free.add(frame) = hidden;
            } else {
                *errors.add(frame) = corrected * per_pixel;
            }
        }
    }
}
