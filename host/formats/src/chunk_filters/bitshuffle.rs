//! The bitshuffle filter of HDF5: alone, with LZ4, with Zstandard.
//!
//! Blocks of elements (a multiple of 8) have the first bits of all elements, then the second, and
//! so on. The last block is shorter, and up to 7 elements behind it are stored as they are.
//! Compressed data begin with their size (8 bytes) and that of a block (4 bytes), in bytes and
//! big-endian; before each block is its compressed size (4 bytes).

use super::read::Reader;
use super::scratch::{Tools, at_least};
use super::transpose::unshuffle_bits;
use super::{FilterError, lz4_block};

const NAME: &str = "bitshuffle";

/// Elements in a block are a multiple of this.
const MULTIPLE: usize = 8;

/// Size of blocks for which no size is given, bytes.
const TARGET_BYTES: usize = 8192;

/// The least number of elements in such a block.
const LEAST_ELEMENTS: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compressor {
    None,
    Lz4,
    Zstd,
}

/// The filter's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bitshuffle {
    /// Size of an element, bytes.
    size: usize,
    /// Elements in a block of data that are not compressed.
    block: usize,
    compressor: Compressor,
}

impl Bitshuffle {
    /// From the parameters: two of the version, element size, elements in a block (0: from the
    /// element size), compressor.
    pub(super) fn new(cd_values: &[u32], element_size: usize) -> Result<Self, FilterError> {
        let value = |n: usize| cd_values.get(n).copied().unwrap_or(0) as usize;
        let size = if value(2) == 0 {
            element_size.max(1)
        } else {
            value(2)
        };
        let refused = |expected, found: usize| FilterError::Variant {
            filter: NAME,
            expected,
            found: found as u64,
        };
        let block = match value(3) {
            0 => (TARGET_BYTES / size / MULTIPLE * MULTIPLE).max(LEAST_ELEMENTS),
            block if block % MULTIPLE == 0 => block,
            block => return Err(refused("a block size that is a multiple of 8", block)),
        };
        let compressor = match value(4) {
            0 => Compressor::None,
            2 => Compressor::Lz4,
            3 => Compressor::Zstd,
            other => {
                return Err(refused(
                    "no compressor (0), LZ4 (2) or Zstandard (3)",
                    other,
                ));
            }
        };
        Ok(Self {
            size,
            block,
            compressor,
        })
    }

    pub(super) fn compresses(self) -> bool {
        self.compressor != Compressor::None
    }

    pub(super) fn undo(
        self,
        input: &[u8],
        output: &mut [u8],
        tools: &mut Tools,
    ) -> Result<usize, FilterError> {
        if self.compresses() {
            self.undo_compressed(input, output, tools)
        } else {
            self.undo_alone(input, output)
        }
    }

    fn undo_alone(self, input: &[u8], output: &mut [u8]) -> Result<usize, FilterError> {
        let available = output.len();
        let Some(output) = output.get_mut(..input.len()) else {
            return Err(FilterError::length(NAME, available, input.len() as u64));
        };
        let (blocks, left) = input.split_at(self.shuffled(input.len()));
        let (out_blocks, out_left) = output.split_at_mut(blocks.len());
        // No overflow: both numbers have 32 bits.
        let bytes = self.block * self.size;
        for (from, to) in blocks.chunks(bytes).zip(out_blocks.chunks_mut(bytes)) {
            unshuffle_bits(from, to, self.size);
        }
        out_left.copy_from_slice(left);
        Ok(input.len())
    }

    fn undo_compressed(
        self,
        input: &[u8],
        output: &mut [u8],
        tools: &mut Tools,
    ) -> Result<usize, FilterError> {
        let mut input = Reader::new(NAME, input);
        let declared = u64::from_be_bytes(input.array()?);
        let available = output.len();
        let output = usize::try_from(declared)
            .ok()
            .and_then(|declared| output.get_mut(..declared))
            .ok_or(FilterError::length(NAME, available, declared))?;
        let block = input.length_be()?;
        if block == 0 || block % (MULTIPLE * self.size) != 0 {
            return Err(FilterError::Variant {
                filter: NAME,
                expected: "a block size in bytes that is a multiple of 8 elements",
                found: block as u64,
            });
        }
        let (blocks, left) = output.split_at_mut(self.shuffled(output.len()));
        for to in blocks.chunks_mut(block) {
            let compressed = input.length_be()?;
            let data = input.bytes(compressed)?;
            let shuffled = at_least(&mut tools.block, to.len());
            let found = match self.compressor {
                Compressor::Zstd => tools.codecs.zstd(NAME, data, shuffled)?,
                _ => lz4_block::decompress(NAME, data, shuffled)?,
            };
            if found != to.len() {
                return Err(FilterError::length(NAME, to.len(), found as u64));
            }
            unshuffle_bits(shuffled, to, self.size);
        }
        left.copy_from_slice(input.bytes(left.len())?);
        Ok(output.len())
    }

    /// Bytes of `length` that are in blocks: whole groups of 8 elements.
    fn shuffled(self, length: usize) -> usize {
        length - length % (MULTIPLE * self.size)
    }
}
