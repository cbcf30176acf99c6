//! Copies waves while a gate is open: accepts or discards a change made on a work copy.
//!
//! A thread processes one element: reads 8 bytes, writes 8; nothing if the gate is closed. Block of 256: the threads
//! are independent.

use warpstride_device::prelude::*;

/// `to ← from`. Does nothing while `*gate` is not 0.
#[kernel(block = 256)]
pub unsafe fn ptycho_copy_waves(
    #[len(elements)] to: *mut Complex32,
    #[len(elements)] from: *const Complex32,
    #[len(1)] gate: *const u32,
    elements: u32,
) {
    if *gate != 0 {
        return;
    }
    for at in thread::grid_stride(elements as usize) {
        *to.add(at) = *from.add(at);
    }
}
