//! What a model's formula is written in: one number on a GPU, several at once on a CPU.

use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A real number: `f64` or `f32`, or (on the CPU only) a pack of several with the same operations on each.
///
/// A model is generic over it, so that one source serves both precisions, every GPU and the CPU's vector units.
/// There is no comparison that gives a `bool`: of a pack, some numbers may be less and others not.
/// [`Real::choose`] decides for each.
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
    /// Yes or no for each number.
    type Mask: Copy;

    /// Whether single precision is all there is: shorter polynomials suffice then.
    const SINGLE: bool;

    /// A constant.
    fn of(value: f64) -> Self;
    /// `self · b + c`; rounded once where the machine can.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// √self.
    fn sqrt(self) -> Self;
    /// |self|.
    fn abs(self) -> Self;
    /// The nearest whole number, halves to even.
    fn round(self) -> Self;
    /// The greater of the two.
    fn max(self, other: Self) -> Self;
    /// The lesser of the two.
    fn min(self, other: Self) -> Self;
    /// sin and cos, in radians.
    fn sin_cos(self) -> (Self, Self);
    /// eˣ.
    fn exp(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;

    /// self < other.
    fn less(self, other: Self) -> Self::Mask;
    /// `yes` where the mask is, else `no`. Each is computed only where some number needs it, so it may be
    /// meaningless (NaN, ∞) for the others, but must have no effects.
    fn choose(mask: Self::Mask, yes: impl FnOnce() -> Self, no: impl FnOnce() -> Self) -> Self;
    /// A scalar function, number by number. Slow on packs and in `f32` kernels: for what is rare.
    fn map(self, function: impl Fn(f64) -> f64) -> Self;
    /// A parameter that counts things, rounded to a whole number from 0 to `most`. In a pack all numbers
    /// agree on what is no wave vector, so the first one tells.
    fn count(self, most: u32) -> u32;

    /// selfᵉ for self > 0.
    #[inline(always)]
    fn powf(self, e: Self) -> Self {
        (self.ln() * e).exp()
    }
    /// sin.
    #[inline(always)]
    fn sin(self) -> Self {
        self.sin_cos().0
    }
    /// cos.
    #[inline(always)]
    fn cos(self) -> Self {
        self.sin_cos().1
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
    /// self · factor, a constant.
    #[inline(always)]
    fn times(self, factor: f64) -> Self {
        self * Self::of(factor)
    }
    /// self + term, a constant.
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
    ($t:ident, $single:literal, $sin_cos:path, $exp:path, $ln:path) => {
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
            fn sin_cos(self) -> (Self, Self) {
                $sin_cos(self)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                $exp(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                $ln(self)
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
            fn count(self, most: u32) -> u32 {
                // A cast saturates: NaN and what is negative become 0.
                let rounded = warpstride_device::GpuFloat::round_ties_even(self) as u32;
                if rounded < most { rounded } else { most }
            }
        }
    };
}

scalar!(f64, false, libm::sincos, libm::exp, libm::log);
scalar!(f32, true, libm::sincosf, libm::expf, libm::logf);
