//! Smoothing of an array along one axis with a symmetric kernel; outside of the array are zeros.
//!
//! A thread processes one value; its neighbours come from the caches. Reads and writes 8 bytes a value. Block of 256.

use warpstride_device::prelude::*;

/// `to` from `from` (…, length, stride) along the axis of `length` > 0 and `stride` > 0; `kernel` from its middle.
#[kernel(block = 256)]
#[allow(clippy::too_many_arguments, reason = "the arrays and their shapes")]
pub unsafe fn ptycho_gaussian_smoothing(
    #[len(elements)] to: *mut Complex32,
    #[len(elements)] from: *const Complex32,
    #[len(taps)] kernel: *const f32,
    elements: u32,
    taps: u32,
    length: u32,
    stride: u32,
) {
    if length == 0 || stride == 0 || taps == 0 {
        return;
    }
    let (length, stride) = (length as usize, stride as usize);
    for at in thread::grid_stride(elements as usize) {
        let place = at / stride % length;
        let mut sum = (*from.add(at)).scale(*kernel);
        for k in 1..taps as usize {
            let weight = *kernel.add(k);
            if k <= place {
                sum = (*from.add(at - k * stride)).scale_add(weight, sum);
            }
            let next = at + k * stride;
            if place + k < length && next < elements as usize {
                sum = (*from.add(next)).scale_add(weight, sum);
            }
        }
        *to.add(at) = sum;
    }
}
