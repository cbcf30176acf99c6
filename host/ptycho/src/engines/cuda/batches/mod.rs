//! Engines that update object and probe after each mini-batch.

pub(super) mod batch;
pub(super) mod batch_engine;
pub(super) mod batch_sums;
pub(super) mod fused_batches;
