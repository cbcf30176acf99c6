//! Memory allocations that are checked in advance.

use crate::SeriesError;
use bytemuck::Zeroable;
use warpstride_core::system::Memory;

/// Allocations below this number of bytes skip the query for available memory, which takes longer
/// than small batches.
const UNASKED: usize = 16 << 20;

/// Checks that `needed` bytes are available.
pub(super) fn allow(what: &'static str, needed: usize) -> Result<(), SeriesError> {
    if needed >= UNASKED && needed as u64 > Memory::available().limit() {
        return Err(SeriesError::HostMemory { what, needed });
    }
    Ok(())
}

/// Allocates `length` zeros. The system provides zero pages when the thread that fills them first
/// touches them.
pub(super) fn zeroed<T: Zeroable>(
    what: &'static str,
    length: usize,
) -> Result<Vec<T>, SeriesError> {
    bytemuck::allocation::try_zeroed_vec(length).map_err(|()| SeriesError::HostMemory {
        what,
        needed: length.saturating_mul(size_of::<T>()),
    })
}

/// Reserves capacity for `length` more elements.
pub(super) fn reserve<T>(
    what: &'static str,
    vector: &mut Vec<T>,
    length: usize,
) -> Result<(), SeriesError> {
    vector
        .try_reserve_exact(length)
        .map_err(|_| SeriesError::HostMemory {
            what,
            needed: length.saturating_mul(size_of::<T>()),
        })
}

/// Splits a slice into consecutive slices of the given lengths.
pub(super) fn split_lengths<T>(
    mut rest: &mut [T],
    lengths: impl Iterator<Item = usize>,
) -> impl Iterator<Item = &mut [T]> {
    lengths.map(move |length| {
        let (part, behind) = std::mem::take(&mut rest).split_at_mut(length);
        rest = behind;
        part
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_allocations_are_reported_with_their_size() {
        let text = zeroed::<f64>("the test", 1 << 60).unwrap_err().to_string();
        assert!(
            text.contains("the test") && text.contains("9223372036854775808"),
            "{text}"
        );
        assert!(allow("the test", usize::MAX).is_err());
        allow("the test", 1000).unwrap();
    }
}
