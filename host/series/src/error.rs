//! Why series cannot be aggregated.

use warpstride_cuda::gpu::GpuError;

/// The text, or two quotes for an empty one.
fn visible(text: &str) -> &str {
    if text.is_empty() { "''" } else { text }
}

/// Why series cannot be aggregated.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// An error of a device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// An invalid granularity.
    #[error(
        "granularity {}: expected a length such as 60s, 5m, 1h, 1d, 250ms (longer than zero, at most 106751d), or W, M, Q, H, Y",
        visible(.0)
    )]
    Granularity(String),
    /// An invalid aggregate.
    #[error(
        "aggregate {}: expected count, sum, mean, min, max, first, last, nunique, std, median, a percentile such as 95pct, or one of these with the prefix rate:",
        visible(.0)
    )]
    Aggregate(String),
    /// Arrays that do not form series.
    #[error("{0}")]
    Batch(String),
    /// A timestamp before 1970.
    #[error("point {point}: expected a timestamp from 1970 on, found {time} ns")]
    Negative {
        /// Index of the point in the batch, from 0.
        point: usize,
        /// Nanoseconds since 1970.
        time: i64,
    },
    /// Two points of a series have the same time, and the plan says that this is an error.
    #[error("series {series}: expected one point at each time, found several at {}", super::io::iso(*.time))]
    SameTime {
        /// Index of the series in the batch.
        series: usize,
        /// Nanoseconds since 1970.
        time: i64,
    },
    /// A contradiction in the plan.
    #[error("{0}")]
    Plan(String),
    /// Points that must be held together exceed the memory of the device.
    #[error("{0}")]
    DeviceMemory(String),
    /// Not enough memory on the host.
    #[error("out of host memory: {what} needs {needed} bytes; give fewer points at a time")]
    HostMemory {
        /// Purpose of the allocation.
        what: &'static str,
        /// Number of bytes requested.
        needed: usize,
    },
}
