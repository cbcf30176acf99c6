//! Errors of an aggregation of a stream of points.

use crate::{Granularity, SeriesError};
use warpstride_core::system::Bytes;
use warpstride_files::IoError;

/// Why a stream ended early.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// An error of the engine, or points that do not form a batch.
    #[error(transparent)]
    Series(Box<SeriesError>),
    /// An error of the consumer of the results.
    #[error(transparent)]
    Io(#[from] IoError),
    /// An error of the storage of points that do not fit in memory.
    #[error(
        "temporary files in {folder}: {reason}; they hold the points that do not fit in memory"
    )]
    Storage {
        /// The folder of the temporary files.
        folder: String,
        /// The system's message.
        reason: std::io::Error,
    },
    /// A bucket does not fit in memory.
    #[error(
        "series {series}: a bucket of {granularity} has {points} points and needs {needed} of memory, but only {available} is available; use a shorter granularity or more memory"
    )]
    Bucket {
        /// Index of the series, from 0, in the order of the first points.
        series: usize,
        /// The longest granularity.
        granularity: Granularity,
        /// Number of points needed in memory at once.
        points: u64,
        /// Memory for them and their results.
        needed: Bytes,
        /// The memory limit.
        available: Bytes,
    },
    /// The caller asked to stop.
    #[error("stopped before the end")]
    Stopped,
}

impl From<SeriesError> for StreamError {
    fn from(error: SeriesError) -> Self {
        Self::Series(Box::new(error))
    }
}
