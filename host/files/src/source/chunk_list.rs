//! The list of a dataset's chunks, by one walk through HDF5's index (since HDF5 1.14).

use hdf5_metno as hdf5;
use hdf5_metno::dataset::ChunkInfo;

/// Whether listing the chunks takes one walk through their index.
pub(super) const LISTED_AT_ONCE: bool = true;

/// The chunks that the file has of a dataset; `None` if their index is damaged.
pub(super) fn chunk_list(dataset: &hdf5::Dataset) -> Option<Vec<ChunkInfo>> {
    let count = dataset.num_chunks()?;
    let mut list = Vec::new();
    let visited = dataset.chunks_visit(|chunk| {
        // A damaged index may have no end.
        if list.len() >= count {
            return -1;
        }
        list.push(chunk.into());
        0
    });
    (visited.is_ok() && list.len() == count).then_some(list)
}
