//! The device memory that the launches of an iteration share.

use super::BatchBuffers;
use crate::engines::cuda::devices::exchange::Exchange;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::model::multislice::DistanceSums;
use warpstride_cuda::gpu::Device;

/// The batches of an iteration that are queued together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engines::cuda) enum Part {
    /// All of them.
    All,
    /// The first block's.
    First,
    /// Those of a later block.
    Later,
}

/// A run's device memory, for one iteration.
pub(in crate::engines::cuda) struct Run<'a, M: Device> {
    pub(in crate::engines::cuda) device: &'a M,
    pub(in crate::engines::cuda) layout: &'a Layout,
    pub(in crate::engines::cuda) buffers: &'a mut Buffers<M>,
    pub(in crate::engines::cuda) frames: &'a mut FrameBuffers<M>,
    pub(in crate::engines::cuda) batches: &'a mut BatchBuffers<M>,
    pub(in crate::engines::cuda) probe_fft: &'a M::Fft,
    /// Other devices that have other frames of the batches; none if there are none.
    pub(in crate::engines::cuda) exchange: Option<&'a mut Exchange<M>>,
    /// Whether the momentum beyond a batch's windows is deferred, for some of the batches.
    pub(in crate::engines::cuda) deferred: Option<Deferred>,
    /// What the sums of the distances between slices go to; `None` for a thin specimen.
    pub(in crate::engines::cuda) distances: Option<DistanceSums<M>>,
    /// Number of the part of an iteration that may be captured by itself.
    pub(in crate::engines::cuda) group: usize,
}

/// Batches of an iteration whose momentum is deferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engines::cuda) struct Deferred {
    /// Batches of the iteration before these.
    pub(super) before: u32,
}

impl Deferred {
    /// After so many more batches.
    pub(super) fn and(self, batches: usize) -> Self {
        Self {
            before: self.before.wrapping_add(batches as u32),
        }
    }

    /// When so many batches are `done`, and the next one has the number `next`, which is added to
    /// those before.
    pub(super) fn at(self, done: u32, next: u32) -> Self {
        Self {
            before: done.wrapping_sub(next),
        }
    }
}
