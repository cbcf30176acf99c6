//! Chunks of Blosc 2, from its description of the format.
//!
//! A header as that of Blosc 1 whose flags name both shuffles has 16 more bytes: six filters with
//! their parameters, and what kind of chunk it is. Blocks and streams are as in Blosc 1, but a
//! stream can also be a run of one byte.

use super::read::Reader;
use super::scratch::{Tools, at_least};
use super::shuffle::unshuffle;
use super::transpose::unshuffle_bits;
use super::{FilterError, blosc, blosclz, lz4_block};

pub(super) const NAME: &str = "Blosc2";

/// Bytes of the header.
const HEADER: usize = 32;

/// The format's latest version.
const VERSION: u8 = 5;

/// Flags of both shuffles: the header is that of Blosc 2.
const EXTENDED: u8 = 5;
const STORED: u8 = 2;
const NOT_SPLIT: u8 = 16;

/// Flags of Blosc 2: a dictionary, a longer header, a chunk without its data.
const UNSUPPORTED: u8 = 1 | 2 | 8;

/// Number of filters that a header names.
const FILTERS: usize = 6;

/// A chunk and its header.
pub(super) struct Chunk<'a> {
    flags: u8,
    /// Size of an element, bytes.
    size: usize,
    /// Decoded size, bytes.
    pub(super) decoded: usize,
    /// Size of a block, bytes.
    pub(super) block: usize,
    filters: [u8; FILTERS],
    parameters: [u8; FILTERS],
    /// Number of the value that all elements have.
    special: u8,
    bytes: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// The chunk at the beginning of `bytes`, or `None` if it has the format of Blosc 1.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Option<Self>, FilterError> {
        let mut reader = Reader::new(NAME, bytes);
        let [version, _, flags, size] = reader.array()?;
        if flags & EXTENDED != EXTENDED {
            return Ok(None);
        }
        if version > VERSION {
            return Err(refused(
                "version 5 of the format or an earlier one",
                version.into(),
            ));
        }
        let [decoded, block, stored] = reader.lengths()?;
        let filters = reader.array()?;
        let [_, _] = reader.array()?;
        let parameters = reader.array()?;
        let [_, kind] = reader.array()?;
        if kind & UNSUPPORTED != 0 {
            return Err(refused(
                "a chunk with its data, without dictionary and further headers (flags 1, 2, 8)",
                kind.into(),
            ));
        }
        let special = kind >> 4 & 7;
        let Some(bytes) = bytes.get(..stored) else {
            return Err(FilterError::Truncated {
                filter: NAME,
                expected: stored as u64,
                found: bytes.len() as u64,
            });
        };
        if special == 0 && decoded > 0 && flags & STORED == 0 && !(1..=decoded).contains(&block) {
            return Err(refused(
                "blocks of at least 1 byte that are not larger than the chunk",
                block as u64,
            ));
        }
        Ok(Some(Self {
            flags,
            size: usize::from(size.max(1)),
            decoded,
            block,
            filters,
            parameters,
            special,
            bytes,
        }))
    }

    /// The data behind the header.
    fn data(&self) -> Reader<'a> {
        Reader::new(NAME, self.bytes.get(HEADER..).unwrap_or(&[]))
    }

    /// Decodes block `n` into `to`, which has its size. Blocks are decoded one after the other, the
    /// first block first.
    pub(super) fn block(
        &self,
        n: usize,
        to: &mut [u8],
        tools: &mut Tools,
    ) -> Result<(), FilterError> {
        match self.special {
            0 => {}
            1 | 4 => {
                to.fill(0);
                return Ok(());
            }
            2 => return fill_nan(to, self.size),
            3 => {
                let value = self.data().bytes(self.size)?;
                return repeat(value, to);
            }
            other => return Err(refused("a special value from 1 to 4", other.into())),
        }
        if self.flags & STORED != 0 {
            let mut data = self.data();
            data.bytes(n * self.block)?;
            to.copy_from_slice(data.bytes(to.len())?);
            return Ok(());
        }
        let mut starts = self.data();
        starts.bytes(4 * n)?;
        let [start] = starts.lengths()?;
        let Some(from) = self.bytes.get(start..) else {
            return Err(FilterError::damaged(
                NAME,
                format!("a block at byte {start} of {}", self.bytes.len()),
            ));
        };
        self.streams(Reader::new(NAME, from), to, tools)?;
        for (filter, parameter) in self.filters.iter().zip(self.parameters).rev() {
            let size = if parameter == 0 {
                self.size
            } else {
                parameter.into()
            };
            match filter {
                0 | 4 => continue,
                1 | 2 => {
                    let shuffled = at_least(&mut tools.block, to.len());
                    shuffled.copy_from_slice(to);
                    if *filter == 1 {
                        unshuffle(shuffled, to, size);
                    } else {
                        let groups = to.len() - to.len() % (8 * self.size);
                        unshuffle_bits(&shuffled[..groups], &mut to[..groups], self.size);
                    }
                }
                3 => undo_delta(n, to, self.size, &mut tools.reference),
                other => {
                    return Err(refused(
                        "no filter (0), shuffle (1), bitshuffle (2), delta (3) or truncated precision (4)",
                        (*other).into(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Decompresses the streams of a block.
    fn streams(
        &self,
        mut input: Reader<'_>,
        to: &mut [u8],
        tools: &mut Tools,
    ) -> Result<(), FilterError> {
        let split = to.len() == self.block
            && self.flags & NOT_SPLIT == 0
            && to.len().is_multiple_of(self.size);
        let length = if split {
            to.len() / self.size
        } else {
            to.len()
        };
        for stream in to.chunks_mut(length) {
            let compressed = i32::from_le_bytes(input.array()?);
            if compressed <= 0 {
                if compressed < 0 && input.array::<1>()?[0] & 1 == 0 {
                    return Err(FilterError::damaged(
                        NAME,
                        "a stream that is no run of a byte",
                    ));
                }
                let value = u8::try_from(-i64::from(compressed))
                    .map_err(|_| FilterError::damaged(NAME, "a run of a value that is no byte"))?;
                stream.fill(value);
                continue;
            }
            // No overflow: it is positive.
            let data = input.bytes(compressed as usize)?;
            if data.len() == stream.len() {
                stream.copy_from_slice(data);
                continue;
            }
            let found = match self.flags >> 5 {
                0 => blosclz::decompress(data, stream)?,
                1 => lz4_block::decompress(NAME, data, stream)?,
                3 => tools.codecs.zlib(NAME, data, stream)?,
                4 => tools.codecs.zstd(NAME, data, stream)?,
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
        Ok(())
    }
}

/// Decodes a chunk of any version and returns the size of its data, at most that of `output`.
pub(super) fn chunk(
    input: &[u8],
    output: &mut [u8],
    tools: &mut Tools,
) -> Result<usize, FilterError> {
    let Some(chunk) = Chunk::new(input)? else {
        return blosc::undo(input, output, tools);
    };
    let available = output.len();
    let Some(output) = output.get_mut(..chunk.decoded) else {
        return Err(FilterError::length(NAME, available, chunk.decoded as u64));
    };
    let block = if chunk.block == 0 {
        chunk.decoded
    } else {
        chunk.block
    };
    for (n, to) in output.chunks_mut(block.max(1)).enumerate() {
        chunk.block(n, to, tools)?;
    }
    Ok(output.len())
}

/// Undoes the differences (exclusive or) to the element before in the first block, and to the first
/// block in others.
fn undo_delta(n: usize, block: &mut [u8], size: usize, reference: &mut Vec<u8>) {
    if n == 0 {
        for at in size..block.len() {
            block[at] ^= block[at - size];
        }
        reference.clear();
        reference.extend_from_slice(block);
    } else {
        for (value, first) in block.iter_mut().zip(reference.iter()) {
            *value ^= first;
        }
    }
}

/// Fills with NaN of 4 or 8 bytes.
pub(super) fn fill_nan(to: &mut [u8], size: usize) -> Result<(), FilterError> {
    match size {
        4 => repeat(&f32::NAN.to_le_bytes(), to),
        8 => repeat(&f64::NAN.to_le_bytes(), to),
        other => Err(refused("NaN of 4 or 8 bytes", other as u64)),
    }
}

fn repeat(value: &[u8], to: &mut [u8]) -> Result<(), FilterError> {
    let elements = to.chunks_exact_mut(value.len());
    for element in elements {
        element.copy_from_slice(value);
    }
    Ok(())
}

pub(super) fn refused(expected: &'static str, found: u64) -> FilterError {
    FilterError::Variant {
        filter: NAME,
        expected,
        found,
    }
}
