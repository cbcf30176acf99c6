//! What the program knows of time series.

use warpstride_core::kernels::Science;

/// The science of [`crate`].
pub static SCIENCE: Science = Science {
    name: "series",
    description: "Time series: aggregate many series over time buckets, at several granularities at once",
    kernel_prefix: "series_",
    kernels: warpstride_kernels::series::registry,
    ptx: warpstride_ptx::SERIES,
};
