//! The state of a stream.

use crate::cuda::results::PendingTable;
use warpstride_cuda::gpu::Device;

/// The state of a stream.
pub(super) enum State<M: Device> {
    Idle,
    /// The facts about the buckets are being read back.
    Counting {
        job: usize,
        sent: Vec<M::Sent>,
        facts: Vec<M::ReadBack<u32>>,
        requests: Vec<TableRequest>,
        /// Whether long buckets are done, so that the facts contain the exact greatest length.
        exact: bool,
        duplicates: usize,
    },
    /// The buckets are being read back.
    Receiving {
        job: usize,
        sent: Vec<M::Sent>,
        pending: Vec<PendingTable<M>>,
        duplicates: usize,
    },
}

/// A requested table, and the part of it to read.
pub(super) struct TableRequest {
    /// Index of the tables: values or rates.
    pub(super) kind: usize,
    pub(super) granularity: usize,
    pub(super) rate: bool,
    /// Number of series and buckets to skip in front: those of a lead.
    pub(super) lead: usize,
    pub(super) series: usize,
}
