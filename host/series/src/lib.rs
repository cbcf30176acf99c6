//! Time-series aggregation: from series of points to aggregates of time buckets.
//!
//! A [`Batch`] contains several series, one after another. A [`Resample`] selects granularities and
//! aggregates. An [`Engine`] computes all of them at once; its [`Resampled`] has one column per
//! aggregate.
//!
//! ```text
//! bucket(t) = ⌊t/g⌋·g from the epoch; only buckets with points exist
//! ```
//!
//! # Example
//! ```
//! use warpstride_series::cpu::CpuEngine;
//! use warpstride_series::{Batch, Engine, NanPolicy, Resample};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! const SECOND: i64 = 1_000_000_000;
//! let times = vec![0, 30 * SECOND, 60 * SECOND, 90 * SECOND]; // nanoseconds since 1970
//! let batch = Batch::single(times, vec![1.0, 3.0, 5.0, 9.0])?;
//! let granularities = vec!["1m".parse()?];
//! let aggregates = vec!["mean".parse()?, "max".parse()?];
//! let plan = Resample::new(granularities, aggregates, NanPolicy::Keep)?;
//! let resampled = CpuEngine::new(plan).resample(&batch)?;
//! let minutes = &resampled.buckets[0]; // of the first granularity
//! assert_eq!(minutes.starts, [0, 60 * SECOND]);
//! assert_eq!(minutes.columns[0].values, [2.0, 7.0]); // the means
//! # Ok(())
//! # }
//! ```
//!
//! `series::stream` aggregates inputs larger than memory, and `series::store` keeps aggregates in a
//! file. `docs/series.md` and `docs/series-store.md` describe both.

#![cfg_attr(
    not(all(
        feature = "parquet",
        feature = "store",
        feature = "plots",
        feature = "selftest"
    )),
    allow(
        dead_code,
        unused_imports,
        reason = "a build without some features leaves out who uses these parts"
    )
)]

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
