//! On a [`Machine`](crate::gpu::Machine): mirrors `cpu/`.

mod conjugate_gradients;
pub mod direct;
mod engine;
mod fista;
pub(crate) mod nufft;
#[cfg(test)]
mod plain_sums;
mod sense;
mod sums;
mod toeplitz;
mod total_variation;
mod wavelet;

pub use direct::Direct;
pub use engine::GpuEngine;
pub use nufft::{Nufft, NufftSizes};
pub use toeplitz::Toeplitz;

use super::{Engine, MriError, Problem, Recipe};
use crate::gpu::{CudaMachine, EmulatedMachine};

/// Bytes of scratch that images done together may take.
const TOGETHER_BYTES: usize = 1 << 30;

/// Images that are done together: as many as the scratch allows, in parts of one size.
fn images_together(max_batch: usize, bytes_per_image: usize) -> usize {
    let batch = max_batch.max(1);
    let most = (TOGETHER_BYTES / bytes_per_image.max(1)).clamp(1, batch);
    batch.div_ceil(batch.div_ceil(most))
}

/// [`GpuEngine::new`] on a CUDA device, as what every back end offers. Compiled here once, and not again by every
/// program that asks for it.
///
/// # Errors
/// As there.
pub fn on_cuda(
    machine: CudaMachine,
    problem: &Problem,
    recipe: &Recipe,
) -> Result<Box<dyn Engine>, MriError> {
    Ok(Box::new(GpuEngine::new(machine, problem, recipe)?))
}

/// The same on the emulator.
///
/// # Errors
/// As [`GpuEngine::new`].
pub fn on_emulator(
    machine: EmulatedMachine,
    problem: &Problem,
    recipe: &Recipe,
) -> Result<Box<dyn Engine>, MriError> {
    Ok(Box::new(GpuEngine::new(machine, problem, recipe)?))
}
