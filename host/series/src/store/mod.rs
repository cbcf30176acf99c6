//! A store of aggregates: a single file that keeps the archives of a [`Policy`] for every series.
//!
//! A [`StoreWriter`] adds batches of points. Each batch is a transaction, stored completely or not
//! at all even if the process or the computer stops. Points may be late by the policy's back
//! window: the raw points of the window are kept, and affected buckets are recomputed from them. A
//! [`StoreReader`] returns aggregates, even while another process writes.
//!
//! ```text
//! window start = ⌊last/G⌋·G − back_window·G     G: the coarsest granularity, last: time of the last point
//! kept buckets: start > ⌊last/g⌋·g − timespan   for every archive, of granularity g
//! ```
//!
//! For series without repeated timestamps, the contents depend neither on the division of points
//! into batches nor on the order of the batches, as long as no point is older than its window.
//! `docs/series-store.md` describes the file.

mod error;
mod file;
mod ingest;
mod merge;
mod pending;
mod policy;
mod read;
mod record;
mod replace;

pub use error::StoreError;
pub use ingest::{Ingested, MAX_NAME_BYTES, StoreWriter};
pub use pending::Pending;
pub use policy::{Archive, MAX_AGGREGATES, MAX_ARCHIVES, Policy};
pub use read::{ArchivedBuckets, Query, SeriesInfo, StoreReader, Totals};

#[cfg(test)]
mod tests;
