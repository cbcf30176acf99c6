//! The stream of LibLZF, as h5py's filter writes it.
//!
//! A control byte below 32 is followed by that many bytes plus one, which are copied. In another
//! one the upper three bits are the length of a match minus two (7: the next byte is added), the
//! lower five and the next byte its distance minus one.

use super::FilterError;
use super::read::Reader;

const NAME: &str = "LZF";

/// Decompresses a stream and returns the size of the decompressed data, at most that of `output`.
pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> Result<usize, FilterError> {
    let mut input = Reader::new(NAME, input);
    let mut at = 0;
    while let Some((control, rest)) = input.rest.split_first() {
        input.rest = rest;
        let control = usize::from(*control);
        if control < 32 {
            let literals = input.bytes(control + 1)?;
            at = append(NAME, literals, output, at)?;
        } else {
            let mut length = control >> 5;
            if length == 7 {
                length += usize::from(input.array::<1>()?[0]);
            }
            let distance = (control & 31) << 8 | usize::from(input.array::<1>()?[0]);
            at = repeat(NAME, output, at, distance + 1, length + 2)?;
        }
    }
    Ok(at)
}

/// Appends bytes at `at` and returns the position behind them.
#[inline]
pub(super) fn append(
    filter: &'static str,
    bytes: &[u8],
    output: &mut [u8],
    at: usize,
) -> Result<usize, FilterError> {
    let end = at + bytes.len();
    let available = output.len();
    let Some(to) = output.get_mut(at..end) else {
        return Err(FilterError::length(filter, available, end as u64));
    };
    to.copy_from_slice(bytes);
    Ok(end)
}

/// Appends `length` bytes at `at`, a repetition of those `distance` before, and returns the
/// position behind them.
#[inline]
pub(super) fn repeat(
    filter: &'static str,
    output: &mut [u8],
    at: usize,
    distance: usize,
    length: usize,
) -> Result<usize, FilterError> {
    let Some(from) = at.checked_sub(distance) else {
        return Err(FilterError::damaged(
            filter,
            format!("a match {distance} bytes before position {at}"),
        ));
    };
    let end = at + length;
    if end > output.len() {
        return Err(FilterError::length(filter, output.len(), end as u64));
    }
    if distance == 1 {
        let value = output[from];
        output[at..end].fill(value);
    } else if distance >= length {
        output.copy_within(from..from + length, at);
    } else {
        // The distance doubles with each copy: all of it is one period after the other.
        let (mut done, mut period) = (0, distance);
        while done < length {
            let count = period.min(length - done);
            output.copy_within(from..from + count, at + done);
            done += count;
            period *= 2;
        }
    }
    Ok(end)
}
