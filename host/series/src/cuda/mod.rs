//! Aggregation on any [`Device`](warpstride_cuda::gpu::Device): series to buckets and their
//! aggregates.
//!
//! The files in the order of processing: `prepare.rs` (the host examines the batch), `chunks.rs`
//! (splits it), `packed.rs` and `coded.rs` (transfer of a chunk), `stream_queue.rs` (a chunk on one
//! stream; `stream_queue/read_back.rs` returns its results), `sort.rs` and `duplicates.rs` (points
//! in time order), `rates.rs` (differences), `buckets.rs` (finding buckets, one-pass methods),
//! `order.rs` (order statistics), `results.rs` (results on the host), `engine.rs` (all chunks on
//! all streams).
//!
//! No stage waits for the host until the buckets are found: buffers have capacity for the largest
//! possible number of buckets, and the device reads the actual number. That number is then read
//! back together with a bound on the length of the longest bucket. It determines whether long
//! buckets need more work, which kernels compute the order statistics, and how much of the results
//! is transferred.

mod buckets;
mod chunks;
mod coded;
mod compact;
mod duplicates;
mod engine;
mod order;
mod output_columns;
mod packed;
mod prepare;
mod rates;
mod resident;
mod results;
mod sort;
mod stages;
mod stream_queue;
mod times;

pub use engine::{GpuEngine, PinnedResults, Staged, kernels};
pub use resident::{Columns, Heads, Points};
pub use results::TableResult;
pub use times::StageTime;
pub(crate) use times::median;

use super::{Engine, Resample, SeriesError};
use warpstride_cuda::gpu::{CudaDevice, EmulatedDevice};

/// [`GpuEngine::new`] on a CUDA device, as a trait object. It is compiled once, in this crate, and
/// not again in every program that uses it.
///
/// # Errors
/// Like [`GpuEngine::new`].
pub fn on_cuda(device: CudaDevice, plan: Resample) -> Result<Box<dyn Engine>, SeriesError> {
    Ok(Box::new(GpuEngine::new(device, plan)?))
}

/// Like [`on_cuda`], but on the emulator.
///
/// # Errors
/// Like [`GpuEngine::new`].
pub fn on_emulator(device: EmulatedDevice, plan: Resample) -> Result<Box<dyn Engine>, SeriesError> {
    Ok(Box::new(GpuEngine::new(device, plan)?))
}
