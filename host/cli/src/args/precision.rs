//! The precision of the arithmetic.

use clap::ValueEnum;

/// The precision of the arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionArg {
    /// Single
    F32,
    /// Double
    F64,
}
