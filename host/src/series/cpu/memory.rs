//! Memory, asked for before it is taken.

use crate::io::Memory;
use crate::series::SeriesError;
use bytemuck::Zeroable;

/// Bytes below which the system is not asked what is left: asking takes longer than small batches do.
const UNASKED: usize = 16 << 20;

/// Whether `needed` bytes may be taken.
pub(super) fn allow(what: &'static str, needed: usize) -> Result<(), SeriesError> {
    if needed >= UNASKED && needed as u64 > Memory::available().limit() {
        return Err(SeriesError::HostMemory { what, needed });
    }
    Ok(())
}

/// `length` zeros. The system gives pages of zeros when they are first touched, by the thread that fills them.
pub(super) fn zeroed<T: Zeroable>(
    what: &'static str,
    length: usize,
) -> Result<Vec<T>, SeriesError> {
    bytemuck::allocation::try_zeroed_vec(length).map_err(|()| SeriesError::HostMemory {
        what,
        needed: length.saturating_mul(size_of::<T>()),
    })
}

/// Room for `length` more elements.
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

/// Slices of these lengths, one after the other.
pub(super) fn cut<T>(
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
    fn what_cannot_be_had_is_refused_with_its_size() {
        let text = zeroed::<f64>("the test", 1 << 60).unwrap_err().to_string();
        assert!(
            text.contains("the test") && text.contains("9223372036854775808"),
            "{text}"
        );
        assert!(allow("the test", usize::MAX).is_err());
        allow("the test", 1000).unwrap();
    }
}
