//! Time-series aggregation: series of points to aggregates of time buckets.
//!
//! A [`Batch`] is many series, one after the other. A [`Resample`] says which granularities and which aggregates
//! of them are wanted. An [`Engine`] does all of it at once, and its [`Resampled`] has a column for each aggregate.
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
mod granularity;
pub mod ladder;
mod plan;
mod resampled;
pub mod store;
pub mod stream;

pub use aggregate::{Aggregate, Method};
pub use batch::Batch;
pub use engine::{Engine, SeriesError, Setup};
pub use granularity::{Calendar, Granularity};
pub use plan::{NanPolicy, Resample};
pub use resampled::{Buckets, Column, Resampled};
