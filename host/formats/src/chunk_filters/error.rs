//! Errors of filters. Each is a sentence without the file and the dataset, which the caller knows.

/// The reason why a chunk cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A filter that this crate does not have.
    #[error(
        "HDF5 filter {id}: expected deflate (1), shuffle (2), Fletcher-32 (3), LZF (32000), Blosc (32001), LZ4 (32004), \
         bitshuffle (32008), Zstandard (32015) or Blosc2 (32026), found another filter"
    )]
    Unknown {
        /// HDF5's identifier.
        id: u32,
    },
    /// More filters than a pipeline of HDF5 can have.
    #[error("expected at most 32 filters, found {found}")]
    TooMany {
        /// Number of filters.
        found: usize,
    },
    /// A parameter of a filter, or a variant that a chunk's header names.
    #[error("{filter} filter: expected {expected}, found {found}")]
    Variant {
        /// Name of the filter.
        filter: &'static str,
        /// What was expected.
        expected: &'static str,
        /// What was found.
        found: u64,
    },
    /// The data of a chunk end too early.
    #[error(
        "{filter} filter: expected {expected} more bytes of compressed data, found {found} (the chunk is truncated)"
    )]
    Truncated {
        /// Name of the filter.
        filter: &'static str,
        /// Bytes that were needed.
        expected: u64,
        /// Bytes that are left.
        found: u64,
    },
    /// The decoded data have another size.
    #[error("{filter} filter: expected {expected} decoded bytes, found {found}")]
    Length {
        /// Name of the filter.
        filter: &'static str,
        /// Size of the decoded data, or their greatest size, bytes.
        expected: u64,
        /// Size that the data have or declare, bytes.
        found: u64,
    },
    /// The compressed data are not valid.
    #[error("{filter} filter: expected valid compressed data, found {reason}")]
    Damaged {
        /// Name of the filter.
        filter: &'static str,
        /// What the decoder found.
        reason: String,
    },
    /// The checksum of a chunk does not fit its data.
    #[error(
        "Fletcher-32 filter: expected the checksum {stored:#010x} that the chunk has, found {computed:#010x}"
    )]
    Checksum {
        /// The stored checksum.
        stored: u32,
        /// The checksum of the data.
        computed: u32,
    },
    /// The given memory does not have the size of a decoded chunk.
    #[error("expected memory for {expected} decoded bytes, found {found}")]
    Output {
        /// Size of a decoded chunk, bytes.
        expected: usize,
        /// Size of the memory, bytes.
        found: usize,
    },
}

impl FilterError {
    /// Damaged data without a more exact reason.
    pub(super) fn damaged(filter: &'static str, reason: impl Into<String>) -> Self {
        Self::Damaged {
            filter,
            reason: reason.into(),
        }
    }

    /// Decoded data of another size.
    pub(super) fn length(filter: &'static str, expected: usize, found: u64) -> Self {
        Self::Length {
            filter,
            expected: expected as u64,
            found,
        }
    }
}
