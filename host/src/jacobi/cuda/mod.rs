//! The relaxation on a fleet of GPUs, or in the emulator. Mirrors cpu/: the same field, bit for bit.
//!
//! Every device has a block of rows with halos. A pass is some sweeps of all blocks; schemes differ
//! in how passes are queued and how halos go to the neighbours ([`Scheme`]). Passes are queued in
//! batches; norms come with the end of a batch.

mod batch;
mod block;
mod engine;
mod kernels;
mod memory;
mod plan;
mod scheme;
mod values;
mod ways;

pub use engine::FleetEngine;
pub(crate) use kernels::by_sweeps;
pub use kernels::{Geometry, GpuReal, Memory, Part, launches};
pub use plan::{Plan, PlanError, Scheme};
