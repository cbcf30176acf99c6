//! The GPU back end: all wave vectors, directions, particles and parameter vectors of a call in one
//! launch, in double or single precision, on any [`Device`](crate::gpu::Device).
//!
//! A call passes through `plan.rs` of the parent module (what to compute for a vector),
//! `partition.rs` (how its sums are divided into tasks, from the vector alone), `members.rs` (the
//! layout that kernels read) and `engine.rs` (launches).

mod engine;
mod grid;
mod members;
mod mirrored_buffer;
mod partition;

pub use engine::{GpuEngine, kernels, uses_kernel};
pub use partition::Tuning;

use super::{Calculation, Engine, SasError};
use crate::gpu::{CudaDevice, EmulatedDevice};

/// A boxed [`GpuEngine`] on a CUDA device. Compiling it here avoids compiling it again in every
/// program that uses it.
///
/// # Errors
/// As for [`GpuEngine::new`].
pub fn on_cuda(device: CudaDevice, calculation: Calculation) -> Result<Box<dyn Engine>, SasError> {
    Ok(Box::new(GpuEngine::new(device, calculation)?))
}

/// A boxed [`GpuEngine`] on the emulator.
///
/// # Errors
/// As for [`GpuEngine::new`].
pub fn on_emulator(
    device: EmulatedDevice,
    calculation: Calculation,
) -> Result<Box<dyn Engine>, SasError> {
    Ok(Box::new(GpuEngine::new(device, calculation)?))
}
