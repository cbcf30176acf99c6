//! Numbers as a chunk has them, and their conversion.

use super::matlab_complex::{MatlabDouble, MatlabSingle};
use hdf5_metno as hdf5;
use hdf5_metno::datatype::ByteOrder;
use hdf5_metno::types::dyn_value::{DynFloat, DynInteger, DynScalar, DynValue};
use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor};
use num_complex::Complex;
use warpstride_formats::hdf5_structure::{NumberType, VirtualDataset};

/// The type of stored numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stored {
    kind: Kind,
    big_endian: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Signed(usize),
    Unsigned(usize),
    Single,
    Double,
    ComplexSingle,
    ComplexDouble,
}

/// A number in memory to which stored ones are converted; out of its range they become its largest
/// or smallest.
pub(super) trait StoredNumber: Copy + Default + Send + Sync {
    /// From an integer.
    fn signed(value: i64) -> Self;
    /// From an unsigned integer.
    fn unsigned(value: u64) -> Self;
    /// From a floating-point number.
    fn float(value: f64) -> Self;
    /// From the parts of a complex number.
    fn complex(real: f64, imaginary: f64) -> Self;
}

macro_rules! real {
    ($type:ty) => {
        impl StoredNumber for $type {
            fn signed(value: i64) -> Self {
                value as Self
            }
            fn unsigned(value: u64) -> Self {
                value as Self
            }
            fn float(value: f64) -> Self {
                value as Self
            }
            fn complex(real: f64, _: f64) -> Self {
                real as Self
            }
        }
    };
}
real!(f32);
real!(f64);

impl StoredNumber for u64 {
    fn signed(value: i64) -> Self {
        value.max(0) as Self
    }
    fn unsigned(value: u64) -> Self {
        value
    }
    fn float(value: f64) -> Self {
        value as Self
    }
    fn complex(real: f64, _: f64) -> Self {
        real as Self
    }
}

macro_rules! complex {
    ($part:ty) => {
        impl StoredNumber for Complex<$part> {
            fn signed(value: i64) -> Self {
                Self::new(value as $part, 0.0)
            }
            fn unsigned(value: u64) -> Self {
                Self::new(value as $part, 0.0)
            }
            fn float(value: f64) -> Self {
                Self::new(value as $part, 0.0)
            }
            fn complex(real: f64, imaginary: f64) -> Self {
                Self::new(real as $part, imaginary as $part)
            }
        }
    };
}
complex!(f32);
complex!(f64);

impl Stored {
    /// The type `of` a dataset; `None` if it is not that of numbers of 1 to 8 bytes, or of pairs of
    /// them.
    pub(super) fn new(of: &hdf5::Datatype) -> Option<Self> {
        let big_endian = match of.byte_order() {
            ByteOrder::BigEndian => true,
            ByteOrder::LittleEndian | ByteOrder::None => false,
            _ => return None,
        };
        // Equal to the types of this machine, so that their parts have its byte order.
        let native = |kind| {
            Some(Self {
                kind,
                big_endian: cfg!(target_endian = "big"),
            })
        };
        if of.is::<Complex<f32>>() || of.is::<MatlabSingle>() {
            return native(Kind::ComplexSingle);
        }
        if of.is::<Complex<f64>>() || of.is::<MatlabDouble>() {
            return native(Kind::ComplexDouble);
        }
        let width = |size: IntSize| size as usize;
        let kind = match of.to_descriptor().ok()? {
            TypeDescriptor::Integer(size) => Kind::Signed(width(size)),
            TypeDescriptor::Unsigned(size) => Kind::Unsigned(width(size)),
            TypeDescriptor::Float(FloatSize::U4) => Kind::Single,
            TypeDescriptor::Float(FloatSize::U8) => Kind::Double,
            TypeDescriptor::Boolean => Kind::Unsigned(1),
            TypeDescriptor::Enum(of) if of.signed => Kind::Signed(width(of.size)),
            TypeDescriptor::Enum(of) => Kind::Unsigned(width(of.size)),
            _ => return None,
        };
        let stored = Self { kind, big_endian };
        (stored.bytes() == of.size()).then_some(stored)
    }

    /// The type of a virtual dataset; `None` if there is none of its size.
    pub(super) fn of_virtual(of: &VirtualDataset) -> Option<Self> {
        let kind = match (of.number, of.bytes) {
            (NumberType::Signed, 1 | 2 | 4 | 8) => Kind::Signed(of.bytes),
            (NumberType::Unsigned, 1 | 2 | 4 | 8) => Kind::Unsigned(of.bytes),
            (NumberType::Float, 4) => Kind::Single,
            (NumberType::Float, 8) => Kind::Double,
            _ => return None,
        };
        Some(Self {
            kind,
            big_endian: of.big_endian,
        })
    }

    /// The largest number, of unsigned integers.
    pub(super) fn largest_unsigned(self) -> Option<f64> {
        match self.kind {
            Kind::Unsigned(bytes) => Some(2_f64.powi(8 * bytes as i32) - 1.0),
            _ => None,
        }
    }

    /// Whether both are the same numbers, in any order of bytes.
    pub(super) fn is_like(self, other: Self) -> bool {
        self.kind == other.kind
    }

