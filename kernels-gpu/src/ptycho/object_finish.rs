//! The last step of an object update with atomics: computes values from sums.
//!
//! A thread processes one object pixel: reads 20 bytes (object, numerator, denominator), writes 8. Block of 256:
//! independent threads, little state.

use warpstride_device::prelude::*;

/// `O ← [weight · O + numerator] / [weight + denominator]`, with its modulus clipped to the limits (see
/// `object_update_tiled`) for `pixels` values in layers of `plane` with the same denominators. Does nothing while `*gate` is not 0.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_object_finish(
    #[len(pixels)] object: *mut Complex32,
    #[len(pixels)] numerator: *const Complex32,
    #[len(plane)] denominator: *const f32,
    #[len(1)] gate: *const u32,
    pixels: u32,
    plane: u32,
    weight: f32,
    clip_low: f32,
    clip_high: f32,
) {
    if *gate != 0 || plane == 0 {
        return;
    }
    for pixel in thread::grid_stride(pixels as usize) {
        let sum = *numerator.add(pixel);
        let total = *denominator.add(pixel % plane as usize);
        let place = object.add(pixel);
        *place = finished(*place, sum, total, weight, clip_low, clip_high);
    }
}

/// One object value from its sums. A pixel that no frame illuminates is unchanged.
#[inline(always)]
pub(super) fn finished(
    before: Complex32,
    numerator: Complex32,
    denominator: f32,
    weight: f32,
    clip_low: f32,
    clip_high: f32,
) -> Complex32 {
    let total = denominator + weight;
    let mut value = before;
    if total > 0.0 {
        value = before.scale_add(weight, numerator).scale(1.0 / total);
    }
    clipped(value, clip_low, clip_high)
}

/// `value` with its modulus clipped to the limits; `high` < 0: no limits. Zero becomes the lower limit.
#[inline(always)]
pub(super) fn clipped(value: Complex32, low: f32, high: f32) -> Complex32 {
    if high < 0.0 {
        return value;
    }
    let modulus = GpuFloat::sqrt(value.norm_sqr());
    let wanted = modulus.max(low).min(high);
    if wanted == modulus {
        value
    } else if modulus > 0.0 {
        // Rounded, so that it is not fused with what is added to it.
        let factor = wanted / modulus;
        Complex32::new(value.re.mul_rounded(factor), value.im.mul_rounded(factor))
    } else {
        Complex32::new(wanted, 0.0)
    }
}
