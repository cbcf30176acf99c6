//! Decides whether the alternation of object and probe updates has converged: ‖ΔP‖ relative to ‖P‖.
//!
//! One block adds the whole probe (16 bytes per pixel and mode, a few hundred KiB) in a fixed order, and closes the
//! gate that the kernels of the next alternation read, without the host. Block of 1024: a single block must read
//! everything.

use warpstride_device::prelude::*;

/// Sets `*gate` to 1 if `Σ |after − before|² < tolerance² · Σ |before|²`. Launched with one block.
#[kernel(block = 1024)]
pub unsafe fn ptycho_probe_change(
    #[len(elements)] before: *const Complex32,
    #[len(elements)] after: *const Complex32,
    #[len(1)] gate: *mut u32,
    elements: u32,
    tolerance: f32,
) {
    let (mut moved, mut norm) = (0.0, 0.0);
    for at in thread::thread_stride(elements) {
        let b = *before.add(at as usize);
        moved += (*after.add(at as usize) - b).norm_sqr();
        norm += b.norm_sqr();
    }
    let (moved, norm) = reduce::block_sum_pair(moved, norm);
    if thread::index_in_block() == 0 && moved < tolerance * tolerance * norm {
        *gate = 1;
    }
}
