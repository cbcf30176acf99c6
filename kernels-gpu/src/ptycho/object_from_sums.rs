//! The last step of an object update from sums in fixed point (`ptycho::fixed_point`).
//!
//! A thread processes one object pixel: reads 24 bytes (object, sum, fluence, quantum), writes 16: the object, and 0 to the sum,
//! so that the next iteration can add to it. Block of 256: independent threads, little state.

use super::fixed_point::unpacked;
use super::object_finish::finished;
use warpstride_device::prelude::*;

/// `O ← [weight · O + sum/quanta] / [weight + fluence]`, with its modulus clipped to the limits (see
/// `object_update_tiled`); then the sums are 0. `update` 0: only the sums change.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_object_from_sums(
    #[len(pixels)] object: *mut Complex32,
    #[len(pixels)] sums: *mut u64,
    #[len(pixels)] fluence: *const f32,
    #[len(pixels)] quanta: *const f32,
    pixels: u32,
    update: u32,
    weight: f32,
    clip_low: f32,
    clip_high: f32,
) {
    for pixel in thread::grid_stride(pixels as usize) {
        let sum = unpacked(*sums.add(pixel)).scale(1.0 / *quanta.add(pixel));
        *sums.add(pixel) = 0;
        if update != 0 {
            let place = object.add(pixel);
            let total = *fluence.add(pixel);
            *place = finished(*place, sum, total, weight, clip_low, clip_high);
        }
    }
}
