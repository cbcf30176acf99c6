//! Errors of a store, one sentence each.

use super::super::SeriesError;
use warpstride_core::system::Bytes;

/// Why a store could not be created, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An error of the file system.
    #[error("{file}: {what}: {reason}")]
    File {
        /// The store, as given.
        file: String,
        /// The failed operation: `cannot be opened`, …
        what: &'static str,
        /// The system's message.
        reason: String,
    },
    /// The file is not a store.
    #[error("{file}: expected a store of series, found {found}")]
    Foreign {
        /// The store, as given.
        file: String,
        /// What the file is instead.
        found: String,
    },
    /// Another process is writing to the store.
    #[error("{file}: another process is writing to it; try again when it has finished")]
    Busy {
        /// The store, as given.
        file: String,
    },
    /// The contents of the file are inconsistent.
    #[error(
        "{file}: expected a store of series, found a damaged one: {found}; create the store again from its inputs, or restore a copy"
    )]
    Damaged {
        /// The store, as given.
        file: String,
        /// The inconsistency.
        found: String,
    },
    /// An invalid policy.
    #[error("{name}: {why}")]
    Policy {
        /// Its name or file.
        name: String,
        /// The error and the expected value.
        why: String,
    },
    /// The store has another policy, which cannot be changed.
    #[error(
        "{file}: expected the store's policy {stored}, found {requested}; omit --policy, or create another store"
    )]
    OtherPolicy {
        /// The store, as given.
        file: String,
        /// Description of the store's policy.
        stored: String,
        /// Description of the requested policy.
        requested: String,
    },
    /// A new store needs a policy.
    #[error(
        "{file}: expected a store, found no file; use --policy low, medium, high or FILE.toml to create it"
    )]
    NoPolicy {
        /// The store, as given.
        file: String,
    },
    /// The store does not contain what was requested.
    #[error("{file}: {what}: {available}, found '{requested}'")]
    Unknown {
        /// The store, as given.
        file: String,
        /// `series`, `granularity`, `aggregate`.
        what: &'static str,
        /// The requested name.
        requested: String,
        /// What the store contains instead.
        available: String,
    },
    /// Invalid names of series.
    #[error("{0}")]
    Series(String),
    /// The points to merge at once do not fit in memory.
    #[error(
        "series '{series}': {new} points of the batch and {stored} stored points of its back window need {needed} of memory together with other series, but only {available} is available; use {remedy}"
    )]
    TooLarge {
        /// The series with the most points.
        series: String,
        /// Points of the batch.
        new: usize,
        /// Approximate number of stored points.
        stored: usize,
        /// What would need less memory.
        remedy: &'static str,
        /// Bytes needed.
        needed: Bytes,
        /// Bytes that may be used.
        available: Bytes,
    },
    /// An error of the engine.
    #[error(transparent)]
    Aggregation(Box<SeriesError>),
}

impl From<SeriesError> for StoreError {
    fn from(error: SeriesError) -> Self {
        Self::Aggregation(Box::new(error))
    }
}
