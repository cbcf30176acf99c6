//! A block of LZ4, from the description of the block format.
//!
//! A sequence is a token, literals and a match: the token's upper four bits are the number of
//! literals, the lower four that of the bytes of the match minus four; at 15, bytes are added up to
//! the first that is not 255. Behind the literals are two bytes with the distance of the match,
//! little-endian. The last sequence has no match.
//!
//! The crate `lz4_flex`, compiled without `unsafe`, copies matches that overlap byte by byte.
//! Transposed bits of counts have many of those, and this decoder takes a third of the time with
//! them. Tests compare the two.

use super::FilterError;
use super::lzf::repeat;
use super::read::Reader;

/// Bytes that are copied at once where fewer are needed.
const WIDE: usize = 16;

/// Bytes of a match from which on a call to copy or fill them is worth its time.
const SHORT: usize = 128;

/// Decompresses a block and returns the size of the decompressed data, at most that of `output`.
pub(super) fn decompress(
    filter: &'static str,
    input: &[u8],
    output: &mut [u8],
) -> Result<usize, FilterError> {
    let mut input = Reader::new(filter, input);
    let mut at = 0;
    loop {
        let [token] = input.array()?;
        let literals = length(&mut input, usize::from(token >> 4))?;
        let wide = input
            .rest
            .first_chunk::<WIDE>()
            .filter(|_| literals <= WIDE);
        match (
            wide,
            output
                .get_mut(at..)
                .and_then(<[u8]>::first_chunk_mut::<WIDE>),
        ) {
            (Some(from), Some(to)) => {
                *to = *from;
                input.rest = &input.rest[literals..];
            }
            _ => {
                let available = output.len();
                let to = output.get_mut(at..at + literals);
                let to = to.ok_or(FilterError::length(
                    filter,
                    available,
                    (at + literals) as u64,
                ))?;
                to.copy_from_slice(input.bytes(literals)?);
            }
        }
        at += literals;
        if input.rest.is_empty() {
            return Ok(at);
        }
        let distance = usize::from(u16::from_le_bytes(input.array()?));
        let count = length(&mut input, usize::from(token & 15))? + 4;
        if distance == 0 {
            return Err(FilterError::damaged(filter, "a match of distance 0"));
        }
        let short = count <= SHORT && distance <= at && at + count + WIDE <= output.len();
        match distance {
            WIDE.. if short => {
                for done in (0..count).step_by(WIDE) {
                    let (before, to) = output.split_at_mut(at + done);
                    let from = &before[at + done - distance..][..WIDE];
                    to[..WIDE].copy_from_slice(from);
                }
                at += count;
            }
            1 | 2 | 4 | 8 if short => {
                let mut from = [0; 8];
                from[..distance].copy_from_slice(&output[at - distance..at]);
                // The distance repeated in as many bytes as a word has.
                let factor = match distance {
                    1 => 0x0101_0101_0101_0101,
                    2 => 0x0001_0001_0001_0001,
                    4 => 0x0000_0001_0000_0001,
                    _ => 1,
                };
                let word = u64::from_le_bytes(from).wrapping_mul(factor).to_le_bytes();
                let mut wide = [0; WIDE];
                wide[..8].copy_from_slice(&word);
                wide[8..].copy_from_slice(&word);
                for done in (0..count).step_by(WIDE) {
                    output[at + done..][..WIDE].copy_from_slice(&wide);
                }
                at += count;
            }
            _ => at = repeat(filter, output, at, distance, count)?,
        }
    }
}

/// A length of which four bits are in the token.
#[inline(always)]
fn length(input: &mut Reader<'_>, bits: usize) -> Result<usize, FilterError> {
    let mut length = bits;
    if bits == 15 {
        loop {
            let [more] = input.array()?;
            length += usize::from(more);
            if more != u8::MAX {
                break;
            }
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes with repetitions at small and large distances.
    fn repetitive() -> impl Strategy<Value = Vec<u8>> {
        let piece = (prop::collection::vec(any::<u8>(), 1..40), 1_usize..60);
        prop::collection::vec(piece, 0..20).prop_map(|pieces| {
            pieces
                .iter()
                .flat_map(|(bytes, times)| bytes.repeat(*times))
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_lz4_flex_compressed(data in repetitive(), more in 0_usize..40) {
            let compressed = lz4_flex::block::compress(&data);
            let mut output = vec![0xaa; data.len() + more];
            prop_assert_eq!(decompress("LZ4", &compressed, &mut output), Ok(data.len()));
            prop_assert_eq!(&output[..data.len()], &data);
            if !data.is_empty() {
                prop_assert!(decompress("LZ4", &compressed, &mut output[..data.len() - 1]).is_err());
            }
        }

        /// Altered blocks decode to the same bytes as with lz4_flex, if both decode them.
        #[test]
        fn altered_blocks_are_those_of_lz4_flex(
            data in repetitive(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut compressed = lz4_flex::block::compress(&data);
            for (at, value) in changes {
                let length = compressed.len();
                compressed[at.index(length)] = value;
            }
            let [mut output, mut expected] = [(); 2].map(|()| vec![0; data.len()]);
            let found = decompress("LZ4", &compressed, &mut output);
            if let (Ok(found), Ok(length)) = (found, lz4_flex::block::decompress_into(&compressed, &mut expected)) {
                prop_assert_eq!(found, length);
                prop_assert_eq!(&output[..found], &expected[..found]);
            }
        }
    }
}
