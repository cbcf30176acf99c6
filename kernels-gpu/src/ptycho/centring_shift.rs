//! Finds the probe's centre of mass, and the shift in whole pixels that centres it.
//!
//! One block adds the probe's power (4 bytes a pixel) in a fixed order, so that the result stays on the device. Block
//! of 1024: a single block must read everything.

use warpstride_device::prelude::*;

/// Writes `shift` (rows, columns), computed from `power` (row, column): zero while the centre of mass is within
/// `tolerance` pixels of (rows/2, columns/2). Launched with one block.
#[kernel(block = 1024)]
pub unsafe fn ptycho_centring_shift(
    #[len(rows * columns)] power: *const f32,
    #[len(2)] shift: *mut i32,
    rows: u32,
    columns: u32,
    tolerance: f32,
) {
    if columns == 0 {
        return;
    }
    let (mut total, mut down, mut right) = (0.0, 0.0, 0.0);
    for pixel in thread::thread_stride(rows * columns) {
        let p = *power.add(pixel as usize);
        // Relative to the centre, so that the sums are small, and exact where precision matters.
        let row = (pixel / columns) as i32 - (rows / 2) as i32;
        let column = (pixel % columns) as i32 - (columns / 2) as i32;
        total += p;
        down += p * row as f32;
        right += p * column as f32;
    }
    let total = reduce::block_sum(total);
    let (down, right) = reduce::block_sum_pair(down, right);
    if thread::index_in_block() == 0 {
        let mut moves = [0, 0];
        if total > 0.0 {
            let off = [-down / total, -right / total];
            if off[0] * off[0] + off[1] * off[1] > tolerance * tolerance {
                moves = [
                    GpuFloat::round_ties_even(off[0]) as i32,
                    GpuFloat::round_ties_even(off[1]) as i32,
                ];
            }
        }
        *shift = moves[0];
        *shift.add(1) = moves[1];
    }
}
