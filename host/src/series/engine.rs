//! What every back end of the aggregation offers.

use super::{Batch, Resample, Resampled};
use crate::gpu::GpuError;
use serde::Serialize;

/// Where an engine computes, for summaries.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Setup {
    /// `cpu`, `cuda` or `emulator`.
    pub backend: &'static str,
    /// The device's name; of a CPU its threads.
    pub device: String,
}

/// Why series cannot be aggregated.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// A device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// What was typed is no length of buckets.
    #[error(
        "granularity '{0}': expected a length such as 60s, 5m, 1h, 1d, 250ms (longer than nothing, at most 106751d), or W, M, Q, H, Y"
    )]
    Granularity(String),
    /// What was typed is no aggregate.
    #[error(
        "aggregate '{0}': expected count, sum, mean, min, max, first, last, nunique, std, median, a percentile such as 95pct, or one of these with rate: before it"
    )]
    Aggregate(String),
    /// Points that are not series.
    #[error("{0}")]
    Batch(String),
    /// A timestamp before 1970.
    #[error(
        "point {point}: timestamp {time} ns lies before 1970; such points cannot be aggregated"
    )]
    Negative {
        /// Its number in the batch, from 0.
        point: usize,
        /// Nanoseconds since 1970.
        time: i64,
    },
    /// What is wanted contradicts itself.
    #[error("{0}")]
    Plan(String),
    /// Points that must be held at a time, and a device whose memory has no room for them.
    #[error("{0}")]
    DeviceMemory(String),
    /// Not enough memory on the host.
    #[error("out of host memory: {what} needs {needed} bytes; give fewer points at a time")]
    HostMemory {
        /// What it was for.
        what: &'static str,
        /// Bytes asked for.
        needed: usize,
    },
}

/// A plan on a back end. The same batch gives the same bits whatever else was computed before, and on every back
/// end.
pub trait Engine {
    /// Where it computes.
    fn setup(&self) -> &Setup;

    /// The plan.
    fn plan(&self) -> &Resample;

    /// All aggregates of all series.
    ///
    /// # Errors
    /// No memory, or the device's.
    fn resample(&mut self, batch: &Batch) -> Result<Resampled, SeriesError>;
}
