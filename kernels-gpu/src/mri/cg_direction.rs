//! Conjugate gradients, third of three launches: the next direction.
//!
//! A thread processes one voxel: reads 16 bytes, writes 8. Block of 256, as [`cg_curvature`](super::cg_curvature).

use super::sums::total;
use warpstride_device::prelude::*;

/// β = |r|² / |previous r|²; `direction ← residual + β direction`. Stores |r|² in `history[*iteration + 1]`.
#[kernel(block = 256, hot, f64)]
pub unsafe fn mri_cg_direction(
    #[len(voxels)] direction: *mut Complex32,
    #[len(voxels)] residual: *const Complex32,
    #[len(super::PARTIAL_SUMS)] squares: *const f64,
    #[len(entries)] history: *mut f64,
    #[len(1)] iteration: *const u32,
    voxels: u32,
    entries: u32,
) {
    let after = total(squares);
    let now = *iteration;
    if now >= entries || entries - now < 2 {
        return;
    }
    let before = *history.add(now as usize);
    let beta = if before > 0.0 {
        (after / before) as f32
    } else {
        0.0
    };
    for at in thread::grid_stride(voxels as usize) {
        *direction.add(at) = *residual.add(at) + (*direction.add(at)).scale(beta);
    }
    if thread::index_1d() == 0 {
        *history.add(now as usize + 1) = after;
    }
}
