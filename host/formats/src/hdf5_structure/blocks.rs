//! Blocks of the file, with a limit on what is read.

use super::StructureError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Most bytes that one call reads.
const MOST_BYTES: usize = 16 << 20;
/// Most blocks that one call reads: a few for each link of a group, and 100 000 links are sensible.
const MOST_BLOCKS: usize = 2_000_000;
/// Bytes that are read at once, as blocks are small and often near each other.
const PAGE: u64 = 1 << 16;

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
    /// The part of the file that was read last: where it begins, and its bytes.
    page: (u64, Vec<u8>),
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
            page: (0, Vec::new()),
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
        if let Some(bytes) = self.in_page(from, count) {
            return Ok(bytes);
        }
        let failed = |e: std::io::Error| StructureError::Read(e.to_string());
        let begin = from - from % PAGE;
        let length = PAGE.min(self.length - begin) as usize;
        if from - begin + count as u64 <= length as u64 {
            let mut page = vec![0; length];
            (self.file.seek(SeekFrom::Start(begin)))
                .and_then(|_| self.file.read_exact(&mut page))
                .map_err(failed)?;
            self.page = (begin, page);
            return self
                .in_page(from, count)
                .ok_or(StructureError::Damaged(what));
        }
        let mut bytes = vec![0; count];
        self.file
            .seek(SeekFrom::Start(from))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(failed)?;
        Ok(bytes)
    }

    /// The `count` bytes from `from` on, if they are in the part that was read last.
    fn in_page(&self, from: u64, count: usize) -> Option<Vec<u8>> {
        let (begin, page) = &self.page;
        let at = usize::try_from(from.checked_sub(*begin)?).ok()?;
        Some(page.get(at..at.checked_add(count)?)?.to_vec())
    }
}
