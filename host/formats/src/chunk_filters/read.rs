//! Numbers and slices from the bytes of a chunk.

use super::FilterError;

/// What is left of a chunk's bytes.
pub(super) struct Reader<'a> {
    /// Name of the filter, for errors.
    pub(super) filter: &'static str,
    /// The bytes that have not been read.
    pub(super) rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(filter: &'static str, rest: &'a [u8]) -> Self {
        Self { filter, rest }
    }

    /// The next `count` bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], FilterError> {
        let Some((bytes, rest)) = self.rest.split_at_checked(count) else {
            return Err(FilterError::Truncated {
                filter: self.filter,
                expected: count as u64,
                found: self.rest.len() as u64,
            });
        };
        self.rest = rest;
        Ok(bytes)
    }

    /// The next `N` bytes as an array.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], FilterError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    /// A length of 4 bytes, big-endian.
    pub(super) fn length_be(&mut self) -> Result<usize, FilterError> {
        Ok(u32::from_be_bytes(self.array()?) as usize)
    }

    /// The next `N` lengths of 4 bytes, little-endian.
    pub(super) fn lengths<const N: usize>(&mut self) -> Result<[usize; N], FilterError> {
        let mut lengths = [0; N];
        for length in &mut lengths {
            *length = u32::from_le_bytes(self.array()?) as usize;
        }
        Ok(lengths)
    }
}
