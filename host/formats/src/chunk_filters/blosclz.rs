//! The stream of BloscLZ, a variant of the second level of FastLZ.
//!
//! A control byte below 32 is followed by that many bytes plus one, which are copied. In another
//! one the upper three bits are the length of a match minus two (7: bytes are added up to the first
//! that is not 255), the lower five and the next byte its distance minus one; where all these bits
//! are set, two more bytes are added to the distance. The upper three bits of the first control
//! byte are the level.

use super::FilterError;
use super::lzf::{append, repeat};
use super::read::Reader;

const NAME: &str = "BloscLZ";

/// The greatest distance without two more bytes, minus one.
const FARTHEST: usize = 8191;

/// Decompresses a stream and returns the size of the decompressed data, at most that of `output`.
pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> Result<usize, FilterError> {
    let mut input = Reader::new(NAME, input);
    let mut at = 0;
    let mut first = true;
    while let Some((control, rest)) = input.rest.split_first() {
        input.rest = rest;
        let control = usize::from(if first { control & 31 } else { *control });
        first = false;
        if control < 32 {
            let literals = input.bytes(control + 1)?;
            at = append(NAME, literals, output, at)?;
            continue;
        }
        let mut length = control >> 5;
        if length == 7 {
            loop {
                let [more] = input.array()?;
                length += usize::from(more);
                if more != 255 {
                    break;
                }
            }
        }
        let mut distance = (control & 31) << 8 | usize::from(input.array::<1>()?[0]);
        if distance == FARTHEST {
            distance += usize::from(u16::from_be_bytes(input.array()?));
        }
        at = repeat(NAME, output, at, distance + 1, length + 2)?;
    }
    Ok(at)
}
