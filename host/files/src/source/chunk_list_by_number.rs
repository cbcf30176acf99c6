//! The list of a dataset's chunks, one by one: an installed HDF5 may be older than 1.14, and then
//! walks through its index for each.

use hdf5_metno as hdf5;
use hdf5_metno::dataset::ChunkInfo;

/// Whether listing the chunks takes one walk through their index.
pub(super) const LISTED_AT_ONCE: bool = false;

/// The chunks that the file has of a dataset; `None` if their index is damaged.
pub(super) fn chunk_list(dataset: &hdf5::Dataset) -> Option<Vec<ChunkInfo>> {
    let count = dataset.num_chunks()?;
    (0..count).map(|n| dataset.chunk_info(n)).collect()
}
