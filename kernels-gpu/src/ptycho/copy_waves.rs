//! Waves copied while a gate is open: how a change made on a work copy comes home, or not.
//!
//! A thread does one element: reads 8 bytes, writes 8; nothing at all behind a shut gate. Block of
//! 256: nothing shared.

use warpstride_device::prelude::*;

/// `to ← from`. Does nothing while `*gate` is not 0.
#[kernel(block = 256)]
pub unsafe fn copy_waves(
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
