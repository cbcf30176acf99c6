//! The losses of maximum likelihood: functions of a pixel's model intensity and √counts, and their derivatives, in
//! double precision, and in single precision for kernels that hold a frame in registers.

use warpstride_device::prelude::*;

/// ½ (I_m − I)²/(1 + I).
pub const GAUSSIAN: u32 = 0;
/// I_m − I − I log(I_m/I).
pub const POISSON: u32 = 1;
/// (√I_m − √I)².
pub const AMPLITUDE: u32 = 2;

/// Added to the modelled intensity before dividing by it, counts.
const FLOOR: f64 = 1e-10;

/// The loss of one pixel.
#[inline(always)]
pub(super) fn loss(noise: u32, model: f64, root: f64) -> f64 {
    let counts = root * root;
    if noise == GAUSSIAN {
        let by = model - counts;
        0.5 * by * by / (1.0 + counts)
    } else if noise == AMPLITUDE {
        let by = GpuFloat::sqrt(model + FLOOR) - root;
        by * by
    } else if counts > 0.0 {
        model - counts - counts * ln((model + FLOOR) / counts)
    } else {
        model
    }
}

/// D, the derivative of the loss by the model intensity.
#[inline(always)]
pub(super) fn slope(noise: u32, model: f64, root: f64) -> f64 {
    let counts = root * root;
    if noise == GAUSSIAN {
        (model - counts) / (1.0 + counts)
    } else if noise == AMPLITUDE {
        1.0 - root / GpuFloat::sqrt(model + FLOOR)
    } else {
        1.0 - counts / (model + FLOOR)
    }
}

/// Adds a pixel's part of the coefficients of the objective along a line, on which the intensity is Σ along\[k\] tᵏ:
/// for Gaussian noise all nine of a polynomial of degree 8; for the others loss, slope, half the second derivative, and
/// the part of the latter that is never negative.
#[inline(always)]
pub(super) fn add_line_terms(sums: &mut [f64; 9], noise: u32, along: [f64; 5], root: f64) {
    let [model, a1, a2, a3, a4] = along;
    let counts = root * root;
    if noise == GAUSSIAN {
        let (a0, w) = (model - counts, 1.0 / (1.0 + counts));
        sums[0] += 0.5 * w * a0 * a0;
        sums[1] += w * a0 * a1;
        sums[2] += w * (a0 * a2 + 0.5 * a1 * a1);
        sums[3] += w * (a0 * a3 + a1 * a2);
        sums[4] += w * (a0 * a4 + a1 * a3 + 0.5 * a2 * a2);
        sums[5] += w * (a1 * a4 + a2 * a3);
        sums[6] += w * (a2 * a4 + 0.5 * a3 * a3);
        sums[7] += w * a3 * a4;
        sums[8] += 0.5 * w * a4 * a4;
        return;
    }
    let floored = model + FLOOR;
    let curvature = if noise == AMPLITUDE {
        0.5 * root / (floored * GpuFloat::sqrt(floored))
    } else {
        counts / (floored * floored)
    };
    let slope = slope(noise, model, root);
    let bent = 0.5 * curvature * a1 * a1;
    sums[0] += loss(noise, model, root);
    sums[1] += slope * a1;
    sums[2] += slope * a2 + bent;
    sums[3] += bent;
}

/// The natural logarithm of a positive, normal number, to a few units in the last place: 2 artanh((m − 1)/(m + 1)) of
/// the significand m between √½ and √2, by its series.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    const BIAS: i64 = 1023;
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - BIAS;
    let mut m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    if m > core::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut series = 0.0;
    // |s| is at most 0.172, so s²³/23 is below half a unit of the last place.
    let mut k = 21;
    while k >= 3 {
        series = (series + 1.0 / f64::from(k)) * square;
        k -= 2;
    }
    2.0 * s * (1.0 + series) + exponent as f64 * core::f64::consts::LN_2
}

/// The loss of one pixel for Poisson or amplitude noise and its derivative by the model intensity, in single precision.
/// `floored` is the model intensity plus 1e-10, then its root and the inverse of that. The loss is exact to some 1e-6 of
/// itself and of the intensity's relative deviation.
#[inline(always)]
pub(super) fn loss_and_slope<const NOISE: u32>(
    [floored, model_root, inverse_root]: [f32; 3],
    root: f32,
) -> (f32, f32) {
    let slope = slope_of::<NOISE>([floored, model_root, inverse_root], root);
    let counts = root * root;
    let loss = if NOISE == AMPLITUDE {
        let by = model_root - root;
        by * by
    } else if counts > 0.0 {
        let ratio = float::div_approx(floored, counts);
        counts * less_logarithm(float::div_approx(floored - counts, counts), ratio)
    } else {
        floored
    };
    (loss, slope)
}

/// The derivative of the loss by the model intensity, with the arguments of [`loss_and_slope`].
#[inline(always)]
pub(super) fn slope_of<const NOISE: u32>(
    [floored, model_root, inverse_root]: [f32; 3],
    root: f32,
) -> f32 {
    if NOISE == AMPLITUDE {
        (model_root - root) * inverse_root
    } else {
        (floored - root * root) * inverse_root * inverse_root
    }
}

/// The derivative of [`slope_of`] by the model intensity.
#[inline(always)]
pub(super) fn curvature<const NOISE: u32>(inverse_root: f32, root: f32) -> f32 {
    let counts = root * root;
    let inverse = inverse_root * inverse_root;
    if NOISE == AMPLITUDE {
        0.5 * root * inverse * inverse_root
    } else {
        counts * inverse * inverse
    }
}

/// d − log(1 + d) for d > −1, to about 1e-6 of itself, near 0 too; `ratio` is 1 + d as its own number, which is exact where
/// that is small. With ratio = 2ᵉ m, m between √½ and √2, and s = (m − 1)/(m + 1), it is d − e log 2 − 2 artanh s, and
/// d − 2 s = d s if e = 0.
#[inline(always)]
pub fn less_logarithm(d: f32, ratio: f32) -> f32 {
    const LOWEST: i32 = core::f32::consts::FRAC_1_SQRT_2.to_bits() as i32;
    const EXPONENT: i32 = 23;
    let bits = ratio.to_bits() as i32;
    let exponent = (bits - LOWEST) >> EXPONENT;
    let m = f32::from_bits((bits - (exponent << EXPONENT)) as u32);
    // Without the rounding of 1 + d where it matters.
    let from_one = if exponent == 0 { d } else { m - 1.0 };
    let s = float::div_approx(from_one, 2.0 + from_one);
    let square = s * s;
    // |s| is at most 0.172, so s¹³/13 is below half a unit of the last place of 2 s.
    let mut series = 1.0 / 11.0;
    series = square.mul_add(series, 1.0 / 9.0);
    series = square.mul_add(series, 1.0 / 7.0);
    series = square.mul_add(series, 1.0 / 5.0);
    series = square.mul_add(series, 1.0 / 3.0);
    let rest = 2.0 * s * square * series;
    if exponent == 0 {
        d.mul_add(s, -rest)
    } else {
        (-(exponent as f32)).mul_add(core::f32::consts::LN_2, d) - 2.0 * s - rest
    }
}
