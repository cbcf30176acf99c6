//! Exit waves in bf16 as complex numbers of two f32, for engines whose steps are separate kernels.
//!
//! A thread processes one element: reads 4 bytes, writes 8. Block of 256: the threads are independent.

use super::wave_storage::value;
use warpstride_device::prelude::*;

/// `to ← from`; exact.
#[kernel(block = 256, hot)]
pub unsafe fn ptycho_widen_waves(
    #[len(elements)] to: *mut Complex32,
    #[len(elements)] from: *const u32,
    elements: usize,
) {
    for at in thread::grid_stride(elements) {
        *to.add(at) = value(&*from.add(at));
    }
}
