//! Sine and cosine of angles in turns (1 turn = 2π).
//!
//! In turns the reduction to half a turn is exact (`t − rint(t)`), whatever the angle, so the error does not grow
//! with the angle as it does in radians.

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
    turned(x, quarter as i32 as u32)
}

/// exp(2πi t) for t = `fraction`/2³² turns, by polynomials: each part within 1.2·10⁻⁷ of the exact value. Whole turns
/// wrap around in integers, so products of a fraction with integers are reduced exactly.
#[inline(always)]
#[must_use]
pub fn sincos_fraction_accurate(fraction: u32) -> Complex32 {
    let quarter = fraction.wrapping_add(1 << 29) >> 30;
    let rest = fraction.wrapping_sub(quarter << 30) as i32;
    turned(rest as f32 * FRACTION, quarter)
}

/// exp(2πi t) for t = `fraction`/2³² turns, by the device's approximate sine and cosine: each part
/// within 10⁻⁶ of the exact value.
#[inline(always)]
#[must_use]
pub fn sincos_fraction_fast(fraction: u32) -> Complex32 {
    let x = fraction as i32 as f32 * FRACTION;
    Complex32::new(cos_approx(x), sin_approx(x))
}

/// 2⁻³² turns in radians.
const FRACTION: f32 = core::f32::consts::TAU / 4_294_967_296.0;

/// exp(ix) for |x| ≤ π/4, rotated by quarter turns.
#[inline(always)]
fn turned(x: f32, quarters: u32) -> Complex32 {
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
    let (re, im) = if quarters & 1 == 0 {
        (cos, sin)
    } else {
        (sin, cos)
    };
    let negated = |value: f32, bit: u32| f32::from_bits(value.to_bits() ^ ((bit & 2) << 30));
    Complex32::new(negated(re, quarters.wrapping_add(1)), negated(im, quarters))
}
