//! Engines that update object and probe after each mini-batch.

pub(super) mod batch_engine;
pub(super) mod regions;
