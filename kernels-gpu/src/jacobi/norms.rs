//! Adds the strips' sums of squared changes.
//!
//! A block processes one sweep at a time: its threads add every 256th number in order, then the threads' sums are
//! added pairwise. Reads 8 bytes for each strip, window and sweep, a few thousand of them, which is negligible beside
//! a pass. Block of 256: one round for the usual numbers of strips.

use warpstride_device::prelude::*;

/// `totals[i]` is the sum of the first `count` of row `first + i · every` of `sums` (row, `stride`),
/// for `sweeps` rows.
#[kernel(block = 256, hot, f64)]
pub unsafe fn jacobi_norms(
    #[len(sweeps)] totals: *mut f64,
    #[len(rows * stride)] sums: *const f64,
    rows: u32,
    stride: u32,
    count: u32,
    first: u32,
    every: u32,
    sweeps: u32,
) {
    for sweep in thread::block_stride(sweeps) {
        let row = first as usize + sweep as usize * every as usize;
        let mut sum = 0.0;
        if row < rows as usize {
            let numbers = sums.add(row * stride as usize);
            for i in thread::thread_stride(count.min(stride)) {
                sum += *numbers.add(i as usize);
            }
        }
        let sum = reduce::block_sum_f64(sum);
        if thread::index_in_block() == 0 {
            *totals.add(sweep as usize) = sum;
        }
    }
}
