//! HDF5's checksum: the data, then four bytes with their Fletcher-32.

use super::FilterError;
use super::unchanged::copy;

const NAME: &str = "Fletcher-32";

/// Size of the checksum, bytes.
pub(super) const BYTES: usize = 4;

/// Words of 16 bits whose sums fit 32 bits.
const WORDS: usize = 360;

/// Compares the checksum and copies the data.
pub(super) fn undo(input: &[u8], output: &mut [u8]) -> Result<usize, FilterError> {
    let Some((data, stored)) = input.split_last_chunk::<BYTES>() else {
        return Err(FilterError::Truncated {
            filter: NAME,
            expected: BYTES as u64,
            found: input.len() as u64,
        });
    };
    let stored = u32::from_le_bytes(*stored);
    let computed = checksum(data);
    // HDF5 before 1.6.3 stored the two bytes of each half in the other order on little-endian
    // machines.
    let swapped = (computed & 0x00ff_00ff) << 8 | computed >> 8 & 0x00ff_00ff;
    if stored != computed && stored != swapped {
        return Err(FilterError::Checksum { stored, computed });
    }
    copy(NAME, data, output)
}

/// Sums modulo 2^16 - 1 of big-endian 16-bit words and of their partial sums; an odd last byte is
/// the upper half of a word.
pub(super) fn checksum(data: &[u8]) -> u32 {
    let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
    let (mut first, mut second) = (0_u32, 0_u32);
    for words in data.chunks(2 * WORDS) {
        for word in words.chunks(2) {
            first += u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low));
            second += first;
        }
        first = fold(first);
        second = fold(second);
    }
    fold(second) << 16 | fold(first)
}
