//! Time-series aggregation: from series of points to aggregates of time buckets.
//!
//! A [`Batch`] contains several series, one after another. A [`Resample`] selects granularities and
//! aggregates. An [`Engine`] computes all of them at once; its [`Resampled`] has one column per
//! aggregate.
//!
//! ```text
//! bucket(t) = ⌊t/g⌋·g from the epoch; only buckets with points exist
//! ```

mod aggregate;
mod batch;
pub mod cpu;
pub mod cuda;
pub(crate) mod definition;
mod engine;
mod error;
mod granularity;
#[cfg_attr(
    not(feature = "parquet"),
    allow(dead_code, reason = "what only Arrow and Parquet files need")
)]
pub mod io;
pub mod ladder;
mod plan;
#[cfg(feature = "plots")]
pub mod report;
mod resampled;
mod science;
#[cfg(feature = "selftest")]
pub mod selftest;
#[cfg(feature = "store")]
pub mod store;
pub mod stream;
mod zone;

pub use aggregate::{Aggregate, Method};
pub use batch::Batch;
pub use engine::Engine;
pub use error::SeriesError;
pub use granularity::{Calendar, Granularity};
pub use plan::{Duplicates, NanPolicy, Resample};
pub use resampled::{Buckets, Column, Resampled};
pub use science::SCIENCE;
pub use zone::{AxisError, BucketAxis, Moments, Zone};
