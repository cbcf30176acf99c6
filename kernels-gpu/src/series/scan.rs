//! Exclusive prefix sums of integers.
//!
//! [`series_scan_rows`]: a block processes one row, a thread one number at a time; reads and writes 4 bytes a number.
//! Rows are short (a number for 4096 points), so that a block of 512 walks through one in a few steps.

use warpstride_device::prelude::*;

/// The sum of the values of all earlier threads, and of all threads of the block.
///
/// If a branch precedes the call, its condition must not be used for another branch after it: rustc's jump threading
/// would duplicate the call, and threads of one warp would wait for each other forever (docs/toolchain.md;
/// `build-ptx` refuses such a kernel).
///
/// # Safety
///
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
    // All threads have read the sums.
    thread::sync_threads();
    (before, all)
}

/// Replaces every number by the sum of the earlier ones in its row; `totals` gets the sums of the rows. `counts`:
/// (row, column).
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
            // Computed without a branch: see `before`.
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
