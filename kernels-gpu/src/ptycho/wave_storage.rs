//! How exit waves are stored: as complex numbers of two f32, or rounded to a pair of bf16.

use warpstride_device::prelude::*;

/// A stored value of an exit wave.
///
/// Its functions take and return real and imaginary part: a [`Complex32`] that is an argument or the result of a trait's
/// function is one 64-bit integer, whose packing takes instructions.
pub(super) trait Wave: Copy {
    /// The stored 0.
    const ZERO: Self;

    /// Real and imaginary part; exact.
    fn parts(&self) -> (f32, f32);

    /// Becomes the value with these parts, as it is stored.
    fn store(&mut self, re: f32, im: f32);
}

/// The stored value; exact.
#[inline(always)]
pub(super) fn value<W: Wave>(stored: &W) -> Complex32 {
    let (re, im) = stored.parts();
    Complex32::new(re, im)
}

/// `value` as it is stored.
#[inline(always)]
pub(super) fn stored<W: Wave>(value: Complex32) -> W {
    let mut stored = W::ZERO;
    stored.store(value.re, value.im);
    stored
}

impl Wave for Complex32 {
    const ZERO: Self = Self::ZERO;

    #[inline(always)]
    fn parts(&self) -> (f32, f32) {
        (self.re, self.im)
    }

    #[inline(always)]
    fn store(&mut self, re: f32, im: f32) {
        self.re = re;
        self.im = im;
    }
}

/// A pair of bf16, the real part in the lower half; each is rounded to nearest, halves to even, by at most 2⁻⁸ of it.
impl Wave for u32 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn parts(&self) -> (f32, f32) {
        float::unpack_bf16x2(*self)
    }

    #[inline(always)]
    fn store(&mut self, re: f32, im: f32) {
        *self = float::pack_bf16x2(re, im);
    }
}
