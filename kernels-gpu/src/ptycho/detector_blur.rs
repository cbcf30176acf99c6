//! The blur of the detector along one axis: a circular convolution of each frame with a few weights; and after the second
//! axis the background.
//!
//! A thread processes one value; its neighbours and the weights come from the caches. Reads and writes 4 bytes a value, 4 more of the
//! background from the caches; 2 operations a value and weight. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `to[i] = Σ_k weights[k] from[i + k − before]` along the axis of `length` > 0 and `stride` > 0 of arrays (…, length, stride), whose
/// ends are neighbours; `before` < `length`. With `add` 1 `background` (pixel) is added, of which each frame has as many.
#[kernel(block = 256, min_blocks = 4, hot)]
#[allow(clippy::too_many_arguments, reason = "the arrays and their shapes")]
pub unsafe fn ptycho_detector_blur(
    #[len(elements)] to: *mut f32,
    #[len(elements)] from: *const f32,
    #[len(taps)] weights: *const f32,
    #[len(pixels * add.min(1))] background: *const f32,
    elements: usize,
    taps: u32,
    before: u32,
    length: u32,
    stride: u32,
    pixels: u32,
    add: u32,
) {
    if length == 0 || stride == 0 || before >= length || pixels == 0 {
        return;
    }
    let (length, stride) = (length as usize, stride as usize);
    let before = before as usize;
    for at in thread::grid_stride(elements) {
        let place = at / stride % length;
        let line = at - place * stride;
        // Lines are whole.
        if elements - line <= (length - 1) * stride {
            continue;
        }
        let mut other = if place >= before {
            place - before
        } else {
            place + length - before
        };
        let mut sum = 0.0;
        for k in 0..taps as usize {
            sum = (*weights.add(k)).mul_add(*from.add(line + other * stride), sum);
            other += 1;
            if other == length {
                other = 0;
            }
        }
        if add != 0 {
            sum += *background.add(at % pixels as usize);
        }
        *to.add(at) = sum;
    }
}
