//! The GPU's half: all wave vectors, directions, particles and parameter vectors of a call in one launch, in double
//! or single precision, on any [`Machine`](crate::gpu::Machine).
//!
//! In the order in which a call meets them: `plan.rs` of the room (what a vector asks for), `cut.rs` (how its sums are
//! cut into tasks, from the vector alone), `members.rs` (that as kernels read it), `engine.rs` (launches).

mod cut;
mod engine;
mod grid;
mod members;
mod resident;

pub use cut::Tuning;
pub use engine::{GpuEngine, needs};

use super::{Calculation, Engine, SasError};
use crate::gpu::{CudaMachine, EmulatedMachine};

/// [`GpuEngine::new`] on a CUDA device, as what every back end offers. Compiled here once, and not again by every
/// program that asks for it.
///
/// # Errors
/// As there.
pub fn on_cuda(
    machine: CudaMachine,
    calculation: Calculation,
) -> Result<Box<dyn Engine>, SasError> {
    Ok(Box::new(GpuEngine::new(machine, calculation)?))
}

/// The same on the emulator.
///
/// # Errors
/// As [`GpuEngine::new`].
pub fn on_emulator(
    machine: EmulatedMachine,
    calculation: Calculation,
) -> Result<Box<dyn Engine>, SasError> {
    Ok(Box::new(GpuEngine::new(machine, calculation)?))
}
