//! The number type of a model's formula: one number on a GPU, several at once on a CPU.

use super::functions;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A real number: `f64` or `f32`, or (on the CPU only) a pack of several with the same operations on each.
///
/// A model is generic over it, so that one source serves both precisions, every GPU and the CPU's vector units. No
/// comparison returns a `bool`: some numbers of a pack may be less and others not. [`Real::choose`] decides for each.
pub trait Real:
    Copy
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    /// A yes or no for each number.
    type Mask: Copy;

    /// Whether the precision is single, for which shorter polynomials suffice.
    const SINGLE: bool;

    /// A constant.
    fn of(value: f64) -> Self;
    /// `self · b + c`; rounded once if the processor can.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// √self.
    fn sqrt(self) -> Self;
    /// |self|.
    fn abs(self) -> Self;
    /// The nearest integer, halves to even.
    fn round(self) -> Self;
    /// The greater of the two.
    fn max(self, other: Self) -> Self;
    /// The lesser of the two.
    fn min(self, other: Self) -> Self;
    /// 1/√self, to a unit or two in the last place; for 10⁻³⁷ < self < 10³⁸.
    fn inverse_sqrt(self) -> Self;

    /// 1½ times the number from which on a unit in the last place is 1 (2⁵², in single precision 2²³). A sum `marked`
    /// = n + `MARK` is rounded to an integer n, which its last bits hold.
    const MARK: f64 = if Self::SINGLE {
        12_582_912.0
    } else {
        6_755_399_441_055_744.0
    };
    /// −self if the n of `marked` is odd, otherwise self: the last bit is moved to the sign.
    fn flip_where_odd(self, marked: Self) -> Self;
    /// self · 2ⁿ for the n of `marked`, |n| ≤ 1100 (in single precision 160).
    fn times_power_of_two(self, marked: Self) -> Self;
    /// (m, n) with self = m · 2ⁿ and √½ ≤ m < √2, for a finite self > 0 that is not subnormal. The result for other
    /// numbers is unspecified.
    fn split_exponent(self) -> (Self, Self);

    /// self < other.
    fn less(self, other: Self) -> Self::Mask;
    /// `yes` where the mask is set, otherwise `no`. Each is computed only if some number needs it, so it may be
    /// meaningless (NaN, ∞) for the others, but must have no side effects.
    fn choose(mask: Self::Mask, yes: impl FnOnce() -> Self, no: impl FnOnce() -> Self) -> Self;
    /// A scalar function, applied to each number. Slow on packs and in `f32` kernels: for rare functions.
    fn map(self, function: impl Fn(f64) -> f64) -> Self;
    /// The first number. All numbers of a pack agree except for wave vectors, so this is the value of anything else.
    fn first(self) -> f64;
    /// A parameter that counts things, rounded to an integer from 0 to `most`. All numbers of a pack agree except for
    /// wave vectors, so the first one decides.
    fn count(self, most: u32) -> u32;

    /// selfᵉ for self > 0.
    #[inline(always)]
    fn powf(self, e: Self) -> Self {
        (self.ln() * e).exp()
    }
    /// sin and cos, in radians; for |self| < 10¹² (in single precision 10⁶).
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        functions::sin_cos(self)
    }
    /// sin; cheaper than computing both.
    #[inline(always)]
    fn sin(self) -> Self {
        functions::sin(self)
    }
    /// cos; cheaper than computing both.
    #[inline(always)]
    fn cos(self) -> Self {
        functions::cos(self)
    }
    /// eˣ.
    #[inline(always)]
    fn exp(self) -> Self {
        functions::exp(self)
    }
    /// The natural logarithm.
    #[inline(always)]
    fn ln(self) -> Self {
        functions::ln(self)
    }
    /// self².
    #[inline(always)]
    fn squared(self) -> Self {
        self * self
    }
    /// self³.
    #[inline(always)]
    fn cubed(self) -> Self {
        self * self * self
    }
    /// self · factor, for a constant factor.
    #[inline(always)]
    fn times(self, factor: f64) -> Self {
        self * Self::of(factor)
    }
    /// self + term, for a constant term.
    #[inline(always)]
    fn plus(self, term: f64) -> Self {
        self + Self::of(term)
    }
    /// 0.
    #[inline(always)]
    #[must_use]
    fn zero() -> Self {
        Self::of(0.0)
    }
    /// 1.
    #[inline(always)]
    #[must_use]
    fn one() -> Self {
        Self::of(1.0)
    }
}

