//! Pairs of numbers of 16 bits in one `u32`, for storage: the first in the lower half, the second in the upper one.
//!
//! There are two formats: f16 (IEEE binary16: 11 significant bits, up to 65504) and bf16 (8 significant bits, the
//! range of `f32`).

/// Two numbers as a pair of f16, rounded to nearest, halves to even (`cvt.rn.f16x2.f32`). Numbers that are too large
/// become infinite; NaN becomes 0x7FFF.
#[inline(always)]
#[must_use]
pub fn pack_f16x2(re: f32, im: f32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic.
    return unsafe { crate::nvptx::pack_f16x2(re, im) };
    #[cfg(not(target_arch = "nvptx64"))]
    return pair(f16_bits(re), f16_bits(im));
}

/// The two numbers of a pair of f16; exact.
#[inline(always)]
#[must_use]
pub fn unpack_f16x2(pair: u32) -> (f32, f32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic.
    return unsafe { crate::nvptx::unpack_f16x2(pair) };
    #[cfg(not(target_arch = "nvptx64"))]
    return (f16_value(pair as u16), f16_value((pair >> 16) as u16));
}

/// Two numbers as a pair of bf16, rounded to nearest, halves to even (`cvt.rn.bf16x2.f32`). Numbers that are too large
/// become infinite; NaN becomes 0x7FFF.
#[inline(always)]
#[must_use]
pub fn pack_bf16x2(re: f32, im: f32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic.
    return unsafe { crate::nvptx::pack_bf16x2(re, im) };
    #[cfg(not(target_arch = "nvptx64"))]
    return pair(bf16_bits(re), bf16_bits(im));
}

/// The two numbers of a pair of bf16; exact.
#[inline(always)]
#[must_use]
pub fn unpack_bf16x2(pair: u32) -> (f32, f32) {
    (
        f32::from_bits(pair << 16),
        f32::from_bits(pair & 0xffff_0000),
    )
}

#[cfg(not(target_arch = "nvptx64"))]
fn pair(low: u16, high: u16) -> u32 {
    u32::from(high) << 16 | u32::from(low)
}

/// What the device's conversions make of NaN, whatever its sign and payload.
#[cfg(not(target_arch = "nvptx64"))]
const NAN: u16 = 0x7fff;

/// Explicit bits of the significand of f32, and of f16.
#[cfg(not(target_arch = "nvptx64"))]
const FRACTION: (u32, u32) = (23, 10);

#[cfg(not(target_arch = "nvptx64"))]
fn f16_bits(x: f32) -> u16 {
    const INFINITY: u32 = 0x7c00;
    /// The difference between the exponents' biases, 127 − 15.
    const BIAS: u32 = 112;
    if x.is_nan() {
        return NAN;
    }
    let sign = x.to_bits() >> 16 & 0x8000;
    let magnitude = x.to_bits() & 0x7fff_ffff;
    let exponent = magnitude >> FRACTION.0;
    let bits = if exponent > BIAS {
        // Normal. Rounding up may carry into the exponent, and from the greatest number to infinity.
        let rebiased = u64::from(magnitude) - (u64::from(BIAS) << FRACTION.0);
        (rounded_shift(rebiased, FRACTION.0 - FRACTION.1) as u32).min(INFINITY)
    } else {
        // Subnormal: a multiple of 2⁻²⁴. An f32 is its significand times 2^(exponent − 150).
        let significand = magnitude & 0x7f_ffff | u32::from(exponent > 0) << FRACTION.0;
        rounded_shift(u64::from(significand), (126 - exponent.max(1)).min(63)) as u32
    };
    (sign | bits) as u16
}

#[cfg(not(target_arch = "nvptx64"))]
fn bf16_bits(x: f32) -> u16 {
    if x.is_nan() {
        return NAN;
    }
    rounded_shift(u64::from(x.to_bits()), 16) as u16
}

/// `value / 2^shift` for a shift of 1 to 63, rounded to nearest, halves to even.
#[cfg(not(target_arch = "nvptx64"))]
fn rounded_shift(value: u64, shift: u32) -> u64 {
    let (kept, half) = (value >> shift, 1 << (shift - 1));
    let rest = value & ((1 << shift) - 1);
    kept + u64::from(rest > half || rest == half && kept & 1 == 1)
}

#[cfg(not(target_arch = "nvptx64"))]
fn f16_value(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    let shift = FRACTION.0 - FRACTION.1;
    match exponent {
        // Exact: a number of 10 bits times a power of two.
        0 => f32::from_bits(sign | (fraction as f32 * 2.0_f32.powi(-24)).to_bits()),
        0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << shift),
        _ => f32::from_bits(sign | (exponent + 112) << FRACTION.0 | fraction << shift),
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    /// Every value of 16 bits in both halves.
    #[test]
    fn unpacking_is_exact() {
        for bits in 0..=u16::MAX {
            let packed = pair(bits, !bits);
            let (low, high) = unpack_f16x2(packed);
            let (re, im) = unpack_bf16x2(packed);
            for (found, expected) in [
                (low, f16::from_bits(bits).to_f32()),
                (high, f16::from_bits(!bits).to_f32()),
                (re, bf16::from_bits(bits).to_f32()),
                (im, bf16::from_bits(!bits).to_f32()),
            ] {
                let same = found.to_bits() == expected.to_bits();
                assert!(same || found.is_nan() && expected.is_nan(), "{bits:#06x}");
            }
        }
    }

    fn check(x: f32) {
        let (f, b) = (f16::from_f32(x), bf16::from_f32(x));
        let expected = |bits: u16| if x.is_nan() { NAN } else { bits };
        let bits = x.to_bits();
        let f16_pair = pack_f16x2(x, 1.0);
        assert_eq!(
            f16_pair,
            pair(expected(f.to_bits()), 0x3c00),
            "{bits:#010x}"
        );
        let bf16_pair = pack_bf16x2(1.0, x);
        assert_eq!(
            bf16_pair,
            pair(0x3f80, expected(b.to_bits())),
            "{bits:#010x}"
        );
    }

    /// Around every number of 16 bits and every half-way point between two of them, and evenly over all of f32.
    #[test]
    fn packing_rounds_to_nearest_with_halves_to_even() {
        for bits in 0..=u16::MAX {
            let b = u32::from(bits) << 16;
            let f = f16::from_bits(bits).to_f32().to_bits();
            // Half a unit in the last place of f16, for normal numbers.
            for centre in [b, b | 0x8000, f, f | 0x1000] {
                for distance in -2..=2 {
                    check(f32::from_bits(centre.wrapping_add_signed(distance)));
                }
            }
            // Half-way between subnormals of f16, which are multiples of 2⁻²⁴.
            let half = (f32::from(bits) + 0.5) * 2.0_f32.powi(-24);
            for distance in -1..=1 {
                check(f32::from_bits(half.to_bits().wrapping_add_signed(distance)));
            }
        }
        for bits in (0..=u32::MAX).step_by(4099) {
            check(f32::from_bits(bits));
        }
    }

    #[test]
    fn pairs_keep_their_order() {
        assert_eq!(pack_f16x2(1.0, -2.0), 0xc000_3c00);
        assert_eq!(unpack_f16x2(0xc000_3c00), (1.0, -2.0));
        assert_eq!(pack_bf16x2(1.0, -2.0), 0xc000_3f80);
        assert_eq!(unpack_bf16x2(0xc000_3f80), (1.0, -2.0));
        assert_eq!(pack_f16x2(65_520.0, 65_519.9), 0x7bff_7c00);
        assert_eq!(pack_bf16x2(f32::MAX, f32::NAN), 0x7fff_7f80);
    }
}
