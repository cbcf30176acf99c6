//! Numbers and names in a block of bytes.

use super::StructureError;

/// The fields of a block, from the first to the last.
#[derive(Debug, Clone)]
pub(super) struct Fields<'b> {
    bytes: &'b [u8],
    /// What is read, for errors.
    what: &'static str,
}

impl<'b> Fields<'b> {
    pub(super) fn new(bytes: &'b [u8], what: &'static str) -> Self {
        Self { bytes, what }
    }

    pub(super) fn damaged(&self) -> StructureError {
        StructureError::Damaged(self.what)
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    /// The next `count` bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'b [u8], StructureError> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or_else(|| self.damaged())?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn skip(&mut self, count: usize) -> Result<(), StructureError> {
        self.bytes(count).map(|_| ())
    }

    /// The next unsigned integer of `count` bytes, 0 to 8, least significant byte first.
    pub(super) fn number(&mut self, count: usize) -> Result<u64, StructureError> {
        let bytes = self.bytes(count)?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |value, byte| (value << 8) | u64::from(*byte)))
    }

    /// A number that counts bytes or elements.
    pub(super) fn count(&mut self, bytes: usize) -> Result<usize, StructureError> {
        let number = self.number(bytes)?;
        usize::try_from(number).map_err(|_| self.damaged())
    }

    pub(super) fn byte(&mut self) -> Result<u8, StructureError> {
        Ok(self.bytes(1)?[0])
    }

    /// The address in the next `size` bytes; `None` if it is undefined: all bits set.
    pub(super) fn address(&mut self, size: usize) -> Result<Option<u64>, StructureError> {
        let number = self.number(size)?;
        Ok((number != all_ones(size)).then_some(number))
    }

    /// Requires the next bytes to be `signature`.
    pub(super) fn signature(&mut self, signature: [u8; 4]) -> Result<(), StructureError> {
        if self.bytes(4)? == signature {
            Ok(())
        } else {
            Err(self.damaged())
        }
    }

    /// A name that ends with a zero byte.
    pub(super) fn name(&mut self) -> Result<String, StructureError> {
        let end = self.bytes.iter().position(|byte| *byte == 0);
        let name = self.bytes(end.ok_or_else(|| self.damaged())?)?;
        self.skip(1)?;
        self.text(name)
    }

    /// The text in `bytes`.
    pub(super) fn text(&self, bytes: &[u8]) -> Result<String, StructureError> {
        std::str::from_utf8(bytes)
            .map(str::to_owned)
            .map_err(|_| StructureError::Unsupported("a name that is not Unicode text"))
    }
}

/// The unsigned integer of `bytes` bytes, at most 8, with all bits set.
pub(super) fn all_ones(bytes: usize) -> u64 {
    match bytes {
        0 => 0,
        1..8 => (1 << (8 * bytes)) - 1,
        _ => u64::MAX,
    }
}

/// Bytes for every integer up to `largest`.
pub(super) fn bytes_for(largest: u64) -> usize {
    (largest.max(1).ilog2() / 8 + 1) as usize
}
