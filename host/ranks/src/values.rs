//! The operations with values instead of bytes.

use bytemuck::Pod;

use crate::{Communicator, RankError};

/// All-gather: the values of every rank, in the order of ranks, on all of them. Their numbers may
/// differ.
///
/// # Errors
///
/// Those of [`Communicator::all_gather`], and [`RankError::Length`] if the bytes of a rank are no
/// whole number of values, because it sent values of another type.
pub fn all_gather_values<T: Pod>(
    communicator: &dyn Communicator,
    values: &[T],
) -> Result<Vec<Vec<T>>, RankError> {
    all(communicator.all_gather(to_bytes(values))?)
}

/// Gather: the values of every rank on rank 0, in the order of ranks; `None` on the others.
///
/// # Errors
///
/// Those of [`Communicator::gather`], and [`RankError::Length`].
pub fn gather_values<T: Pod>(
    communicator: &dyn Communicator,
    values: &[T],
) -> Result<Option<Vec<Vec<T>>>, RankError> {
    communicator.gather(to_bytes(values))?.map(all).transpose()
}

/// Broadcast: the values of rank 0 on all ranks. The values that other ranks pass are not used.
///
/// # Errors
///
/// Those of [`Communicator::broadcast`], and [`RankError::Length`].
pub fn broadcast_values<T: Pod>(
    communicator: &dyn Communicator,
    values: &[T],
) -> Result<Vec<T>, RankError> {
    let mine = if communicator.rank() == 0 {
        to_bytes(values)
    } else {
        Vec::new()
    };
    from_bytes(0, &communicator.broadcast(mine)?)
}

fn to_bytes<T: Pod>(values: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

fn all<T: Pod>(gathered: Vec<impl AsRef<Vec<u8>>>) -> Result<Vec<Vec<T>>, RankError> {
    let ranks = gathered.iter().enumerate();
    ranks
        .map(|(rank, bytes)| from_bytes(rank, bytes.as_ref()))
        .collect()
}

/// The values of `rank`, copied into memory with their alignment.
fn from_bytes<T: Pod>(rank: usize, bytes: &[u8]) -> Result<Vec<T>, RankError> {
    let size = const {
        assert!(size_of::<T>() > 0, "values without bytes have no number");
        size_of::<T>()
    };
    if !bytes.len().is_multiple_of(size) {
        return Err(RankError::Length {
            rank,
            bytes: bytes.len(),
            size,
        });
    }
    Ok(bytemuck::pod_collect_to_vec(bytes))
}
