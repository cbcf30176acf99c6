//! FISTA, first step of an iteration: along the gradient.
//!
//! A thread processes one voxel: reads 24 bytes, writes 8. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `next = ahead − step (applied_ahead − b)`. Begins an iteration: increments `*iteration` (before iteration 0 it is
/// u32::MAX).
#[kernel(block = 256, hot)]
pub unsafe fn mri_fista_point(
    #[len(voxels)] next: *mut Complex32,
    #[len(voxels)] ahead: *const Complex32,
    #[len(voxels)] applied_ahead: *const Complex32,
    #[len(voxels)] b: *const Complex32,
    #[len(1)] iteration: *mut u32,
    voxels: u32,
    step: f32,
) {
    for at in thread::grid_stride(voxels as usize) {
        let gradient = *applied_ahead.add(at) - *b.add(at);
        *next.add(at) = *ahead.add(at) - gradient.scale(step);
    }
    if thread::index_1d() == 0 {
        *iteration = (*iteration).wrapping_add(1);
    }
}
