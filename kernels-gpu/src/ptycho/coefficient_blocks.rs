//! Coefficients of the probe's variations of a block of frames: gathered before work on it and put back afterwards.
//!
//! A thread copies one value: reads and writes 4 bytes. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// Copies the coefficients (frame, k) of the frames `order[first..first + count]` from `of_scan` to `of_block`, in this order, or
/// back if `back` is not 0.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the scan and of the block"
)]
pub unsafe fn ptycho_copy_coefficients(
    #[len(frames * variations)] of_scan: *mut f32,
    #[len(count * variations)] of_block: *mut f32,
    #[len(first + count)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    variations: u32,
    back: u32,
) {
    let size = variations as usize;
    if size == 0 {
        return;
    }
    for at in thread::grid_stride(count as usize * size) {
        let frame = *order.add(first as usize + at / size);
        if frame < frames {
            let place = frame as usize * size + at % size;
            if back == 0 {
                *of_block.add(at) = *of_scan.add(place);
            } else {
                *of_scan.add(place) = *of_block.add(at);
            }
        }
    }
}
