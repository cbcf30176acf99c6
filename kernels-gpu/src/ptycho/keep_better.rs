//! Keeps the best of several trials of each frame.
//!
//! A thread processes one frame: reads 8 bytes, writes up to 8. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// If `trial` is 0: `best ← part · residual`, `chosen ← 0`. Else, where `residual` is smaller than `best`: `best ←
/// residual`, `chosen ← trial`. Of equal trials the first is kept; a NaN is never better.
#[kernel(block = 256)]
pub unsafe fn ptycho_keep_better(
    #[len(frames)] best: *mut f32,
    #[len(frames)] chosen: *mut u32,
    #[len(frames)] residual: *const f32,
    frames: u32,
    trial: u32,
    part: f32,
) {
    for frame in thread::grid_stride(frames as usize) {
        let found = *residual.add(frame);
        if trial == 0 {
            *best.add(frame) = part * found;
            *chosen.add(frame) = 0;
        } else if found < *best.add(frame) {
            *best.add(frame) = found;
            *chosen.add(frame) = trial;
        }
    }
}
