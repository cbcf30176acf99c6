//! What the counts ask of the spectra of a batch: Ψ ← Ψ (√I/√I_model − 1)/N, 0 where masked or free, with I_model =
//! c_j · scale · Σ_modes |Ψ|² and N the number of pixels (for the inverse transform); and the metrics of the model.
//!
//! A block processes one frame, a thread some pixels at a time in all modes, twice: the second time Ψ comes from the caches. Reads
//! and writes 8 bytes per pixel and mode, reads 4 per pixel. Block of 1024: a batch has fewer frames than the device multiprocessors,
//! so that a block has to have many loads under way.

use super::FREE;
use super::magnitude_floor::MAGNITUDE_FLOOR_F32;
use warpstride_device::prelude::*;

/// √counts of a masked pixel, as in `Problem::magnitudes`.
const MASKED: f32 = -1.0;
/// Pixels of a thread that are loaded together.
const TOGETHER: usize = 4;

/// The deviations of the frames `order[first..first + count]`; and for each of these frames, at its own number,
/// `errors` (Σ w (√I_model − √I)²/Σ w), `moved` (Σ|χ|²), `photon`, `residual` and `free` as `model_metrics`.
#[kernel(block = 1024, min_blocks = 1, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_magnitude_deviation(
    #[len(count * modes * pixels)] spectra: *mut Complex32,
    #[len(frames * pixels)] magnitudes: *const f32,
    #[len(frames)] scales: *const f32,
    #[len(frames)] order: *const u32,
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
) {
    if first >= frames || count > frames - first {
        return;
    }
    for member in thread::block_stride(count) {
        let frame = *order.add((first + member) as usize);
        let spectra = spectra.add(member as usize * modes as usize * pixels as usize);
        let magnitudes = magnitudes.add(frame as usize * pixels as usize);
        let factor = scale * *scales.add(frame as usize);
        let (mut photons, mut roots, mut valid) = (0.0, 0.0, 0.0);
        let (mut hidden, mut change) = (0.0, 0.0);
        let step = thread::block_threads();
        let mut first_pixel = thread::index_in_block();
        while first_pixel < pixels {
            // A pixel beyond the end is the first one again, masked.
            let mut at = [first_pixel as usize; TOGETHER];
            let mut magnitude = [MASKED; TOGETHER];
            let mut model = [0.0; TOGETHER];
            for u in 0..TOGETHER {
                let pixel = first_pixel + u as u32 * step;
                if pixel < pixels {
                    at[u] = pixel as usize;
                    magnitude[u] = *magnitudes.add(pixel as usize);
                }
            }
            let mut layer = 0;
            for _ in 0..modes {
                for u in 0..TOGETHER {
                    model[u] += (*spectra.add(layer + at[u])).norm_sqr();
                }
                layer += pixels as usize;
            }
            let mut ratio = [0.0; TOGETHER];
            for u in 0..TOGETHER {
                let (magnitude, model) = (magnitude[u], model[u] * factor);
                let root = GpuFloat::sqrt(model);
                if magnitude >= 0.0 {
                    let counts = magnitude * magnitude;
                    let (by_count, by_root) = (model - counts, root - magnitude);
                    photons += float::div_approx(by_count * by_count, counts + 1.0);
                    roots = by_root.mul_add(by_root, roots);
                    valid += 1.0;
                    ratio[u] = float::div_approx(-by_root, root + MAGNITUDE_FLOOR_F32) * scale;
                } else if magnitude <= FREE {
                    let by_root = root - (FREE - magnitude);
                    hidden = by_root.mul_add(by_root, hidden);
                }
            }
            let mut layer = 0;
            for _ in 0..modes {
                let mut value = [Complex32::ZERO; TOGETHER];
                for u in 0..TOGETHER {
                    value[u] = *spectra.add(layer + at[u]);
                }
                for u in 0..TOGETHER {
                    let value = value[u].scale(ratio[u]);
                    change += value.norm_sqr();
                    if u == 0 || at[u] != at[0] {
                        *spectra.add(layer + at[u]) = value;
                    }
                }
                layer += pixels as usize;
            }
            first_pixel += TOGETHER as u32 * step;
        }
        let (photons, roots) = reduce::block_sum_pair(photons, roots);
        let (valid, hidden) = reduce::block_sum_pair(valid, hidden);
        let change = reduce::block_sum(change);
        if thread::index_in_block() == 0 {
            let frame = frame as usize;
            let per_pixel = if valid > 0.0 { 1.0 / valid } else { 0.0 };
            *errors.add(frame) = roots * per_pixel;
            *moved.add(frame) = change * pixels as f32;
            *photon.add(frame) = photons * per_pixel;
            *residual.add(frame) = roots;
            *free.add(frame) = hidden;
        }
    }
}
