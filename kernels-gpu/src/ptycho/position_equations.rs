//! Normal equations of a Gauss–Newton step of each frame's position and intensity scale on the magnitudes.
//!
//! With f the spectra of a frame, ∂f their derivatives by the shift along rows and columns, I_model = c_j · scale ·
//! Σ|f|², r = √I − √I_model and J = (Σ Re f*∂_r f, Σ Re f*∂_c f)·c_j·scale/√I_model, √I_model/2: Σ w J Jᵀ and Σ w J r.
//!
//! A block processes one frame, a thread one pixel in all modes. Reads 24 bytes per pixel and mode and 4 per pixel.
//! Block of 512, as `model_metrics`.

use super::magnitude_floor::MAGNITUDE_FLOOR_F32;
use warpstride_device::prelude::*;

/// `equations`, at each frame's number: J Jᵀ (rows², rows·columns, columns², rows·scale, columns·scale, scale²), J r
/// (rows, columns, scale), for the frames `order[first..first + count]`.
#[kernel(block = 512, min_blocks = 2, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_position_equations(
    #[len(frames)] equations: *mut [f32; 9],
    #[len(count * modes * pixels)] spectra: *const Complex32,
    #[len(count * modes * pixels)] by_row: *const Complex32,
    #[len(count * modes * pixels)] by_column: *const Complex32,
    #[len(frames * pixels)] magnitudes: *const f32,
    #[len(frames)] scales: *const f32,
    #[len(frames)] order: *const u32,
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
        let start = member as usize * modes as usize * pixels as usize;
        let magnitudes = magnitudes.add(frame as usize * pixels as usize);
        let factor = scale * *scales.add(frame as usize);
        let mut sums = [0.0; 9];
        for pixel in thread::thread_stride(pixels) {
            let magnitude = *magnitudes.add(pixel as usize);
            if magnitude < 0.0 {
                continue;
            }
            let (mut model, mut r, mut c) = (0.0, 0.0, 0.0);
            let mut at = start + pixel as usize;
            for _ in 0..modes {
                let f = *spectra.add(at);
                let (d, e) = (*by_row.add(at), *by_column.add(at));
                model += f.norm_sqr();
                r += f.re.mul_add(d.re, f.im * d.im);
                c += f.re.mul_add(e.re, f.im * e.im);
                at += pixels as usize;
            }
            let root = GpuFloat::sqrt(model * factor);
            let residual = magnitude - root;
            let per_root = factor / (root + MAGNITUDE_FLOOR_F32);
            let (r, c, s) = (r * per_root, c * per_root, 0.5 * root);
            let terms = [
                r * r,
                r * c,
                c * c,
                r * s,
                c * s,
                s * s,
                r * residual,
                c * residual,
                s * residual,
            ];
            for n in 0..9 {
                sums[n] += terms[n];
            }
        }
        let (a, b) = reduce::block_sum_pair(sums[0], sums[1]);
        let (c, d) = reduce::block_sum_pair(sums[2], sums[3]);
        let (e, f) = reduce::block_sum_pair(sums[4], sums[5]);
        let (g, h) = reduce::block_sum_pair(sums[6], sums[7]);
        let i = reduce::block_sum(sums[8]);
        if thread::index_in_block() == 0 {
            *equations.add(frame as usize) = [a, b, c, d, e, f, g, h, i];
        }
    }
}
