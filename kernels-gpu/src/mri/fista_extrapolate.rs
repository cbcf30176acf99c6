//! FISTA, last step of an iteration: momentum and the residual.
//!
//! A block processes one part of the images. Reads 40 bytes a voxel, writes 32. Block of 256, as
//! [`cg_curvature`](super::cg_curvature).

use super::sums::{PARTIAL_SUMS, part_range, real_product};
use warpstride_device::prelude::*;

/// `ahead = next + m (next − now)`, `now = next`, with m = `momenta[*iteration]`, and the same for the results of the
/// operator. The sums of |b − applied_next|² over the parts of the images go to row `*iteration` (modulo `rows`) of
/// `squares` (iteration, part).
#[kernel(block = 256, hot, f64)]
pub unsafe fn mri_fista_extrapolate(
    #[len(voxels)] ahead: *mut Complex32,
    #[len(voxels)] now: *mut Complex32,
    #[len(voxels)] next: *const Complex32,
    #[len(voxels)] applied_ahead: *mut Complex32,
    #[len(voxels)] applied_now: *mut Complex32,
    #[len(voxels)] applied_next: *const Complex32,
    #[len(voxels)] b: *const Complex32,
    #[len(iterations)] momenta: *const f32,
    #[len(rows * PARTIAL_SUMS)] squares: *mut f64,
    #[len(1)] iteration: *const u32,
    voxels: u32,
    iterations: u32,
    rows: u32,
) {
    let number = *iteration;
    if number >= iterations || rows == 0 {
        return;
    }
    let momentum = *momenta.add(number as usize);
    let squares = squares.add((number % rows) as usize * PARTIAL_SUMS);
    for part in thread::block_stride(PARTIAL_SUMS as u32) {
        let (first, end) = part_range(part, voxels as usize);
        let mut sum = 0.0;
        for at in thread::thread_stride((end - first) as u32) {
            let at = first + at as usize;
            let x = *next.add(at);
            *ahead.add(at) = x + (x - *now.add(at)).scale(momentum);
            *now.add(at) = x;
            let a_x = *applied_next.add(at);
            *applied_ahead.add(at) = a_x + (a_x - *applied_now.add(at)).scale(momentum);
            *applied_now.add(at) = a_x;
            let r = *b.add(at) - a_x;
            sum += real_product(r, r);
        }
        let sum = reduce::block_sum_f64(sum);
        if thread::index_in_block() == 0 {
            *squares.add(part as usize) = sum;
        }
    }
}
