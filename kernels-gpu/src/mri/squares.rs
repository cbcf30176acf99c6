//! The square of an image's norm.
//!
//! A block processes one part of the image and reads 8 bytes a voxel. Block of 256, as
//! [`cg_curvature`](super::cg_curvature).

use super::sums::{PARTIAL_SUMS, part_range, real_product};
use warpstride_device::prelude::*;

/// The sums of |values|² over the parts of the image.
#[kernel(block = 256, hot, f64)]
pub unsafe fn mri_squares(
    #[len(voxels)] values: *const Complex32,
    #[len(PARTIAL_SUMS)] squares: *mut f64,
    voxels: u32,
) {
    for part in thread::block_stride(PARTIAL_SUMS as u32) {
        let (first, end) = part_range(part, voxels as usize);
        let mut sum = 0.0;
        for at in thread::thread_stride((end - first) as u32) {
            let value = *values.add(first + at as usize);
            sum += real_product(value, value);
        }
        let sum = reduce::block_sum_f64(sum);
        if thread::index_in_block() == 0 {
            *squares.add(part as usize) = sum;
        }
    }
}
