//! The last step of a direction: divides every layer by a denominator from the weights.
//!
//! A thread processes one value. Reads 12 bytes, writes 8. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `direction ← direction/D(W + extra)` (layer, pixel), 0 where D is 0; D(W) = √(W² + (floor · max W)²) if `alpha` < 0,
/// else (1 − alpha) W + alpha · max W. `largest` has the bits of the largest weight.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays and the constants of the method"
)]
pub unsafe fn ptycho_direction_finish(
    #[len(layers * pixels)] direction: *mut Complex32,
    #[len(pixels)] weights: *const f32,
    #[len(1)] largest: *const u32,
    layers: u32,
    pixels: u32,
    extra: f32,
    floor: f32,
    alpha: f32,
) {
    if pixels == 0 {
        return;
    }
    let most = f32::from_bits(*largest) + extra;
    for at in thread::grid_stride(layers as usize * pixels as usize) {
        let weight = *weights.add(at % pixels as usize) + extra;
        *direction.add(at) = divided(*direction.add(at), weight, most, floor, alpha);
    }
}

/// `value/D(weight)`, where `most` is the largest weight.
#[inline(always)]
pub(super) fn divided(
    value: Complex32,
    weight: f32,
    most: f32,
    floor: f32,
    alpha: f32,
) -> Complex32 {
    let divisor = if alpha < 0.0 {
        let least = floor * most;
        GpuFloat::sqrt(weight.mul_add(weight, least * least))
    } else {
        (1.0 - alpha).mul_add(weight, alpha * most)
    };
    if divisor > 0.0 {
        value.scale(1.0 / divisor)
    } else {
        Complex32::ZERO
    }
}
