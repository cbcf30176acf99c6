//! The filters: from HDF5's parameters to what undoes them.

use super::scratch::Tools;
use super::{FilterError, bitshuffle, blosc, blosc2_frame, fletcher32, lz4, lzf, shuffle};

/// A filter of a dataset, as HDF5 describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterSpec {
    /// Registered identifier.
    pub id: u32,
    /// The filter's parameters (`cd_values`).
    pub cd_values: Vec<u32>,
    /// Whether data may be stored without this filter.
    pub optional: bool,
}

/// A filter that can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    Deflate,
    Shuffle {
        size: usize,
    },
    Fletcher32,
    Lzf,
    Blosc,
    Blosc2,
    Lz4,
    Bitshuffle(bitshuffle::Bitshuffle),
    Zstd,
    /// An optional filter that cannot be undone: chunks are read that were stored without it.
    Unknown {
        id: u32,
    },
}

impl Filter {
    pub(super) fn new(spec: &FilterSpec, element_size: usize) -> Result<Self, FilterError> {
        Ok(match spec.id {
            1 => Self::Deflate,
            2 => Self::Shuffle {
                size: shuffle::element_size(&spec.cd_values, element_size)?,
            },
            3 => Self::Fletcher32,
            32000 => Self::Lzf,
            32001 => Self::Blosc,
            32004 => Self::Lz4,
            32008 => Self::Bitshuffle(bitshuffle::Bitshuffle::new(&spec.cd_values, element_size)?),
            32015 => Self::Zstd,
            32026 => Self::Blosc2,
            id if spec.optional => Self::Unknown { id },
            id => return Err(FilterError::Unknown { id }),
        })
    }

    /// Name in errors.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Deflate => "deflate",
            Self::Shuffle { .. } => "shuffle",
            Self::Fletcher32 => "Fletcher-32",
            Self::Lzf => "LZF",
            Self::Blosc => "Blosc",
            Self::Blosc2 => "Blosc2",
            Self::Lz4 => "LZ4",
            Self::Bitshuffle(_) => "bitshuffle",
            Self::Zstd => "Zstandard",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// Size of the filtered data if it depends only on the size before the filter.
    pub(super) fn exact_size(self, before: usize) -> Option<usize> {
        match self {
            Self::Shuffle { .. } => Some(before),
            Self::Bitshuffle(parameters) if !parameters.compresses() => Some(before),
            Self::Fletcher32 => before.checked_add(fletcher32::BYTES),
            _ => None,
        }
    }

    /// The greatest size of filtered data: compressors store data that cannot be compressed with
    /// little overhead.
    pub(super) fn greatest_size(self, before: usize) -> usize {
        self.exact_size(before)
            .unwrap_or_else(|| before.saturating_add(before / 16).saturating_add(4096))
    }

    /// Undoes the filter and returns the size of the result, at most that of `output`.
    pub(super) fn undo(
        self,
        input: &[u8],
        output: &mut [u8],
        tools: &mut Tools,
    ) -> Result<usize, FilterError> {
        match self {
            Self::Deflate => tools.codecs.zlib(self.name(), input, output),
            Self::Shuffle { size } => shuffle::undo(input, output, size),
            Self::Fletcher32 => fletcher32::undo(input, output),
            Self::Lzf => lzf::decompress(input, output),
            Self::Blosc => blosc::undo(input, output, tools),
            Self::Blosc2 => blosc2_frame::undo(input, output, tools),
            Self::Lz4 => lz4::undo(input, output),
            Self::Bitshuffle(parameters) => parameters.undo(input, output, tools),
            Self::Zstd => tools.codecs.zstd(self.name(), input, output),
            Self::Unknown { id } => Err(FilterError::Unknown { id }),
        }
    }
}
