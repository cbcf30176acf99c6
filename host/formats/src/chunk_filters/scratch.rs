//! Memory and decoders that are used again for each chunk.

use std::fmt;

/// Memory and decoders of one thread, used again for each chunk.
///
/// It grows with the largest chunk that has been decoded with it. Its contents do not influence
/// what is decoded.
#[derive(Default)]
pub struct Scratch {
    /// Results of all filters but the last.
    pub(super) stages: [Vec<u8>; 2],
    pub(super) tools: Tools,
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch")
            .field(
                "bytes",
                &self
                    .stages
                    .iter()
                    .chain([&self.tools.block])
                    .map(Vec::capacity)
                    .sum::<usize>(),
            )
            .finish_non_exhaustive()
    }
}

/// What single filters use.
#[derive(Default)]
pub(super) struct Tools {
    /// A decompressed block before its bits or bytes are in order.
    pub(super) block: Vec<u8>,
    /// The first block of a chunk, to which others are differences.
    pub(super) reference: Vec<u8>,
    /// A block of an array with several axes.
    pub(super) grid_block: Vec<u8>,
    pub(super) codecs: super::codecs::Codecs,
}

/// The first `length` bytes of `memory`, which grows where it is shorter.
pub(super) fn at_least(memory: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if memory.len() < length {
        memory.resize(length, 0);
    }
    &mut memory[..length]
}
