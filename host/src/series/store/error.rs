//! What can be wrong with a store or with what is asked of it, one sentence each.

use super::super::SeriesError;
use crate::io::Bytes;

/// Why a store was not made, read or added to.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refuses the file.
    #[error("{file}: {what}: {reason}")]
    File {
        /// The store, as given.
        file: String,
        /// `cannot be opened`, …
        what: &'static str,
        /// The system's words.
        reason: String,
    },
    /// Another kind of file.
    #[error("{file}: is not a store of series: {found}")]
    Foreign {
        /// The store, as given.
        file: String,
        /// What was found.
        found: String,
    },
    /// Another process writes.
    #[error(
        "{file}: another process is writing to it; one writer at a time is possible, try again when it is done"
    )]
    Busy {
        /// The store, as given.
        file: String,
    },
    /// What is in the file cannot be.
    #[error(
        "{file}: is damaged: {found}; make the store again from its inputs, or take a copy of it"
    )]
    Damaged {
        /// The store, as given.
        file: String,
        /// What was found.
        found: String,
    },
    /// A policy that contradicts itself.
    #[error("policy {name}: {why}")]
    Policy {
        /// Its name or file.
        name: String,
        /// What is wrong, and what is expected.
        why: String,
    },
    /// A store keeps the policy that it was made with.
    #[error(
        "{file}: was made with policy {stored}, and keeps it; {asked} is another: leave --policy out, or make another store"
    )]
    OtherPolicy {
        /// The store, as given.
        file: String,
        /// What it was made with, in words.
        stored: String,
        /// What was asked for, in words.
        asked: String,
    },
    /// A store must have a policy.
    #[error(
        "{file}: does not exist yet: --policy low, medium, high or FILE.toml is needed to make it"
    )]
    NoPolicy {
        /// The store, as given.
        file: String,
    },
    /// Asked for what the store does not have.
    #[error("{file}: has no {what} '{asked}': {there_is}")]
    Unknown {
        /// The store, as given.
        file: String,
        /// `series`, `granularity`, `aggregate`.
        what: &'static str,
        /// As asked.
        asked: String,
        /// What it has instead.
        there_is: String,
    },
    /// Series that cannot be stored.
    #[error("{0}")]
    Series(String),
    /// Points that must be merged at a time, and are more than fits.
    #[error(
        "series '{series}': {new} points of the batch and {stored} stored ones of its back window need {needed} of memory with those of other series, but {available} may be used; {cure} is expected"
    )]
    TooLarge {
        /// The one that has the most.
        series: String,
        /// Points of the batch.
        new: usize,
        /// Points that are stored, about.
        stored: usize,
        /// What would take less.
        cure: &'static str,
        /// Bytes needed.
        needed: Bytes,
        /// Bytes that may be used.
        available: Bytes,
    },
    /// The engine's.
    #[error(transparent)]
    Aggregation(Box<SeriesError>),
}

impl From<SeriesError> for StoreError {
    fn from(error: SeriesError) -> Self {
        Self::Aggregation(Box::new(error))
    }
}
