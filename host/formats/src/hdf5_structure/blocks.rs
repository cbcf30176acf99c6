//! Blocks of the file, with a limit on what is read.

use super::StructureError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Most bytes that one call reads.
const MOST_BYTES: usize = 16 << 20;
/// Most blocks that one call reads.
const MOST_BLOCKS: usize = 200_000;

/// An open file, whose addresses begin at its superblock.
#[derive(Debug)]
pub(super) struct Blocks {
    file: File,
    length: u64,
    base: u64,
    /// Bytes of an address.
    pub(super) offset: usize,
    /// Bytes of a length.
    pub(super) size: usize,
    bytes_left: usize,
    blocks_left: usize,
}

impl Blocks {
    /// `base`: where the superblock is; `[offset, size]`: bytes of an address and of a length.
    pub(super) fn new(file: File, length: u64, base: u64, [offset, size]: [usize; 2]) -> Self {
        Self {
            file,
            length,
            base,
            offset,
            size,
            bytes_left: MOST_BYTES,
            blocks_left: MOST_BLOCKS,
        }
    }

    /// Begins a call.
    pub(super) fn begin(&mut self) {
        self.bytes_left = MOST_BYTES;
        self.blocks_left = MOST_BLOCKS;
    }

    /// The `count` bytes at `address`, of the structure `what`.
    pub(super) fn read(
        &mut self,
        address: u64,
        count: usize,
        what: &'static str,
    ) -> Result<Vec<u8>, StructureError> {
        let from = self.base.checked_add(address);
        let inside = from
            .and_then(|from| from.checked_add(count as u64))
            .is_some_and(|end| end <= self.length);
        let (Some(from), true) = (from, inside) else {
            return Err(StructureError::Damaged(what));
        };
        self.bytes_left = (self.bytes_left.checked_sub(count)).ok_or(StructureError::TooLarge)?;
        self.blocks_left = (self.blocks_left.checked_sub(1)).ok_or(StructureError::TooLarge)?;
        let mut bytes = vec![0; count];
        self.file
            .seek(SeekFrom::Start(from))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|e| StructureError::Read(e.to_string()))?;
        Ok(bytes)
    }
}
