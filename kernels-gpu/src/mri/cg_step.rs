//! Conjugate gradients, second of three launches: the step along the direction.
//!
//! A block processes one part of the image. Reads 32 bytes a voxel and writes 16. Block of 256, as
//! [`cg_curvature`](super::cg_curvature).

use super::sums::{PARTIAL_SUMS, part_range, real_product, total};
use warpstride_device::prelude::*;

/// α = |r|² / curvature; 0 if the curvature is 0, if |r|² is at most `rounding`, or at most `enough` in iteration
/// `least` or later, from 0. `image += α direction`, `residual −= α applied`, and the sums of |residual|² over the parts
/// of the image. |r|² before the step is `history[*iteration]`.
#[kernel(block = 256, hot, f64)]
pub unsafe fn mri_cg_step(
    #[len(voxels)] image: *mut Complex32,
    #[len(voxels)] residual: *mut Complex32,
    #[len(voxels)] direction: *const Complex32,
    #[len(voxels)] applied: *const Complex32,
    #[len(PARTIAL_SUMS)] curvature: *const f64,
    #[len(PARTIAL_SUMS)] squares: *mut f64,
    #[len(entries)] history: *const f64,
    #[len(1)] iteration: *const u32,
    voxels: u32,
    entries: u32,
    enough: f64,
    least: u32,
    rounding: f64,
) {
    let curvature = total(curvature);
    let now = *iteration;
    let before = if now < entries {
        *history.add(now as usize)
    } else {
        0.0
    };
    let goes_on = before > rounding && (before > enough || now < least);
    let alpha = if curvature > 0.0 && goes_on {
        (before / curvature) as f32
    } else {
        0.0
    };
    for number in thread::block_stride(PARTIAL_SUMS as u32) {
        let (first, end) = part_range(number, voxels as usize);
        let mut sum = 0.0;
        for at in thread::thread_stride((end - first) as u32) {
            let at = first + at as usize;
            *image.add(at) = *image.add(at) + (*direction.add(at)).scale(alpha);
            let r = *residual.add(at) - (*applied.add(at)).scale(alpha);
            *residual.add(at) = r;
            sum += real_product(r, r);
        }
        let sum = reduce::block_sum_f64(sum);
        if thread::index_in_block() == 0 {
            *squares.add(number as usize) = sum;
        }
    }
}
