//! Sums behind the objective along a line: a frame's coefficients, from the spectra f, a and b (see `line_waves`). With
//! I_m = c_j · scale · Σ_modes |f|² and so on, the intensity is I_m + A1 t + A2 t² + A3 t³ + A4 t⁴, with A1 = Σ 2 Re(f
//! a*), A2 = Σ (2 Re(f b*) + |a|²), A3 = Σ 2 Re(a b*), A4 = Σ |b|².
//!
//! A block processes one frame, a thread one pixel in all modes. Reads 24 bytes per pixel and mode and 4 per pixel.
//! Block of 256: nine sums in double precision a thread.

use super::likelihood_noise::add_line_terms;
use warpstride_device::prelude::*;

/// `sums` (frame, 9), at their own numbers, of the frames `order[first..first + count]`.
#[kernel(block = 256, min_blocks = 1, hot, f64)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_line_sums(
    #[len(frames)] sums: *mut [f64; 9],
    #[len(count * modes * pixels)] f: *const Complex32,
    #[len(count * modes * pixels)] a: *const Complex32,
    #[len(count * modes * pixels)] b: *const Complex32,
    #[len(frames * pixels)] magnitudes: *const f32,
    #[len(frames)] scales: *const f32,
    #[len(frames)] order: *const u32,
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
        let start = member as usize * modes as usize * pixels as usize;
        let magnitudes = magnitudes.add(frame * pixels as usize);
        let factor = f64::from(scale * *scales.add(frame));
        let mut own = [0.0; 9];
        for pixel in thread::thread_stride(pixels) {
            let magnitude = *magnitudes.add(pixel as usize);
            if magnitude < 0.0 {
                continue;
            }
            let mut along = [0.0_f32; 5];
            let mut at = start + pixel as usize;
            for _ in 0..modes {
                let (f, a, b) = (*f.add(at), *a.add(at), *b.add(at));
                along[0] += f.norm_sqr();
                along[1] += 2.0 * f.re.mul_add(a.re, f.im * a.im);
                along[2] += 2.0 * f.re.mul_add(b.re, f.im * b.im) + a.norm_sqr();
                along[3] += 2.0 * a.re.mul_add(b.re, a.im * b.im);
                along[4] += b.norm_sqr();
                at += pixels as usize;
            }
            let along = along.map(|v| f64::from(v) * factor);
            add_line_terms(&mut own, noise, along, f64::from(magnitude));
        }
        let mut total = [0.0; 9];
        for n in 0..9 {
            total[n] = reduce::block_sum_f64(own[n]);
        }
        if thread::index_in_block() == 0 {
            *sums.add(frame) = total;
        }
    }
}
