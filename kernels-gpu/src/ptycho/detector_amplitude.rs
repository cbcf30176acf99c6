//! The amplitude of a pixel with a background: √(I + min(1, b)/4), as roots of counts are too small in the mean (`docs/ptychography.md`,
//! section 4c′).

use warpstride_device::prelude::*;

/// The corrected amplitude, from √counts and the background.
#[inline(always)]
pub(super) fn amplitude(magnitude: f32, background: f32) -> f32 {
    if background > 0.0 {
        let counts = magnitude.mul_add(magnitude, 0.25 * background.min(1.0));
        GpuFloat::sqrt(counts)
    } else {
        magnitude
    }
}

/// The same in double precision.
#[inline(always)]
pub(super) fn wide_amplitude(magnitude: f32, background: f32) -> f64 {
    let magnitude = f64::from(magnitude);
    if background > 0.0 {
        let correction = 0.25 * f64::from(background).min(1.0);
        GpuFloat::sqrt(magnitude * magnitude + correction)
    } else {
        magnitude
    }
}