    /// Bytes of a number.
    pub(super) fn bytes(self) -> usize {
        match self.kind {
            Kind::Signed(bytes) | Kind::Unsigned(bytes) => bytes,
            Kind::Single => 4,
            Kind::Double | Kind::ComplexSingle => 8,
            Kind::ComplexDouble => 16,
        }
    }

    /// What a dataset has where nothing was written, as bytes of a number; 0 unless it says
    /// otherwise.
    pub(super) fn fill(self, dataset: &hdf5::Dataset) -> Vec<u8> {
        let value = dataset.fill_value().ok().flatten();
        let number = value.as_ref().and_then(|value| match value.get() {
            DynValue::Scalar(DynScalar::Integer(of)) => Some(match of {
                DynInteger::Int8(v) => v.to_le_bytes().to_vec(),
                DynInteger::Int16(v) => v.to_le_bytes().to_vec(),
                DynInteger::Int32(v) => v.to_le_bytes().to_vec(),
                DynInteger::Int64(v) => v.to_le_bytes().to_vec(),
                DynInteger::UInt8(v) => v.to_le_bytes().to_vec(),
                DynInteger::UInt16(v) => v.to_le_bytes().to_vec(),
                DynInteger::UInt32(v) => v.to_le_bytes().to_vec(),
                DynInteger::UInt64(v) => v.to_le_bytes().to_vec(),
            }),
            DynValue::Scalar(DynScalar::Float(of)) => Some(match of {
                DynFloat::Float32(v) => v.to_le_bytes().to_vec(),
                DynFloat::Float64(v) => v.to_le_bytes().to_vec(),
            }),
            _ => None,
        });
        let mut bytes = number.unwrap_or_default();
        bytes.resize(self.bytes(), 0);
        if self.big_endian {
            bytes.reverse();
        }
        bytes
    }

    /// A number from its bytes.
    pub(super) fn number<T: StoredNumber>(self, bytes: &[u8]) -> T {
        let mut to = [T::default()];
        self.convert(bytes, &mut to);
        to[0]
    }

    /// Converts as many numbers as both have.
    pub(super) fn convert<T: StoredNumber>(self, bytes: &[u8], to: &mut [T]) {
        let big = self.big_endian;
        macro_rules! integers {
            ($type:ty, $make:ident) => {
                each(bytes, to, big, |b| {
                    T::$make(<$type>::from_le_bytes(b).into())
                })
            };
        }
        match self.kind {
            Kind::Unsigned(1) => integers!(u8, unsigned),
            Kind::Unsigned(2) => integers!(u16, unsigned),
            // Fewer instructions than from u64.
            Kind::Unsigned(4) => integers!(u32, signed),
            Kind::Unsigned(_) => integers!(u64, unsigned),
            Kind::Signed(1) => integers!(i8, signed),
            Kind::Signed(2) => integers!(i16, signed),
            Kind::Signed(4) => integers!(i32, signed),
            Kind::Signed(_) => integers!(i64, signed),
            Kind::Single => each(bytes, to, big, |b| T::float(f32::from_le_bytes(b).into())),
            Kind::Double => each(bytes, to, big, |b| T::float(f64::from_le_bytes(b))),
            Kind::ComplexSingle => each(bytes, to, false, |b: [u8; 8]| {
                let [real, imaginary] = bytemuck::cast::<_, [f32; 2]>(b);
                T::complex(real.into(), imaginary.into())
            }),
            Kind::ComplexDouble => each(bytes, to, false, |b: [u8; 16]| {
                let [real, imaginary] = bytemuck::cast::<_, [f64; 2]>(b);
                T::complex(real, imaginary)
            }),
        }
    }
}

/// Numbers of N bytes, with the last byte first if `reversed`.
fn each<T, const N: usize>(
    bytes: &[u8],
    to: &mut [T],
    reversed: bool,
    number: impl Fn([u8; N]) -> T,
) {
    for (to, from) in to.iter_mut().zip(bytes.as_chunks::<N>().0) {
        let mut from = *from;
        if reversed {
            from.reverse();
        }
        *to = number(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_and_order_are_converted() {
        let stored = |kind, big_endian| Stored { kind, big_endian };
        let single = |of: Stored, bytes: &[u8]| of.number::<f32>(bytes);
        assert_eq!(single(stored(Kind::Unsigned(2), false), &[1, 2]), 513.0);
        assert_eq!(single(stored(Kind::Unsigned(2), true), &[1, 2]), 258.0);
        assert_eq!(single(stored(Kind::Signed(1), false), &[255]), -1.0);
        assert_eq!(
            single(stored(Kind::Signed(4), true), &[255, 255, 255, 254]),
            -2.0
        );
        let all = [255; 8];
        assert_eq!(
            single(stored(Kind::Unsigned(4), false), &all[..4]),
            4_294_967_296.0
        );
        assert_eq!(
            stored(Kind::Unsigned(8), false).number::<u64>(&all),
            u64::MAX
        );
        assert_eq!(stored(Kind::Signed(8), false).number::<u64>(&all), 0);
        let bytes = 2.5_f64.to_be_bytes();
        assert_eq!(single(stored(Kind::Double, true), &bytes), 2.5);
        let pair: [u8; 8] = bytemuck::cast([1.5_f32, -2.0]);
        let complex: Complex<f64> = stored(Kind::ComplexSingle, false).number(&pair);
        assert_eq!(complex, Complex::new(1.5, -2.0));
    }
}
