//! Conjugate gradients, first of three launches: the curvature along the direction.
//!
//! A block processes one part of the image. Reads 16 bytes a voxel and writes 8. Block of 256: a reduction over eight
//! warps, for parts of a few hundred voxels.

use super::sums::{PARTIAL_SUMS, part_range, real_product};
use warpstride_device::prelude::*;

/// `applied ← applied + λ direction`, and the sums of Re⟨direction, applied⟩ over the parts of the image. Begins an
/// iteration: increments `*iteration` (before iteration 0 it is u32::MAX).
#[kernel(block = 256, hot, f64)]
pub unsafe fn mri_cg_curvature(
    #[len(voxels)] direction: *const Complex32,
    #[len(voxels)] applied: *mut Complex32,
    #[len(PARTIAL_SUMS)] curvature: *mut f64,
    #[len(1)] iteration: *mut u32,
    voxels: u32,
    lambda: f32,
) {
    for number in thread::block_stride(PARTIAL_SUMS as u32) {
        let (first, end) = part_range(number, voxels as usize);
        let mut sum = 0.0;
        for at in thread::thread_stride((end - first) as u32) {
            let at = first + at as usize;
            let p = *direction.add(at);
            let q = *applied.add(at) + p.scale(lambda);
            *applied.add(at) = q;
            sum += real_product(p, q);
        }
        let sum = reduce::block_sum_f64(sum);
        if thread::index_in_block() == 0 {
            *curvature.add(number as usize) = sum;
            if number == 0 {
                *iteration = (*iteration).wrapping_add(1);
            }
        }
    }
}
