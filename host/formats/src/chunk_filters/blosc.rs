//! Chunks of Blosc 1, from its description of the format.
//!
//! A header of 16 bytes (version, version of the compressor, flags, element size; then the decoded
//! size, the size of a block and that of the chunk, 4 bytes each, little-endian), and, if the data
//! are compressed, where in the chunk each block begins. A block is one stream, or one stream for
//! each byte of the elements; before each stream is its compressed size. A stream whose compressed
//! size is its own was not compressed.

use super::read::Reader;
use super::scratch::{Tools, at_least};
use super::shuffle::unshuffle;
use super::transpose::unshuffle_bits;
use super::{FilterError, blosclz, lz4_block};

const NAME: &str = "Blosc";

/// Version of the format that Blosc 1 writes.
const VERSION: u8 = 2;

/// Bytes of the header.
const HEADER: usize = 16;

const BYTE_SHUFFLE: u8 = 1;
const STORED: u8 = 2;
const BIT_SHUFFLE: u8 = 4;
const NOT_SPLIT: u8 = 16;

/// The largest element whose bytes have streams of their own.
const MOST_STREAMS: usize = 16;

/// The least number of elements in a block that has several streams.
const LEAST_SPLIT: usize = 128;

/// A chunk's header.
struct Header {
    flags: u8,
    /// Size of an element, bytes.
    size: usize,
    /// Decoded size, bytes.
    decoded: usize,
    /// Size of a block, bytes.
    block: usize,
}

pub(super) fn undo(
    input: &[u8],
    output: &mut [u8],
    tools: &mut Tools,
) -> Result<usize, FilterError> {
    let mut reader = Reader::new(NAME, input);
    let [version, _, flags, size] = reader.array()?;
    let [decoded, block_size, stored_size] = reader.lengths()?;
    let header = Header {
        flags,
        size: usize::from(size.max(1)),
        decoded,
        block: block_size,
    };
    if version == 0 || version > VERSION {
        return Err(refused("version 1 or 2 of the format", version.into()));
    }
    let available = output.len();
    let Some(output) = output.get_mut(..header.decoded) else {
        return Err(FilterError::length(NAME, available, header.decoded as u64));
    };
    let Some(input) = input.get(..stored_size) else {
        return Err(FilterError::Truncated {
            filter: NAME,
            expected: stored_size as u64,
            found: input.len() as u64,
        });
    };
    if output.is_empty() {
        return Ok(0);
    }
    if flags & STORED != 0 {
        let data = Reader::new(NAME, input.get(HEADER..).unwrap_or(&[])).bytes(output.len())?;
        output.copy_from_slice(data);
        return Ok(output.len());
    }
    if header.block == 0 || header.block > header.decoded {
        return Err(refused(
            "blocks of at least 1 byte that are not larger than the chunk",
            header.block as u64,
        ));
    }
    let mut starts = Reader::new(NAME, input.get(HEADER..).unwrap_or(&[]));
    for to in output.chunks_mut(header.block) {
        let start = u32::from_le_bytes(starts.array()?) as usize;
        let Some(from) = input.get(start..) else {
            return Err(FilterError::damaged(
                NAME,
                format!("a block at byte {start} of {}", input.len()),
            ));
        };
        block(&header, Reader::new(NAME, from), to, tools)?;
    }
    Ok(output.len())
}

/// Decodes a block into `to`, which has its size.
fn block(
    header: &Header,
    mut input: Reader<'_>,
    to: &mut [u8],
    tools: &mut Tools,
) -> Result<(), FilterError> {
    let Header {
        flags, size, block, ..
    } = *header;
    let whole = to.len() == block;
    let split = whole
        && flags & NOT_SPLIT == 0
        && size <= MOST_STREAMS
        && block / size >= LEAST_SPLIT
        && block % size == 0;
    let bytes = flags & BYTE_SHUFFLE != 0 && size > 1;
    let bits = !bytes && flags & BIT_SHUFFLE != 0 && to.len() >= size;
    let Tools {
        block: memory,
        codecs,
        ..
    } = tools;
    let length = to.len();
    let streams = if bytes || bits {
        at_least(memory, length)
    } else {
        &mut *to
    };
    for stream in streams.chunks_mut(if split { block / size } else { length }) {
        let compressed = u32::from_le_bytes(input.array()?) as usize;
        let data = input.bytes(compressed)?;
        if compressed == stream.len() {
            stream.copy_from_slice(data);
            continue;
        }
        let found = match flags >> 5 {
            0 => blosclz::decompress(data, stream)?,
            1 => lz4_block::decompress(NAME, data, stream)?,
            3 => codecs.zlib(NAME, data, stream)?,
            4 => codecs.zstd(NAME, data, stream)?,
            other => {
                return Err(refused(
                    "BloscLZ (0), LZ4 (1), zlib (3) or Zstandard (4)",
                    other.into(),
                ));
            }
        };
        if found != stream.len() {
            return Err(FilterError::length(NAME, stream.len(), found as u64));
        }
    }
    if bytes {
        unshuffle(&memory[..length], to, size);
    } else if bits {
        let elements = length / size;
        // Blosc leaves a block as it is if its elements are not in groups of 8.
        let shuffled = if elements.is_multiple_of(8) {
            elements * size
        } else {
            0
        };
        unshuffle_bits(&memory[..shuffled], &mut to[..shuffled], size);
        to[shuffled..].copy_from_slice(&memory[shuffled..length]);
    }
    Ok(())
}

fn refused(expected: &'static str, found: u64) -> FilterError {
    FilterError::Variant {
        filter: NAME,
        expected,
        found,
    }
}
