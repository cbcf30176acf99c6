//! A store of aggregates: one file that keeps, of every series, what an archive [`Policy`] says.
//!
//! A [`StoreWriter`] takes batches of points; each is one transaction, there wholly or not at all whenever the process
//! or the machine stops. Points may be late by the policy's back window: so far back they are kept themselves, and
//! the buckets that they touch are computed again from them. A [`StoreReader`] gives aggregates back, also while
//! another process writes.
//!
//! ```text
//! window start = ⌊last/G⌋·G − back_window·G     G: the coarsest granularity, last: time of the last point
//! kept buckets: start > ⌊last/g⌋·g − timespan   for every archive, of granularity g
//! ```
//!
//! For series without two points of one time the contents do not depend on how points were cut into batches, nor on
//! the batches' order, as long as none comes after its window. The file is described in `docs/series-store.md`.

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
pub use ingest::{Ingested, LONGEST_NAME, StoreWriter};
pub use pending::Pending;
pub use policy::{Archive, MOST_AGGREGATES, MOST_ARCHIVES, Policy};
pub use read::{Archived, Query, SeriesFacts, StoreReader, Totals};

#[cfg(test)]
mod tests;
