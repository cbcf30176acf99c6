//! Fourier projection: each frame's deviation from the data, then its magnitudes moved towards
//! them as far as the power bound asks.
//!
//! `af = √(scale · Σ_modes |aux|²)`, `err = Σ w (af − m)² / Σ w` with m = √I, w = 1 where m ≥ 0 (a
//! masked pixel holds a negative m); then aux is multiplied by
//! `scale · (m + (af − m) · k)/(af + ε)` with k = 0 without a bound, 1 within it and √(bound/err)
//! beyond; by `scale` alone where masked. `scale` = 1/(rows · columns) makes the two bare
//! transforms around this kernel unitary.
//!
//! A block does one frame at a time: the error of the whole frame is known to it before it writes.
//! Reads aux and the magnitudes twice, the second time mostly from L2 (a frame of 128 × 128 is
//! 192 KiB), and writes aux: from device memory 8 + 8 bytes per pixel and mode and 4 per pixel.
//!
//! Block of 512, two or more on a multiprocessor (no spills): at 132 multiprocessors some
//! hundreds of frames are in flight, each seen twice by one block within a short time.

use warpstride_device::prelude::*;

/// Added to the modelled magnitude before dividing by it, √counts.
const MAGNITUDE_FLOOR: f32 = 1e-10;

/// Projects `aux` on the data and writes each frame's error. `bound` 0: no bound.
#[kernel(block = 512, min_blocks = 2, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn magnitude_update(
    #[len(frames * modes * pixels)] aux: *mut Complex32,
    #[len(frames * pixels)] magnitudes: *const f32,
    #[len(frames)] errors: *mut f32,
    frames: u32,
    modes: u32,
    pixels: u32,
    scale: f32,
    bound: f32,
) {
    for frame in thread::block_stride(frames) {
        let aux = aux.add(frame as usize * modes as usize * pixels as usize);
        let magnitudes = magnitudes.add(frame as usize * pixels as usize);
        let (mut sum, mut count) = (0.0, 0.0);
        for pixel in thread::thread_stride(pixels) {
            let magnitude = *magnitudes.add(pixel as usize);
            if magnitude >= 0.0 {
                let deviation = modelled(aux, pixel, modes, pixels, scale) - magnitude;
                sum = deviation.mul_add(deviation, sum);
                count += 1.0;
            }
        }
        let (sum, count) = reduce::block_sum_pair(sum, count);
        let error = if count > 0.0 { sum / count } else { 0.0 };
        if thread::index_in_block() == 0 {
            *errors.add(frame as usize) = error;
        }
        let keep = if bound <= 0.0 {
            0.0
        } else if error <= bound {
            1.0
        } else {
            GpuFloat::sqrt(bound / error)
        };
        for pixel in thread::thread_stride(pixels) {
            let magnitude = *magnitudes.add(pixel as usize);
            let factor = if magnitude < 0.0 || keep == 1.0 {
                scale
            } else {
                let model = modelled(aux, pixel, modes, pixels, scale);
                let wanted = (model - magnitude).mul_add(keep, magnitude);
                float::div_approx(wanted, model + MAGNITUDE_FLOOR) * scale
            };
            let mut at = pixel as usize;
            for _ in 0..modes {
                *aux.add(at) = (*aux.add(at)).scale(factor);
                at += pixels as usize;
            }
        }
    }
}

/// √(scale · Σ_modes |aux|²) of one pixel.
#[inline(always)]
unsafe fn modelled(aux: *const Complex32, pixel: u32, modes: u32, pixels: u32, scale: f32) -> f32 {
    let mut sum = 0.0;
    let mut at = pixel as usize;
    for _ in 0..modes {
        sum += (*aux.add(at)).norm_sqr();
        at += pixels as usize;
    }
    float::sqrt_approx(sum * scale)
}
