//! Metrics that are being copied to the host.

use warpstride_cuda::gpu::{Device, ReadBack};

/// Metrics of one iteration that are being copied to the host.
pub(super) struct Pending<M: Device> {
    /// The last read-back of the iteration.
    pub(super) errors: M::ReadBack<f32>,
    pub(super) moved: Option<M::ReadBack<f32>>,
    pub(super) model: Option<PendingModel<M>>,
    /// Threads that saw a share beyond the range of the object's sums; only of the fused step.
    pub(super) exceeding: Option<M::ReadBack<u32>>,
    /// Number of the iteration in the run.
    pub(super) iteration: usize,
}

/// Errors of the model from which an iteration started.
pub(super) struct PendingModel<M: Device> {
    pub(super) photon: M::ReadBack<f32>,
    pub(super) residual: M::ReadBack<f32>,
    /// None without free pixels.
    pub(super) free: Option<M::ReadBack<f32>>,
}

impl<M: Device> Pending<M> {
    /// Whether waiting for them would return immediately: read-backs finish in order.
    pub(super) fn ready(&self) -> bool {
        self.errors.ready()
    }
}
