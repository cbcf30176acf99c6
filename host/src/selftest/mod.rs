//! The self-test: compares every kernel with its definition, and every engine with the CPU's, on
//! any device.
//!
//! A reference is the definition as a plain loop in double precision, on the same single-precision
//! data. Arrays that a kernel must write completely are first filled with a NaN pattern. Agreement
//! at sizes without common divisors, with gates open and shut, with masks, and with empty and
//! single frames shows that indices, extents, barriers and sums are right.

#[cfg(feature = "ptycho")]
mod batch_exchange;
#[cfg(feature = "ptycho")]
mod batch_steps;
#[cfg(feature = "ptycho")]
mod batch_sums;
#[cfg(feature = "ptycho")]
mod batch_waves;
pub(crate) mod bench;
mod copies;
#[cfg(feature = "ptycho")]
mod detector;
#[cfg(feature = "ptycho")]
pub(crate) mod engines;
#[cfg(feature = "ptycho")]
mod exit_waves;
mod fft;
#[cfg(feature = "ptycho")]
mod fourier;
#[cfg(feature = "ptycho")]
mod frame_blocks;
#[cfg(feature = "ptycho")]
mod fused_batches;
#[cfg(feature = "ptycho")]
mod fused_step;
#[cfg(feature = "jacobi")]
pub(crate) mod jacobi;
#[cfg(feature = "ptycho")]
mod layered;
#[cfg(feature = "ptycho")]
mod layers;
#[cfg(feature = "ptycho")]
mod likelihood;
#[cfg(feature = "mri")]
pub(crate) mod mri_direct;
#[cfg(feature = "mri")]
pub(crate) mod mri_methods;
#[cfg(feature = "mri")]
pub(crate) mod mri_nufft;
#[cfg(feature = "ptycho")]
mod normalisation;
#[cfg(feature = "ptycho")]
mod object_sums;
#[cfg(feature = "ptycho")]
mod object_update;
#[cfg(feature = "ptycho")]
mod passes;
#[cfg(feature = "ptycho")]
mod probe;
#[cfg(feature = "ptycho")]
mod probe_update;
#[cfg(feature = "ptycho")]
pub(crate) mod ptycho;
pub(crate) mod random_data;
#[cfg(feature = "ptycho")]
mod region_merge;
mod report;
#[cfg(feature = "sas")]
pub(crate) mod sas;
#[cfg(feature = "series")]
pub(crate) mod series;
#[cfg(feature = "ptycho")]
mod shape;
mod transform;
#[cfg(feature = "ptycho")]
mod trials;
#[cfg(feature = "ptycho")]
mod variations;
#[cfg(feature = "ptycho")]
mod waves;

pub(crate) use bench::Bench;
pub use bench::CaseResult;
pub use report::report;

use crate::cuda::Kernels;
use crate::gpu::{CudaDevice, Device, EmulatedDevice, GpuError};
#[cfg(feature = "ptycho")]
use crate::ptycho::{EngineError, ProblemError, SimulateError};
use crate::science::{Science, for_each_science, registry};

/// The sizes of the cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Small sizes, which the emulator computes in less than a minute.
    Small,
    /// Small sizes, and realistic ones with times.
    Device,
}

/// The reason why a self-test could not complete. (A wrong result is a [`CaseResult`].)
#[derive(Debug, thiserror::Error)]
pub enum SelftestError {
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// An engine failed.
    #[cfg(feature = "ptycho")]
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The scan could not be simulated.
    #[cfg(feature = "ptycho")]
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// The simulated scan could not be prepared for reconstruction.
    #[cfg(feature = "ptycho")]
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

/// A function that is called with each completed case.
pub type CaseCallback<'a> = &'a mut dyn FnMut(&CaseResult);

/// Runs [`kernel_cases`] and [`engines`] of the sciences named in `only`, or of all sciences if it is empty; calls `on_case` with
/// each case.
///
/// # Errors
/// An error of the device, which ends the self-test.
pub fn run<M: Device>(
    device: &M,
    size: Size,
    only: &[String],
    on_case: CaseCallback<'_>,
) -> Result<Vec<CaseResult>, SelftestError> {
    let mut results = kernel_cases(device, size, only, on_case)?;
    results.extend(engines(device, size, only, on_case)?);
    Ok(results)
}

/// Whether `only` names `science`, or is empty.
pub(crate) fn includes(only: &[String], science: &str) -> bool {
    only.is_empty() || only.iter().any(|name| name == science)
}

/// [`run`] on a CUDA device with all sizes. It is instantiated here once, rather than again in
/// every program that calls it.
///
/// # Errors
/// As [`run`].
pub fn on_cuda(
    device: &CudaDevice,
    only: &[String],
    on_case: CaseCallback<'_>,
) -> Result<Vec<CaseResult>, SelftestError> {
    run(device, Size::Device, only, on_case)
}

/// [`run`] in the emulator with small sizes.
///
/// # Errors
/// As [`run`].
pub fn on_emulator(
    device: &EmulatedDevice,
    only: &[String],
    on_case: CaseCallback<'_>,
) -> Result<Vec<CaseResult>, SelftestError> {
    run(device, Size::Small, only, on_case)
}

/// All kernels of the crate, for [`CudaDevice::new`].
#[must_use]
pub fn kernels() -> Kernels {
    let mut all = crate::kernels::unpacked(warpstride_ptx::FFT);
    for_each_science!(|S| all = all.and(S::kernels()));
    all
}

/// Tests copies, transforms, and every kernel of the sciences named in `only`, or of all sciences if it is empty; calls `on_case`
/// with each case.
///
/// # Errors
/// As [`run`].
pub fn kernel_cases<M: Device>(
    device: &M,
    size: Size,
    only: &[String],
    on_case: CaseCallback<'_>,
) -> Result<Vec<CaseResult>, GpuError> {
    let mut bench = Bench::new(device, on_case);
    copies::cases(&mut bench, size)?;
    transform::cases(&mut bench, size)?;
    fft::cases(&mut bench, size)?;
    for_each_science!(|S| if includes(only, S::NAME) {
        S::kernel_cases(&mut bench, size)?;
    });
    Ok(bench.into_results())
}

/// Compares whole iterations of every engine on the device with the CPU's, of the sciences named in `only`, or of all sciences if it is
/// empty; calls `on_case` with each case.
///
/// # Errors
/// As [`run`].
pub fn engines<M: Device>(
    device: &M,
    size: Size,
    only: &[String],
    on_case: CaseCallback<'_>,
) -> Result<Vec<CaseResult>, SelftestError> {
    let mut results = Vec::new();
    for_each_science!(|S| if includes(only, S::NAME) {
        results.extend(S::engine_cases(device, size, on_case)?);
    });
    Ok(results)
}

/// Registered kernels that have no case in `results`.
#[must_use]
pub fn kernels_without_case(results: &[CaseResult]) -> Vec<&'static str> {
    registry()
        .chain(warpstride_kernels::fft::registry())
        .map(|kernel| kernel.entry)
        .filter(|entry| !results.iter().any(|case| case.kernel == *entry))
        .collect()
}
