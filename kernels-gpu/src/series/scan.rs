//! Sums of whole numbers over all that stand before.
//!
//! [`series_scan_rows`]: a block does a row, a thread a number at a time; reads and writes 4 bytes a number. Rows are
//! short (a number for 4096 points), so a block of 512 walks through one in a few steps.

use warpstride_device::prelude::*;

/// The sum of the values of all threads before this one, and of all threads of the block.
///
/// The condition of a branch before the call must not be asked again behind it: rustc's jump threading would make two
/// calls of the one, for threads that wait for each other (docs/toolchain.md; `build-ptx` refuses it).
///
/// # Safety
/// All threads of the block call it together.
#[inline(always)]
pub(super) unsafe fn before(value: u32) -> (u32, u32) {
    let sums = shared_array![u32; 32];
    let lane = warp::lane_id();
    let mut through = value;
    let mut distance = 1;
    while distance < warp::SIZE {
        let below = warp::shuffle_up(warp::FULL, through, distance);
        if lane >= distance {
            through += below;
        }
        distance *= 2;
    }
    if lane == warp::SIZE - 1 {
        *sums.add(warp::warp_id() as usize) = through;
    }
    thread::sync_threads();
    let (mut before, mut all) = (through - value, 0);
    for warp in 0..thread::block_threads() / warp::SIZE {
        let sum = *sums.add(warp as usize);
        all += sum;
        if warp < warp::warp_id() {
            before += sum;
        }
    }
    // The sums are read.
    thread::sync_threads();
    (before, all)
}

/// Every number becomes the sum of those before it in its row; `totals` gets the sums of the rows. `counts`: (row,
/// place).
#[kernel(block = 512, hot)]
pub unsafe fn series_scan_rows(
    #[len(rows * length)] counts: *mut u32,
    #[len(rows)] totals: *mut u32,
    rows: u32,
    length: u32,
) {
    for row in thread::block_stride(rows) {
        let counts = counts.add(row as usize * length as usize);
        let (mut sum, mut from) = (0, 0);
        while from < length {
            let i = from + thread::index_in_block();
            // No branch: see `before`.
            let value = *counts.add(i.min(length - 1) as usize) * u32::from(i < length);
            let (before, all) = before(value);
            if i < length {
                *counts.add(i as usize) = sum + before;
            }
            sum += all;
            from = from.saturating_add(thread::block_threads());
        }
        if thread::index_in_block() == 0 {
            *totals.add(row as usize) = sum;
        }
    }
}
