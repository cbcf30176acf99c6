//! A copy multiplied by a number.
//!
//! A thread processes one voxel: reads 8 bytes, writes 8. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `to = factor · from`.
#[kernel(block = 256, hot)]
pub unsafe fn mri_scaled_copy(
    #[len(voxels)] from: *const Complex32,
    #[len(voxels)] to: *mut Complex32,
    voxels: u32,
    factor: f32,
) {
    for at in thread::grid_stride(voxels as usize) {
        *to.add(at) = (*from.add(at)).scale(factor);
    }
}
