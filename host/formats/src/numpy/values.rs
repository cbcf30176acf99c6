//! Elements of `.npy` arrays as numbers in memory.

use super::header::Header;
use crate::element::Element;
use crate::pixel::Pixel;

impl Header {
    /// Converts the `bytes` of elements to single precision, as many numbers as both have; what
    /// single precision does not represent is rounded to nearest. A complex element is two numbers.
    pub fn singles(&self, bytes: &[u8], to: &mut [f32]) {
        self.convert(bytes, to);
    }

    /// Converts the `bytes` of elements to double precision, as many numbers as both have; integers
    /// of 64 bits are rounded to nearest. A complex element is two numbers.
    pub fn doubles(&self, bytes: &[u8], to: &mut [f64]) {
        self.convert(bytes, to);
    }

    pub(super) fn convert<T: Pixel>(&self, bytes: &[u8], to: &mut [T]) {
        let big = self.big_endian;
        macro_rules! integers {
            ($type:ty, $make:ident) => {
                each(bytes, to, big, |b| {
                    T::$make(<$type>::from_le_bytes(b).into())
                })
            };
        }
        match self.numbers.part() {
            Element::Bool => each(bytes, to, big, |[b]: [u8; 1]| {
                T::from_integer((b != 0).into())
            }),
            Element::Unsigned(8) => integers!(u8, from_integer),
            Element::Unsigned(16) => integers!(u16, from_integer),
            Element::Unsigned(32) => integers!(u32, from_integer),
            Element::Unsigned(_) => integers!(u64, from_unsigned),
            Element::Signed(8) => integers!(i8, from_integer),
            Element::Signed(16) => integers!(i16, from_integer),
            Element::Signed(32) => integers!(i32, from_integer),
            Element::Signed(_) => integers!(i64, from_integer),
            Element::Float(16) => each(bytes, to, big, |b| {
                T::from_single(half(u16::from_le_bytes(b)))
            }),
            Element::Float(32) => each(bytes, to, big, |b| T::from_single(f32::from_le_bytes(b))),
            Element::Float(_) => each(bytes, to, big, |b| T::from_double(f64::from_le_bytes(b))),
        }
    }

    /// The first element that is an integer other than its number in `converted`, and the integer.
    #[cfg(feature = "files")]
    pub(super) fn inexact<T: Pixel>(&self, bytes: &[u8], converted: &[T]) -> Option<(usize, i128)> {
        fn first<T: Pixel, const N: usize>(
            (bytes, big): (&[u8], bool),
            converted: &[T],
            integer: impl Fn([u8; N]) -> i128,
        ) -> Option<(usize, i128)> {
            let elements = bytes.as_chunks::<N>().0.iter();
            let mut integers = elements.map(|b| integer(ordered(*b, big))).enumerate();
            integers.find(|(n, value)| converted.get(*n).is_some_and(|v| v.to_integer() != *value))
        }
        let bytes = (bytes, self.big_endian);
        match self.numbers.part() {
            Element::Unsigned(32) => first(bytes, converted, |b| u32::from_le_bytes(b).into()),
            Element::Unsigned(64) => first(bytes, converted, |b| u64::from_le_bytes(b).into()),
            Element::Signed(32) => first(bytes, converted, |b| i32::from_le_bytes(b).into()),
            Element::Signed(64) => first(bytes, converted, |b| i64::from_le_bytes(b).into()),
            _ => None,
        }
    }
}

/// Little-endian bytes of a number.
fn ordered<const N: usize>(mut bytes: [u8; N], big_endian: bool) -> [u8; N] {
    if big_endian {
        bytes.reverse();
    }
    bytes
}

fn each<T, const N: usize>(
    bytes: &[u8],
    to: &mut [T],
    big_endian: bool,
    number: impl Fn([u8; N]) -> T,
) {
    for (to, from) in to.iter_mut().zip(bytes.as_chunks::<N>().0) {
        *to = number(ordered(*from, big_endian));
    }
}

/// A number of 16 bits (IEEE 754, binary16), exactly.
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    match exponent {
        // Of subnormal numbers the unit is 2^-24.
        0 => {
            let magnitude = fraction as f32 / 16_777_216.0;
            f32::from_bits(sign | magnitude.to_bits())
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_16_bits_are_those_of_the_standard() {
        for (bits, expected) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x3555, 0.333_251_95),
            (0x0001, 2_f32.powi(-24)),
            (0x83ff, -1023.0 * 2_f32.powi(-24)),
            (0x0400, 2_f32.powi(-14)),
            (0x7c00, f32::INFINITY),
            (0x8000, -0.0),
        ] {
            assert_eq!(half(bits).to_bits(), f32::to_bits(expected), "{bits:#x}");
        }
        assert!(half(0x7e00).is_nan());
    }
}
