//! Normal equations of a Gauss–Newton step of each frame's position and intensity scale, as those of `position_equations`, with a
//! detector that blurs or has a background: from G ∗ S and G ∗ of the derivatives, with √I_model = √(G ∗ S + b), the residual
//! a − √I_model of the amplitude that is corrected for the background, and the derivative G ∗ S/(2 √I_model) by the logarithm of the scale.
//!
//! A block processes one frame. Reads 20 bytes per pixel, 4 of them from the caches; two roots and a quotient a pixel. Block of
//! 512, as `position_equations`.

use super::detector_amplitude::amplitude;
use super::magnitude_floor::MAGNITUDE_FLOOR_F32;
use warpstride_device::prelude::*;

/// `equations`, at each frame's number: J Jᵀ (rows², rows·columns, columns², rows·scale, columns·scale, scale²), J r
/// (rows, columns, scale), for the frames `order[first..first + count]`, from blurred `products` (intensity, rows, columns; member;
/// pixel).
#[kernel(block = 512, min_blocks = 2, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_detector_equations(
    #[len(frames)] equations: *mut [f32; 9],
    #[len(3 * count * pixels)] products: *const f32,
    #[len(frames * pixels)] magnitudes: *const f32,
    #[len(pixels)] background: *const f32,
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    pixels: u32,
) {
    if first >= frames || count > frames - first {
        return;
    }
    let all = count as usize * pixels as usize;
    for member in thread::block_stride(count) {
        let frame = *order.add((first + member) as usize) as usize;
        let products = products.add(member as usize * pixels as usize);
        let magnitudes = magnitudes.add(frame * pixels as usize);
        let mut sums = [0.0; 9];
        for pixel in thread::thread_stride(pixels) {
            let pixel = pixel as usize;
            let magnitude = *magnitudes.add(pixel);
            if magnitude < 0.0 {
                continue;
            }
            let (light, dark) = (*products.add(pixel), *background.add(pixel));
            let root = GpuFloat::sqrt(light + dark);
            let residual = amplitude(magnitude, dark) - root;
            let per_root = 1.0 / (root + MAGNITUDE_FLOOR_F32);
            let r = *products.add(all + pixel) * per_root;
            let c = *products.add(2 * all + pixel) * per_root;
            let s = 0.5 * light * per_root;
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
            *equations.add(frame) = [a, b, c, d, e, f, g, h, i];
        }
    }
}
