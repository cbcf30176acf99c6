//! The GPU back end: all wave vectors, directions, particles and parameter vectors of a call in one
//! launch, in double or single precision, on any [`Device`].
//!
//! A call passes through `plan.rs` of the parent module (what to compute for a vector),
//! `partition.rs` (how its sums are divided into tasks, from the vector alone), `members.rs` (the
//! layout that kernels read) and `engine.rs` (launches). Several devices share the vectors of a
//! call ([`EngineGroup`]).

mod engine;
mod grid;
mod members;
mod mirrored_buffer;
mod partition;
mod smearing_matrix;

pub use engine::{GpuEngine, kernels, uses_kernel};
pub use partition::Tuning;

use super::{Calculation, Engine, EngineGroup, SasError};
use warpstride_cuda::gpu::{CudaDevice, Device, EmulatedDevice};

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

/// A boxed [`GpuEngine`] on one CUDA device, or an [`EngineGroup`] of them on several.
///
/// # Errors
/// As for [`GpuEngine::new`], with the number of the device if there are several; or there is no
/// device.
pub fn on_cuda_devices(
    devices: Vec<CudaDevice>,
    calculation: &Calculation,
) -> Result<Box<dyn Engine>, SasError> {
    let numbered = devices.into_iter().map(|d| (d.info().ordinal, d));
    on_devices(numbered.collect(), calculation, None)
}

/// A boxed [`GpuEngine`] on one emulated device, or an [`EngineGroup`] of them on several, which
/// divides every call among them.
///
/// # Errors
/// As for [`GpuEngine::new`], with the number of the device if there are several; or there is no
/// device.
pub fn on_emulated_devices(
    devices: Vec<EmulatedDevice>,
    calculation: &Calculation,
) -> Result<Box<dyn Engine>, SasError> {
    on_devices(
        devices.into_iter().enumerate().collect(),
        calculation,
        Some(1),
    )
}

fn on_devices<M: Device>(
    devices: Vec<(usize, M)>,
    calculation: &Calculation,
    least: Option<usize>,
) -> Result<Box<dyn Engine>, SasError>
where
    GpuEngine<M>: Send + 'static,
{
    let several = devices.len() > 1;
    let mut engines = Vec::with_capacity(devices.len());
    for (number, device) in devices {
        let engine = GpuEngine::new(device, calculation.clone()).map_err(|why| match why {
            SasError::Gpu(why) if several => SasError::Gpu(why.on(number)),
            why => why,
        })?;
        if !several {
            return Ok(Box::new(engine));
        }
        engines.push((number, Box::new(engine) as Box<dyn Engine + Send>));
    }
    Ok(Box::new(EngineGroup::new(engines, least)?))
}
