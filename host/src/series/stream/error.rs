//! Why a stream of points cannot be aggregated.

use crate::io::{Bytes, IoError};
use crate::series::{Granularity, SeriesError};

/// What ended a stream.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The engine, or points that make no batch.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// Whoever takes the results.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The storage of what does not fit in memory.
    #[error(
        "temporary files in {folder}: {reason}; the points do not fit in memory and are kept there"
    )]
    Storage {
        /// Where.
        folder: String,
        /// The system's words.
        reason: std::io::Error,
    },
    /// One bucket that does not fit.
    #[error(
        "series {series}: its bucket of {granularity} has {points} points, which need {needed} of memory, but {available} may be used; a shorter granularity or more memory is needed"
    )]
    Bucket {
        /// Number of the series, from 0, in the order of its first point.
        series: usize,
        /// The longest granularity.
        granularity: Granularity,
        /// Points to be in memory at a time.
        points: u64,
        /// What they take with their results.
        needed: Bytes,
        /// The limit.
        available: Bytes,
    },
    /// It was asked to stop.
    #[error("stopped before the end")]
    Stopped,
}
