//! The blur of the detector along one axis: a circular convolution of each frame with a few weights; and after the second
//! axis the background.
//!
//! A thread processes four values, a quarter of the array apart, so that threads read and write side by side and a weight is loaded once
//! for four of them; neighbours and weights come from the caches. Reads and writes 4 bytes a value, 4 more of the background from the
//! caches; 2 operations a value and weight. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// Values of a thread.
pub const VALUES: usize = 4;

/// Quotient and remainder. A division of 64 bits takes several times as long as one of 32.
#[inline(always)]
fn divided(number: usize, by: usize) -> (usize, usize) {
    if number | by <= u32::MAX as usize {
        let (number, by) = (number as u32, by as u32);
        ((number / by) as usize, (number % by) as usize)
    } else {
        (number / by, number % by)
    }
}

/// `to[i] = Σ_k weights[k] from[i + k − before]` along the axis of `length` > 0 and `stride` > 0 of whole arrays (…, length, stride), whose
/// ends are neighbours; `before` < `length`. With `add` 1 `background` (pixel) is added, of which each frame has as many.
#[kernel(block = 256, min_blocks = 3, hot)]
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
    let line = length * stride;
    let whole = elements - divided(elements, line).1;
    let quarter = whole.div_ceil(VALUES);
    for first in thread::grid_stride(quarter) {
        let mut sums = [0.0_f32; VALUES];
        // Where lines begin, and the values that come next.
        let mut begins = [0_usize; VALUES];
        let mut next = [0_usize; VALUES];
        let mut wraps = false;
        for value in 0..VALUES {
            let at = first + value * quarter;
            // Beyond the end nothing is written.
            let at = if at < whole { at } else { first };
            let (row, _) = divided(at, stride);
            let (_, place) = divided(row, length);
            let other = if place >= before {
                place - before
            } else {
                place + length - before
            };
            begins[value] = at - place * stride;
            next[value] = begins[value] + other * stride;
            wraps |= other + taps as usize > length;
        }
        // Most lines are read in one piece, with few instructions a value.
        if !wraps {
            for k in 0..taps as usize {
                let weight = *weights.add(k);
                for value in 0..VALUES {
                    let beside = from.add(next[value] + k * stride);
                    sums[value] = weight.mul_add(*beside, sums[value]);
                }
            }
        }
        for k in 0..if wraps { taps as usize } else { 0 } {
            let weight = *weights.add(k);
            for value in 0..VALUES {
                sums[value] = weight.mul_add(*from.add(next[value]), sums[value]);
                let after = next[value] + stride;
                next[value] = if after - begins[value] >= line {
                    after - line
                } else {
                    after
                };
            }
        }
        for value in 0..VALUES {
            let at = first + value * quarter;
            if at >= whole {
                continue;
            }
            let added = if add != 0 {
                *background.add(divided(at, pixels as usize).1)
            } else {
                0.0
            };
            *to.add(at) = sums[value] + added;
        }
    }
}
