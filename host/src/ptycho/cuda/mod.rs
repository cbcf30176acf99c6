//! GPU back end; each file mirrors the file of the same name in [`super::cpu`]. It is written
//! against [`Device`](crate::gpu::Device), so that the same launches run on a GPU and in the
//! emulator.

mod annealing;
mod batch_engine;
mod batch_sums;
mod buffers;
mod centring;
mod constraints;
mod engine;
mod exact_positions;
mod fourier_projection;
mod frames;
mod fused;
mod fused_batches;
mod likelihood;
mod metrics;
mod normalisation;
mod object_update;
mod packed_waves;
mod passes;
mod probe_update;
mod refinement;
mod tile_windows;

pub use engine::GpuEngine;

use crate::gpu::{CudaDevice, EmulatedDevice};
use crate::ptycho::{Engine, EngineError, GpuWaves, Problem, UpdateVersion};

/// [`GpuEngine::new`] on a CUDA device, as a boxed [`Engine`]. It is compiled once, in this crate,
/// and not again in every program that uses it.
///
/// # Errors
/// The same as those of [`GpuEngine::new`].
pub fn on_cuda(
    device: CudaDevice,
    problem: &Problem,
    version: UpdateVersion,
) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(GpuEngine::new(device, problem, version)?))
}

/// Like [`on_cuda`], but on the emulator.
///
/// # Errors
/// The same as those of [`GpuEngine::new`].
pub fn on_emulator(
    device: EmulatedDevice,
    problem: &Problem,
    version: UpdateVersion,
) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(GpuEngine::new(device, problem, version)?))
}

/// Kernels launched by the engines, for [`CudaDevice::new`](crate::gpu::CudaDevice::new).
#[must_use]
pub fn kernels() -> crate::cuda::Kernels {
    crate::kernels::unpacked(warpstride_ptx::PTYCHO)
}

/// Those of [`kernels`] that the engines launch if exit waves are stored as `waves`.
#[must_use]
pub fn kernels_for(waves: GpuWaves) -> crate::cuda::Kernels {
    kernels().only(|kernel| waves == GpuWaves::Bf16 || !kernel.ends_with("_bf16"))
}
