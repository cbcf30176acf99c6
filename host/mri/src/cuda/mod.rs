//! The back end on a [`Device`](warpstride_cuda::gpu::Device): mirrors `cpu/`.

mod coil_parts;
mod conjugate_gradients;
mod device_arrays;
pub mod direct;
mod engine;
mod fista;
mod images_at_once;
pub(crate) mod nufft;
mod part;
#[cfg(test)]
mod plain_sums;
mod sense;
mod sum_over_devices;
mod sums;
mod toeplitz;
mod total_variation;
mod wavelet;

pub use coil_parts::coil_parts;
pub use device_arrays::DeviceArrays;
pub use direct::Direct;
pub use engine::GpuEngine;
pub use nufft::{Nufft, NufftSizes};
pub use toeplitz::Toeplitz;

use super::{Engine, MriError, Plans, Problem, Recipe};
use warpstride_cuda::gpu::{CudaDevice, EmulatedDevice};

/// [`GpuEngine::with_plans`] on CUDA devices, as a trait object. It is compiled here once, rather
/// than in every program that calls it.
///
/// # Errors
/// Like [`GpuEngine::with_plans`].
pub fn on_cuda_devices(
    devices: Vec<CudaDevice>,
    problem: &Problem,
    recipe: &Recipe,
    plans: &mut Plans,
) -> Result<Box<dyn Engine>, MriError> {
    let devices = devices.into_iter().map(|d| (d.info().ordinal, d)).collect();
    let engine = GpuEngine::with_plans(devices, problem, recipe, plans)?;
    Ok(Box::new(engine))
}

/// [`GpuEngine::with_plans`] on emulated devices, as a trait object.
///
/// # Errors
/// Like [`GpuEngine::with_plans`].
pub fn on_emulated_devices(
    devices: Vec<EmulatedDevice>,
    problem: &Problem,
    recipe: &Recipe,
    plans: &mut Plans,
) -> Result<Box<dyn Engine>, MriError> {
    let devices = devices.into_iter().enumerate().collect();
    let engine = GpuEngine::with_plans(devices, problem, recipe, plans)?;
    Ok(Box::new(engine))
}

/// [`GpuEngine::new`] on a CUDA device, as a trait object.
///
/// # Errors
/// Like [`GpuEngine::new`].
pub fn on_cuda(
    device: CudaDevice,
    problem: &Problem,
    recipe: &Recipe,
) -> Result<Box<dyn Engine>, MriError> {
    on_cuda_devices(vec![device], problem, recipe, &mut Plans::default())
}

/// [`GpuEngine::new`] on the emulator, as a trait object.
///
/// # Errors
/// Like [`GpuEngine::new`].
pub fn on_emulator(
    device: EmulatedDevice,
    problem: &Problem,
    recipe: &Recipe,
) -> Result<Box<dyn Engine>, MriError> {
    on_emulated_devices(vec![device], problem, recipe, &mut Plans::default())
}

/// The kernels that the MRI engines launch, for
/// [`CudaDevice::new`](warpstride_cuda::gpu::CudaDevice::new).
#[must_use]
pub fn kernels() -> warpstride_cuda::cuda::Kernels {
    warpstride_core::kernels::unpacked(warpstride_ptx::MRI)
}
