//! The relaxation on a group of GPUs or in the emulator. Mirrors cpu/: the same field, bit for bit.
//!
//! Each device has a block of rows with halos. A pass is one or several sweeps of all blocks.
//! Schemes differ in how passes are queued and how halos are sent to the neighbours ([`Scheme`]).
//! Passes are queued in batches, and norms are read at the end of a batch.

mod arrays;
mod batch;
mod block;
mod engine;
mod halo_links;
mod kernels;
mod memory;
mod plan;
mod scheme;
mod values;

pub use engine::GroupEngine;
pub(crate) use kernels::by_sweeps;
pub use kernels::{Geometry, GpuReal, Memory, Part, kernels, uses_kernel};
pub use plan::{Plan, PlanError, Scheme};
