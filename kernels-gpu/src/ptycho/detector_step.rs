//! A projection engine's step in Fourier space with a detector that blurs or has a background: with the reflected waves f = (1−c) Ψ + c A,
//! Ψ ← keep Ψ + a A + b (1 + (1 − k) g) f, where g are the blurred factors G ∗ [w (a/√I_r − 1)] of the pixels, and k = 0 without a
//! bound, 1 within it and √(bound/err) beyond, as in `fourier_step`.
//!
//! A block processes one frame, a thread one pixel in all modes. Reads 16 bytes per pixel and mode and 4 per pixel, writes 8 per pixel
//! and mode; 20 operations a value. Block of 512: one reduction a frame.

use warpstride_device::prelude::*;

/// The step of the frames `first..first + count` of `spectra` and `model` (frame, mode, pixel) with `factors` (member, pixel) and
/// their `errors`; `moved` becomes scale · Σ|ΔΨ|². `bound` 0: no bound.
#[kernel(block = 512, min_blocks = 2, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model, their shapes and the engine's coefficients"
)]
pub unsafe fn ptycho_detector_step(
    #[len(frames * modes * pixels)] spectra: *mut Complex32,
    #[len(frames * modes * pixels)] model: *const Complex32,
    #[len(count * pixels)] factors: *const f32,
    #[len(frames)] errors: *const f32,
    #[len(frames)] moved: *mut f32,
    frames: u32,
    first: u32,
    count: u32,
    modes: u32,
    pixels: u32,
    scale: f32,
    bound: f32,
    keep: f32,
    a: f32,
    b: f32,
    c: f32,
) {
    if first >= frames || count > frames - first {
        return;
    }
    for member in thread::block_stride(count) {
        let frame = (first + member) as usize;
        let start = frame * modes as usize * pixels as usize;
        let factors = factors.add(member as usize * pixels as usize);
        let error = *errors.add(frame);
        let kept = if bound <= 0.0 {
            0.0
        } else if error <= bound {
            1.0
        } else {
            GpuFloat::sqrt(bound / error)
        };
        let mut change = 0.0;
        for pixel in thread::thread_stride(pixels) {
            let factor = (1.0 - kept).mul_add(*factors.add(pixel as usize), 1.0) * b;
            let mut at = start + pixel as usize;
            for _ in 0..modes {
                let (psi, model) = (*spectra.add(at), *model.add(at));
                let reflected = model.scale_add(c, psi.scale(1.0 - c));
                let rest = model.scale_add(a, psi.scale(keep));
                let next = reflected.scale_add(factor, rest);
                change += (next - psi).norm_sqr();
                *spectra.add(at) = next;
                at += pixels as usize;
            }
        }
        let change = reduce::block_sum(change);
        if thread::index_in_block() == 0 {
            *moved.add(frame) = change * scale;
        }
    }
}