macro_rules! scalar {
    ($t:ident, $bits:ident, $single:literal, $inverse_sqrt:path, $fraction:literal, $bias:literal, $low:literal) => {
        impl Real for $t {
            type Mask = bool;
            const SINGLE: bool = $single;

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                warpstride_device::GpuFloat::mul_add(self, b, c)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                warpstride_device::GpuFloat::sqrt(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                if self < 0.0 { -self } else { self }
            }
            #[inline(always)]
            fn round(self) -> Self {
                warpstride_device::GpuFloat::round_ties_even(self)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self < other { other } else { self }
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if other < self { other } else { self }
            }
            #[inline(always)]
            fn inverse_sqrt(self) -> Self {
                $inverse_sqrt(self)
            }
            #[inline(always)]
            fn flip_where_odd(self, marked: Self) -> Self {
                Self::from_bits(self.to_bits() ^ (marked.to_bits() << ($bits::BITS - 1)))
            }
            #[inline(always)]
            fn times_power_of_two(self, marked: Self) -> Self {
                // The lower half of the 64 bits suffices, and it is 0 in the mark itself.
                let n = marked
                    .to_bits()
                    .wrapping_sub((Self::MARK as Self).to_bits()) as i32;
                // In two steps, as 2ⁿ itself may overflow or underflow.
                let half = n >> 1;
                let power = |n: i32| Self::from_bits((n.wrapping_add($bias) as $bits) << $fraction);
                self * power(half) * power(n.wrapping_sub(half))
            }
            #[inline(always)]
            fn split_exponent(self) -> (Self, Self) {
                const ONE: $bits = $bias << $fraction;
                // √½ in the bits of its exponent and the first bits of its fraction.
                const LOW: $bits = $low;
                let bits = self.to_bits().wrapping_add(ONE - LOW);
                let exponent = (bits >> $fraction) as i32 - $bias;
                let mantissa = (bits & ((1 << $fraction) - 1)).wrapping_add(LOW);
                (Self::from_bits(mantissa), exponent as Self)
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn choose(mask: bool, yes: impl FnOnce() -> Self, no: impl FnOnce() -> Self) -> Self {
                if mask { yes() } else { no() }
            }
            #[inline(always)]
            fn map(self, function: impl Fn(f64) -> f64) -> Self {
                function(f64::from(self)) as Self
            }
            #[inline(always)]
            fn first(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn count(self, most: u32) -> u32 {
                // A cast saturates: NaN and negative numbers become 0.
                let rounded = warpstride_device::GpuFloat::round_ties_even(self) as u32;
                if rounded < most { rounded } else { most }
            }
        }
    };
}

/// The device's approximation in single precision and one step of third order, which leaves 2⁻⁶⁶: a root and a
/// division cost twice as much.
#[inline(always)]
fn inverse_sqrt_f64(x: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let y = f64::from(inverse_sqrt_f32(x as f32));
        let excess = Real::mul_add(-(x * y), y, 1.0);
        Real::mul_add(y * excess, Real::mul_add(excess, 0.375, 0.5), y)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        1.0 / x.sqrt()
    }
}

#[inline(always)]
fn inverse_sqrt_f32(x: f32) -> f32 {
    warpstride_device::float::rsqrt_approx(x)
}

scalar!(
    f64,
    u64,
    false,
    inverse_sqrt_f64,
    52,
    1023,
    0x3fe6_a09e_0000_0000
);
scalar!(f32, u32, true, inverse_sqrt_f32, 23, 127, 0x3f35_04f3);
