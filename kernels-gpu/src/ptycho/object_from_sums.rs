//! The last step of an object update from sums in fixed point (`ptycho::fixed_point`).
//!
//! Of an object pixel 21 bytes are read (object, sum, fluence, quantum) and 16 written: the object, and 0 to the sum, so that
//! the next iteration can add to it. Where several devices divide the frames, each updates a part of the object, and reads 8 bytes more for each
//! other device; of the other pixels it only writes the 0. A thread of a block of 256 loads four pixels before it stores the first: with one
//! at a time it waits for memory (0.128 ms for 3.2 million pixels, where a copy of as many bytes takes 0.031).

use super::fixed_point::{quantum, unpacked};
use super::object_finish::finished;
use warpstride_device::prelude::*;

/// Pixels that a thread loads together.
const TOGETHER: usize = 4;

/// `O ← [weight · O + sum/quanta] / [weight + fluence]`, with its modulus clipped to the limits (see
/// `object_update_tiled`), of the `own` pixels from `first` on, with `others` further sums of these pixels (other, pixel); then the sums of
/// all pixels are 0. `update` 0: only the sums change.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_object_from_sums(
    #[len(pixels)] object: *mut Complex32,
    #[len(pixels)] sums: *mut u64,
    #[len(pixels)] fluence: *const f32,
    #[len(pixels)] quanta: *const u8,
    #[len(count * own)] others: *const u64,
    pixels: u32,
    first: u32,
    own: u32,
    count: u32,
    update: u32,
    weight: f32,
    clip_low: f32,
    clip_high: f32,
) {
    let threads = thread::block_threads();
    for item in thread::block_stride(pixels.div_ceil(threads * TOGETHER as u32)) {
        let begin = item * threads * TOGETHER as u32 + thread::index_in_block();
        let mut before = [Complex32::ZERO; TOGETHER];
        let mut loaded = [0_u64; TOGETHER];
        let mut factors = [(1.0_f32, 0_u32); TOGETHER];
        for u in 0..TOGETHER {
            let pixel = begin + u as u32 * threads;
            // A negative difference wraps to a large number.
            let place = pixel.wrapping_sub(first);
            if pixel < pixels && place < own {
                before[u] = *object.add(pixel as usize);
                loaded[u] = *sums.add(pixel as usize);
                for other in 0..count {
                    let at = other as usize * own as usize + place as usize;
                    loaded[u] = loaded[u].wrapping_add(*others.add(at));
                }
                factors[u] = (
                    *fluence.add(pixel as usize),
                    u32::from(*quanta.add(pixel as usize)),
                );
            }
        }
        for u in 0..TOGETHER {
            let pixel = begin + u as u32 * threads;
            if pixel < pixels {
                *sums.add(pixel as usize) = 0;
                if update != 0 && pixel.wrapping_sub(first) < own {
                    let (total, exponent) = factors[u];
                    let sum = unpacked(loaded[u]).scale(1.0 / quantum(exponent));
                    *object.add(pixel as usize) =
                        finished(before[u], sum, total, weight, clip_low, clip_high);
                }
            }
        }
    }
}
