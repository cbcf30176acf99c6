//! Complex numbers that load and store by one instruction.

use core::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

#[cfg(target_arch = "nvptx64")]
use crate::float::GpuFloat as _;

/// A single-precision complex number, aligned to its size: one 8-byte load or store. (The type of `num_complex` has
/// the same bytes but an alignment of 4, which takes two instructions.)
#[derive(Debug, Clone, Copy, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(8))]
pub struct Complex32 {
    /// Real part.
    pub re: f32,
    /// Imaginary part.
    pub im: f32,
}

/// Two neighbouring complex numbers: one 16-byte load or store.
#[derive(Debug, Clone, Copy, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
pub struct Complex32x2(pub [Complex32; 2]);

impl Complex32 {
    /// 0.
    pub const ZERO: Self = Self::new(0.0, 0.0);
    /// 1.
    pub const ONE: Self = Self::new(1.0, 0.0);

    /// `re + i im`.
    #[inline(always)]
    #[must_use]
    pub const fn new(re: f32, im: f32) -> Self {
        Self { re, im }
    }

    /// Complex conjugate.
    #[inline(always)]
    #[must_use]
    pub fn conj(self) -> Self {
        Self::new(self.re, -self.im)
    }

    /// `re² + im²`.
    #[inline(always)]
    #[must_use]
    pub fn norm_sqr(self) -> f32 {
        self.re.mul_add(self.re, self.im * self.im)
    }

    /// The product with a real number.
    #[inline(always)]
    #[must_use]
    pub fn scale(self, factor: f32) -> Self {
        Self::new(self.re * factor, self.im * factor)
    }

    /// `self · b + c`, in fused multiply-adds.
    #[inline(always)]
    #[must_use]
    pub fn mul_add(self, b: Self, c: Self) -> Self {
        Self::new(
            self.re.mul_add(b.re, (-self.im).mul_add(b.im, c.re)),
            self.re.mul_add(b.im, self.im.mul_add(b.re, c.im)),
        )
    }

    /// `conj(self) · b + c`, in fused multiply-adds.
    #[inline(always)]
    #[must_use]
    pub fn conj_mul_add(self, b: Self, c: Self) -> Self {
        self.conj().mul_add(b, c)
    }

    /// `self · factor + c` with a real factor, in fused multiply-adds.
    #[inline(always)]
    #[must_use]
    pub fn scale_add(self, factor: f32, c: Self) -> Self {
        Self::new(self.re.mul_add(factor, c.re), self.im.mul_add(factor, c.im))
    }
}

impl Add for Complex32 {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self::new(self.re + b.re, self.im + b.im)
    }
}

impl Sub for Complex32 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self::new(self.re - b.re, self.im - b.im)
    }
}

impl Mul for Complex32 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self::new(
            self.re.mul_add(b.re, -(self.im * b.im)),
            self.re.mul_add(b.im, self.im * b.re),
        )
    }
}

impl Mul<f32> for Complex32 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, factor: f32) -> Self {
        self.scale(factor)
    }
}

impl Neg for Complex32 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.re, -self.im)
    }
}

impl AddAssign for Complex32 {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl SubAssign for Complex32 {
    #[inline(always)]
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}
