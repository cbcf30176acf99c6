//! Types of numbers in files.

use std::fmt;

/// Type of the values in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    /// Unsigned integers with this number of bits.
    Unsigned(u8),
    /// Signed integers with this number of bits.
    Signed(u8),
    /// Floating-point numbers with this number of bits.
    Float(u8),
    /// Truth values of 8 bits, which are read as 0 and 1.
    Bool,
}

impl Element {
    /// Bytes of a value, for types of whole bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Unsigned(bits) | Self::Signed(bits) | Self::Float(bits) => usize::from(bits) / 8,
            Self::Bool => 1,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(bits) => write!(f, "uint{bits}"),
            Self::Signed(bits) => write!(f, "int{bits}"),
            Self::Float(bits) => write!(f, "float{bits}"),
            Self::Bool => f.write_str("bool"),
        }
    }
}
