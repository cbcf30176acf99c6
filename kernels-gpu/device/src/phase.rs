//! Sine and cosine of angles in turns (1 turn = 2π).
//!
//! In turns the reduction to half a turn is exact (`t − rint(t)`), whatever the angle, so the error
//! does not grow with it as it does in radians.

use crate::Complex32;
#[cfg(target_arch = "nvptx64")]
use crate::float::GpuFloat as _;
use crate::float::{cos_approx, sin_approx};

/// exp(2πi t) by the device's approximate sine and cosine: each part within 9·10⁻⁷ of the exact
/// value for the given `t` (2⁻²⁰·⁵ of the instructions for arguments in −π … π, and 2.1·10⁻⁷ of the
/// argument's rounding).
#[inline(always)]
#[must_use]
pub fn sincos_turns_fast(t: f32) -> Complex32 {
    let x = (t - t.round_ties_even()) * core::f32::consts::TAU;
    Complex32::new(cos_approx(x), sin_approx(x))
}

/// exp(2πi t) by polynomials, the same on both sides: each part within 1.2·10⁻⁷ (one unit in the
/// last place of 1) of the exact value for the given `t`.
///
/// After reduction to an eighth of a turn, Taylor's series of degree 9 (sine) and 8 (cosine) of the
/// angle in radians: the first dropped terms are below 2·10⁻⁹ at π/4.
#[inline(always)]
#[must_use]
pub fn sincos_turns_accurate(t: f32) -> Complex32 {
    let reduced = t - t.round_ties_even();
    let quarter = (4.0 * reduced).round_ties_even();
    let x = quarter.mul_add(-0.25, reduced) * core::f32::consts::TAU;
    let x2 = x * x;
    let sin_tail = x2
        .mul_add(1.0 / 362_880.0, -1.0 / 5_040.0)
        .mul_add(x2, 1.0 / 120.0)
        .mul_add(x2, -1.0 / 6.0);
    let sin = (x * x2).mul_add(sin_tail, x);
    let cos_tail = x2
        .mul_add(1.0 / 40_320.0, -1.0 / 720.0)
        .mul_add(x2, 1.0 / 24.0)
        .mul_add(x2, -0.5);
    let cos = x2.mul_add(cos_tail, 1.0);
    match quarter as i32 & 3 {
        0 => Complex32::new(cos, sin),
        1 => Complex32::new(-sin, cos),
        2 => Complex32::new(-cos, -sin),
        _ => Complex32::new(sin, -cos),
    }
}
