//! Sums of complex numbers in fixed point: both parts in one integer, which an atomic operation adds at once. Integers
//! add in any order to the same bits.
//!
//! The real part is in the lower, the imaginary part in the upper half of 64 bits, in units of 1/quantum, a power of two, so
//! that scaling does not round.
//!
//! The object's sums are Σ conj(P) ψ over the windows of a pixel. If no |ψ| exceeds M, then by Cauchy and Schwarz |Σ conj(P)
//! ψ| ≤ M Σ|P| ≤ M √(n Σ|P|²) with n windows. The quantum of a pixel makes that bound [`LIMIT`] units, so that pixels with
//! little fluence have small units. Arrays hold its exponent, a byte a pixel. Kernels count the threads that see a larger ψ, and the host then refuses the sums.

use warpstride_device::prelude::*;

/// `value`, in units, as an integer that can be added to sums.
#[inline(always)]
pub(super) fn packed(value: Complex32) -> u64 {
    let re = float::round_to_i32(value.re);
    let im = float::round_to_i32(value.im);
    (i64::from(im) << 32).wrapping_add(i64::from(re)) as u64
}

/// The sum, in units.
#[inline(always)]
pub(super) fn unpacked(sum: u64) -> Complex32 {
    let re = sum as i32;
    // The lower half has borrowed from the upper one if it is negative.
    let im = (sum.wrapping_sub(i64::from(re) as u64) >> 32) as i32;
    Complex32::new(re as f32, im as f32)
}

/// The largest sum, in units: less than 2³¹ by as much as half a unit for each of a hundred million windows.
pub(super) const LIMIT: f32 = 2.0e9;

/// The exponent of the quantum with which a sum of this size is within the limit, at most that of 2¹²⁰.
#[inline(always)]
pub(super) fn exponent_for(size: f32) -> u8 {
    let quotient = LIMIT / size;
    let quotient = if quotient > 0.0 && quotient < 1.3e36 {
        quotient
    } else {
        1.0
    };
    // Without the mantissa: rounded down to a power of two.
    (quotient.to_bits() >> 23) as u8
}

/// The quantum with this exponent: that of an f32, biased.
#[inline(always)]
pub(super) fn quantum(exponent: u32) -> f32 {
    f32::from_bits(exponent << 23)
}
