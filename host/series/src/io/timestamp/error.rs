//! Why timestamps are invalid.

use super::unit::Unit;
use crate::Zone;

/// Why a timestamp is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io) enum TimestampError {
    /// Not in the format of the file.
    Invalid,
    /// Before 1970.
    TooEarly,
    /// After 2262-04-11T23:47:16.854775807Z.
    TooLate,
    /// Finer than a nanosecond.
    TooFine,
    /// Looks like this unit instead of the file's.
    OtherUnit(Unit),
    /// Shown twice by the clocks of this zone.
    Twice(Zone),
    /// Skipped by the clocks of this zone.
    Skipped(Zone),
    /// So small or so large that the unit cannot be inferred: see [`Plausible`](super::Plausible).
    NoUnit,
    /// In scientific notation, with a last digit that stands for more than a second.
    Rounded,
}
