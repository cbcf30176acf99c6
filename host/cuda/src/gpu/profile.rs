//! What the profiles of all devices have in common: names, and how many operations they time.

use std::ops::Range;

use super::Direction;

/// How many operations a [`Device`](super::Device) times at most; later ones are not in its
/// profile. More would make a file of more than 40 MB.
pub const MAX_PROFILE_SPANS: usize = 1 << 18;

/// The stream of all work of a device.
pub(super) const WORK: &str = "work";

/// The stream of copies beside the work.
pub(super) const COPIES: &str = "copies";

/// The stream of copies from the device in an exchange with page-locked memory.
pub(super) const EXCHANGE_TO_HOST: &str = "exchange, to host";

/// The stream of copies to the device in an exchange with page-locked memory.
pub(super) const EXCHANGE_TO_DEVICE: &str = "exchange, to device";

/// The name of a transform that is not a launch of a kernel.
pub(super) fn transform_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward transform",
        Direction::Inverse => "inverse transform",
    }
}

/// The bytes of the ranges `parts` of elements of `T`.
pub(super) fn bytes_of<T>(parts: &[Range<usize>]) -> Option<usize> {
    let mut lengths = parts.iter().map(Range::len);
    let elements = lengths.try_fold(0_usize, usize::checked_add)?;
    elements.checked_mul(size_of::<T>())
}
