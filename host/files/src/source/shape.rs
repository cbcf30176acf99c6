//! Checks of a dataset's size against the file and the available memory, before anything is
//! allocated.

use super::bounds::{ADVICE_UNCOMPRESSED, GREATEST_RATIO, RATIO, UNJUDGED};
use super::{IoError, Source};
use hdf5_metno as hdf5;
use hdf5_metno::dataset::Layout;
use warpstride_core::system::Bytes;

/// Highest rank of a dataset that is read, above any that the formats define; HDF5 allows 32.
pub(super) const HIGHEST_RANK: usize = 8;

/// What undoes the filters of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoder {
    /// HDF5 alone.
    Hdf5,
    /// This program (`chunks.rs`), where HDF5 does not have a filter.
    Own,
}

impl Source {
    /// The shape of `dataset`, after checking its size against the file and the available memory.
    /// Of elements of variable length the global heaps must have been checked: HDF5 reads there
    /// what a dataset has where nothing was written.
    pub(crate) fn checked_shape(
        &self,
        path: &str,
        dataset: &hdf5::Dataset,
        item: usize,
    ) -> Result<Vec<usize>, IoError> {
        self.checked_shape_by(path, dataset, item, Decoder::Hdf5)
    }

    /// Like [`Source::checked_shape`], for a dataset whose chunks `decoder` decodes.
    pub(super) fn checked_shape_by(
        &self,
        path: &str,
        dataset: &hdf5::Dataset,
        item: usize,
        decoder: Decoder,
    ) -> Result<Vec<usize>, IoError> {
        let broken = |_| self.damaged(path, "its header is damaged");
        let space = dataset.space().map_err(broken)?;
        if space.is_null() {
            return Err(self.damaged(path, "it is empty"));
        }
        let rank = space.ndim();
        if rank > HIGHEST_RANK {
            return Err(self.bad_shape(path, &vec![0; rank], "rank 8 or less"));
        }
        let shape = space.shape();
        if shape.len() != rank {
            return Err(self.damaged(path, "its shape is damaged"));
        }
        let bytes = bytes_of(&shape, item);
        let stored = dataset.storage_size();
        if stored > self.length() {
            return Err(self.damaged(
                path,
                &format!(
                    "expected at most {} bytes, the length of the file, found {stored} (truncated or damaged)",
                    self.length()
                ),
            ));
        }
        // Texts and records; numbers are judged when they are read (`stored_size.rs`).
        if decoder == Decoder::Hdf5
            && bytes > UNJUDGED
            && bytes > GREATEST_RATIO.saturating_mul(stored.max(1).into())
        {
            return Err(IoError::Unsupported {
                file: self.name().to_owned(),
                dataset: path.to_owned(),
                expected: RATIO,
                found: format!("{} in {}", Bytes(bytes), Bytes(stored.into())),
                advice: ADVICE_UNCOMPRESSED,
            });
        }
        let properties = dataset.create_plist().map_err(broken)?;
        if !properties.get_external().map_err(broken)?.is_empty() {
            return Err(self.unsupported(path, "data in other files"));
        }
        match properties.get_layout().map_err(broken)? {
            Layout::Virtual => {
                return Err(self.unsupported(path, "a virtual dataset"));
            }
            Layout::Contiguous => {
                if let Some(offset) = dataset.offset() {
                    let end = u128::from(offset) + bytes;
                    if end > u128::from(self.length()) {
                        return Err(self.damaged(
                            path,
                            &format!(
                                "it ends at byte {end}, but the file has {} bytes (truncated or damaged)",
                                self.length()
                            ),
                        ));
                    }
                }
            }
            Layout::Chunked => {
                let filters = properties.get_filters().map_err(broken)?;
                self.check_filters(path, &filters, (decoder, item))?;
                let chunk = properties.get_chunk().map_err(broken)?.unwrap_or_default();
                self.allow(path, bytes_of(&chunk, item))?;
                // HDF5 fills missing chunks one by one, which would take unlimited time.
                let chunks = shape.iter().zip(&chunk).fold(1_u128, |n, (d, c)| {
                    n.saturating_mul(d.div_ceil((*c).max(1)) as u128)
                });
                if chunks > u128::from(self.length()) {
                    return Err(self.damaged(
                        path,
                        &format!(
                            "it has {chunks} chunks, more than its file of {} bytes can hold",
                            self.length()
                        ),
                    ));
                }
            }
            Layout::Compact => {}
        }
        Ok(shape)
    }
}

/// Bytes of an array; saturates instead of overflowing.
pub(super) fn bytes_of(shape: &[usize], item: usize) -> u128 {
    shape
        .iter()
        .fold(item as u128, |b, d| b.saturating_mul(*d as u128))
}
