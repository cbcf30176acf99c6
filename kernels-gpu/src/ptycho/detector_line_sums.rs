//! Sums behind the objective along a line with a detector that blurs or has a background: a frame's coefficients, as those of
//! `line_sums`, from the blurred intensities of `detector_line`.
//!
//! A block processes one frame. Reads 28 bytes per pixel, 4 of them from the caches; up to 60 operations in double precision a
//! pixel. Block of 256: nine sums in double precision a thread.

use super::detector_amplitude::wide_amplitude;
use super::likelihood_noise::{AMPLITUDE, add_line_terms};
use warpstride_device::prelude::*;

/// `sums` (frame, 9), at their own numbers, of the frames `order[first..first + count]`, from `along` (order, member, pixel), which is
/// multiplied by c_j · `scale`.
#[kernel(block = 256, min_blocks = 1, hot, f64)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_detector_line_sums(
    #[len(frames)] sums: *mut [f64; 9],
    #[len(5 * count * pixels)] along: *const f32,
    #[len(frames * pixels)] magnitudes: *const f32,
    #[len(pixels)] background: *const f32,
    #[len(frames)] scales: *const f32,
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    pixels: u32,
    scale: f32,
    noise: u32,
) {
    if first >= frames || count > frames - first {
        return;
    }
    let all = count as usize * pixels as usize;
    for member in thread::block_stride(count) {
        let frame = *order.add((first + member) as usize) as usize;
        let along = along.add(member as usize * pixels as usize);
        let magnitudes = magnitudes.add(frame * pixels as usize);
        let factor = f64::from(scale * *scales.add(frame));
        let mut own = [0.0; 9];
        for pixel in thread::thread_stride(pixels) {
            let pixel = pixel as usize;
            let magnitude = *magnitudes.add(pixel);
            if magnitude < 0.0 {
                continue;
            }
            let of_pixel = *background.add(pixel);
            let mut values = [0.0_f64; 5];
            for order in 0..5 {
                values[order] = f64::from(*along.add(order * all + pixel)) * factor;
            }
            values[0] += f64::from(of_pixel);
            let compared = if noise == AMPLITUDE {
                wide_amplitude(magnitude, of_pixel)
            } else {
                f64::from(magnitude)
            };
            add_line_terms(&mut own, noise, values, compared);
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
