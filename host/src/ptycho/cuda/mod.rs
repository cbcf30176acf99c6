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

use crate::gpu::{CudaMachine, EmulatedMachine};
use crate::ptycho::{Engine, EngineError, Problem, UpdateVersion};

/// [`GpuEngine::new`] on a CUDA device, as what every back end offers. Compiled here once, and not again by every
/// program that asks for it.
///
/// # Errors
/// As there.
pub fn on_cuda(
    machine: CudaMachine,
    problem: &Problem,
    version: UpdateVersion,
) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(GpuEngine::new(machine, problem, version)?))
}

/// The same on the emulator.
///
/// # Errors
/// As [`GpuEngine::new`].
pub fn on_emulator(
    machine: EmulatedMachine,
    problem: &Problem,
    version: UpdateVersion,
) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(GpuEngine::new(machine, problem, version)?))
}
