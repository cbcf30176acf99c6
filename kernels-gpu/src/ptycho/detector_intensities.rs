//! Intensities of frames on the detector, before its blur: c_j · scale · Σ_modes |f|² of the detector waves f of a batch, or of
//! mixtures of two arrays of them (the reflected waves of a projection).
//!
//! A thread processes one pixel of a frame in all modes. Reads 8 bytes per pixel and mode (16 of a mixture), writes 4 per pixel; 4
//! operations per value (8). Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `intensities` (member, pixel) of `count` frames, from `waves` (frame, mode, pixel) from the frame `first_wave` on, or with
/// `mixed` 1 from `part · waves + other_part · others`, which have the same shape. With `scaled` 1, a member has the factor of the
/// frame `order[first + member]` in `scales`; with `add` 1, the `background` (pixel) is added.
#[kernel(block = 256, min_blocks = 4, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_detector_intensities(
    #[len(count * pixels)] intensities: *mut f32,
    #[len((first_wave + count) * modes * pixels)] waves: *const Complex32,
    #[len((first_wave + count) * modes * pixels * mixed.min(1))] others: *const Complex32,
    #[len(frames * scaled.min(1))] scales: *const f32,
    #[len(frames * scaled.min(1))] order: *const u32,
    #[len(pixels * add.min(1))] background: *const f32,
    frames: u32,
    first: u32,
    count: u32,
    modes: u32,
    pixels: u32,
    first_wave: u32,
    mixed: u32,
    scaled: u32,
    add: u32,
    part: f32,
    other_part: f32,
    scale: f32,
) {
    if first >= frames || count > frames - first {
        return;
    }
    let size = pixels as usize;
    for at in thread::grid_stride(count as usize * size) {
        let (member, pixel) = (at / size, at % size);
        let mut factor = scale;
        if scaled != 0 {
            let frame = *order.add(first as usize + member);
            factor *= *scales.add(frame as usize);
        }
        let mut wave = (first_wave as usize + member) * modes as usize * size + pixel;
        let mut sum = 0.0;
        for _ in 0..modes {
            let mut value = *waves.add(wave);
            if mixed != 0 {
                value = (*others.add(wave)).scale_add(other_part, value.scale(part));
            }
            sum += value.norm_sqr();
            wave += size;
        }
        sum *= factor;
        if add != 0 {
            sum += *background.add(pixel);
        }
        *intensities.add(at) = sum;
    }
}
