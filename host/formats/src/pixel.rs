//! Numbers in memory.

/// A number in memory: `f32` or `f64`.
pub(crate) trait Pixel: Copy + Default {
    /// The integer up to which all are represented exactly.
    #[cfg(feature = "files")]
    const EXACT: u64;
    /// The integer, rounded to nearest.
    fn from_integer(value: i64) -> Self;
    /// The integer, rounded to nearest.
    fn from_unsigned(value: u64) -> Self;
    /// The number without its fraction.
    #[cfg(feature = "files")]
    fn to_integer(self) -> i128;
    /// The number, rounded to nearest.
    fn from_double(value: f64) -> Self;
    /// The number, exactly.
    fn from_single(value: f32) -> Self;
}

macro_rules! pixel {
    ($type:ty) => {
        impl Pixel for $type {
            #[cfg(feature = "files")]
            const EXACT: u64 = 1 << Self::MANTISSA_DIGITS;

            #[inline]
            fn from_integer(value: i64) -> Self {
                value as Self
            }

            #[inline]
            fn from_unsigned(value: u64) -> Self {
                value as Self
            }

            #[cfg(feature = "files")]
            fn to_integer(self) -> i128 {
                self as i128
            }

            #[inline]
            fn from_double(value: f64) -> Self {
                value as Self
            }

            #[inline]
            fn from_single(value: f32) -> Self {
                value.into()
            }
        }
    };
}
pixel!(f32);
pixel!(f64);
