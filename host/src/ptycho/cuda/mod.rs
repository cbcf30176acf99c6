//! The GPU half, file by file the mirror of [`super::cpu`]. Written against
//! [`Machine`](crate::gpu::Machine), so that the same launches run on a card and in the emulator.

mod buffers;
mod centring;
mod constraints;
mod engine;
mod fourier_projection;
mod metrics;
mod object_update;
mod probe_update;

pub use engine::GpuEngine;
