//! Floating-point functions that `core` lacks, and conversions.

pub use crate::half::{pack_bf16x2, pack_f16x2, unpack_bf16x2, unpack_f16x2};

/// Functions of `f32` and `f64`: the device's instructions, and on the host those of `std`.
///
/// The exact functions are correctly rounded on both sides. The `_approx` functions state the device's error (PTX
/// ISA); the host returns the rounded exact value, which lies within it.
pub trait GpuFloat: Copy {
    /// Square root, correctly rounded.
    #[must_use]
    fn sqrt(self) -> Self;
    /// `self · b + c`, rounded once.
    #[must_use]
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `self · b`, rounded separately: a plain product may be fused with an addition that follows, which would differ
    /// in the last bit (even for a power of two, if the product is subnormal).
    #[must_use]
    fn mul_rounded(self, b: Self) -> Self;
    /// Nearest integer, halves to even.
    #[must_use]
    fn round_ties_even(self) -> Self;
    /// Largest integer that is not greater.
    #[must_use]
    fn floor(self) -> Self;
    /// Smallest integer that is not less.
    #[must_use]
    fn ceil(self) -> Self;
}

macro_rules! gpu_float {
    ($t:ident, $sqrt:ident, $fma:ident, $mul:ident, $rint:ident, $floor:ident, $ceil:ident) => {
        impl GpuFloat for $t {
            #[inline(always)]
            fn sqrt(self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: arithmetic.
                return unsafe { crate::nvptx::$sqrt(self) };
                #[cfg(not(target_arch = "nvptx64"))]
                return $t::sqrt(self);
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: arithmetic.
                return unsafe { crate::nvptx::$fma(self, b, c) };
                #[cfg(not(target_arch = "nvptx64"))]
                return $t::mul_add(self, b, c);
            }
            #[inline(always)]
            fn mul_rounded(self, b: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: arithmetic.
                return unsafe { crate::nvptx::$mul(self, b) };
                #[cfg(not(target_arch = "nvptx64"))]
                return self * b;
            }
            #[inline(always)]
            fn round_ties_even(self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: arithmetic.
                return unsafe { crate::nvptx::$rint(self) };
                #[cfg(not(target_arch = "nvptx64"))]
                return $t::round_ties_even(self);
            }
            #[inline(always)]
            fn floor(self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: arithmetic.
                return unsafe { crate::nvptx::$floor(self) };
                #[cfg(not(target_arch = "nvptx64"))]
                return $t::floor(self);
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: arithmetic.
                return unsafe { crate::nvptx::$ceil(self) };
                #[cfg(not(target_arch = "nvptx64"))]
                return $t::ceil(self);
            }
        }
    };
}

gpu_float!(
    f32, sqrt_f32, fma_f32, mul_f32, rint_f32, floor_f32, ceil_f32
);
gpu_float!(
    f64, sqrt_f64, fma_f64, mul_f64, rint_f64, floor_f64, ceil_f64
);

/// `1/√x` by `rsqrt.approx.f32`: relative error at most 2⁻²²·⁹; +∞ at 0.
#[inline(always)]
#[must_use]
pub fn rsqrt_approx(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic.
    return unsafe { crate::nvptx::rsqrt_approx(x) };
    #[cfg(not(target_arch = "nvptx64"))]
    return (1.0 / f64::from(x).sqrt()) as f32;
}

/// `√x` by `sqrt.approx.f32`: relative error at most 2⁻²³.
#[inline(always)]
#[must_use]
pub fn sqrt_approx(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic.
    return unsafe { crate::nvptx::sqrt_approx(x) };
    #[cfg(not(target_arch = "nvptx64"))]
    return x.sqrt();
}

/// `a/b` by `div.approx.f32`: at most 2 units in the last place for |b| in 2⁻¹²⁶ … 2¹²⁶.
#[inline(always)]
#[must_use]
pub fn div_approx(a: f32, b: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic.
    return unsafe { crate::nvptx::div_approx(a, b) };
    #[cfg(not(target_arch = "nvptx64"))]
    return a / b;
}

/// `sin x` by `sin.approx.f32`, x in radians: absolute error at most 2⁻²⁰·⁵ in −π … π, worse
/// beyond. See [`crate::phase`] for angles in turns, where every range is exact.
#[inline(always)]
#[must_use]
pub fn sin_approx(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic.
    return unsafe { crate::nvptx::sin_approx(x) };
    #[cfg(not(target_arch = "nvptx64"))]
    return f64::from(x).sin() as f32;
}

/// `cos x` by `cos.approx.f32`; error as for [`sin_approx`].
#[inline(always)]
#[must_use]
pub fn cos_approx(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic.
    return unsafe { crate::nvptx::cos_approx(x) };
    #[cfg(not(target_arch = "nvptx64"))]
    return f64::from(x).cos() as f32;
}

/// The nearest integer, halves to even (`cvt.rni.s32.f32`); the nearest `i32` if `x` is out of range, and 0 if it is
/// NaN.
#[inline(always)]
#[must_use]
pub fn round_to_i32(x: f32) -> i32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: arithmetic.
    return unsafe { crate::nvptx::round_to_i32(x) };
    #[cfg(not(target_arch = "nvptx64"))]
    return x.round_ties_even() as i32;
}
