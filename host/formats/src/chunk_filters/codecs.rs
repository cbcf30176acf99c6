//! Decoders from other crates, each with the same interface: decompressed into memory of a limited
//! size.

use super::FilterError;

/// Decoders with a state that is used again.
#[derive(Default)]
pub(super) struct Codecs {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    zlib: Option<flate2::Decompress>,
}

impl Codecs {
    /// Decompresses frames of Zstandard and returns the size of the decompressed data, at most that
    /// of `output`.
    pub(super) fn zstd(
        &mut self,
        filter: &'static str,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, FilterError> {
        let damaged = |e: std::io::Error| FilterError::damaged(filter, e.to_string());
        if let Ok(Some(declared)) = zstd::zstd_safe::get_frame_content_size(input)
            && declared > output.len() as u64
        {
            return Err(FilterError::length(filter, output.len(), declared));
        }
        if self.zstd.is_none() {
            self.zstd = Some(zstd::bulk::Decompressor::new().map_err(damaged)?);
        }
        match &mut self.zstd {
            Some(decoder) => decoder.decompress_to_buffer(input, output).map_err(damaged),
            None => Err(FilterError::damaged(filter, "no decoder")),
        }
    }

    /// Decompresses a zlib stream and returns the size of the decompressed data, at most that of
    /// `output`.
    pub(super) fn zlib(
        &mut self,
        filter: &'static str,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, FilterError> {
        let decoder = self
            .zlib
            .get_or_insert_with(|| flate2::Decompress::new(true));
        decoder.reset(true);
        let status = decoder
            .decompress(input, output, flate2::FlushDecompress::Finish)
            .map_err(|e| FilterError::damaged(filter, e.to_string()))?;
        // No overflow: at most the length of `output`.
        let length = decoder.total_out() as usize;
        match status {
            flate2::Status::StreamEnd => Ok(length),
            _ if length == output.len() => {
                Err(FilterError::length(filter, output.len(), length as u64 + 1))
            }
            _ => Err(FilterError::damaged(
                filter,
                format!("the end of the data after {length} decoded bytes"),
            )),
        }
    }
}
