//! The self-test: compares every kernel with its definition, and every engine with the CPU's, on
//! any device.
//!
//! A reference is the definition as a plain loop in double precision, on the same single-precision
//! data. Arrays that a kernel must write completely are first filled with a NaN pattern. Agreement
//! at sizes without common divisors, with gates open and shut, with masks, and with empty and
//! single frames shows that indices, extents, barriers and sums are right.

#[cfg(feature = "ptycho")]
pub use warpstride_ptycho::selftest::EngineCaseError;
pub use warpstride_selftest::bench::{CaseCallback, CaseResult, Size};
pub use warpstride_selftest::report;

use warpstride_selftest::bench::Bench;
use warpstride_selftest::{copies, fft, transform};

use crate::cuda::Kernels;
use crate::gpu::{CudaDevice, Device, EmulatedDevice, GpuError};
use crate::science::{self, registry};

/// The reason why a self-test could not complete. (A wrong result is a [`CaseResult`].)
#[derive(Debug, thiserror::Error)]
pub enum SelftestError {
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// A comparison of ptychography's engines could not complete.
    #[cfg(feature = "ptycho")]
    #[error(transparent)]
    Engines(#[from] EngineCaseError),
}

/// Runs [`kernel_cases`] and [`engines`] of the sciences named in `only`, or of all sciences if it
/// is empty; calls `on_case` with each case.
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
#[must_use]
pub fn includes(only: &[String], science: &str) -> bool {
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
    let transforms = warpstride_core::kernels::unpacked(warpstride_ptx::FFT);
    let sciences = science::all().into_iter();
    sciences.fold(transforms, |all, science| all.and(science.unpacked()))
}

/// Tests copies, transforms, and every kernel of the sciences named in `only`, or of all sciences
/// if it is empty; calls `on_case` with each case.
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
    #[cfg(feature = "jacobi")]
    if includes(only, "jacobi") {
        warpstride_jacobi::selftest::cases(&mut bench, size)?;
    }
    #[cfg(feature = "mri")]
    if includes(only, "mri") {
        warpstride_mri::selftest::cases(&mut bench, size)?;
    }
    #[cfg(feature = "sas")]
    if includes(only, "sas") {
        warpstride_sas::selftest::cases(&mut bench, size)?;
    }
    #[cfg(feature = "series")]
    if includes(only, "series") {
        warpstride_series::selftest::cases(&mut bench, size)?;
    }
    #[cfg(feature = "ptycho")]
    if includes(only, "ptycho") {
        warpstride_ptycho::selftest::cases(&mut bench, size)?;
    }
    Ok(bench.into_results())
}

/// Compares whole iterations of every engine on the device with the CPU's, of the sciences named in
/// `only`, or of all sciences if it is empty; calls `on_case` with each case. (The engines of the
/// other sciences are compared by the tests of the workspace.)
///
/// # Errors
/// As [`run`].
#[cfg_attr(
    not(feature = "ptycho"),
    expect(unused_variables, reason = "no science of this build has cases")
)]
pub fn engines<M: Device>(
    device: &M,
    size: Size,
    only: &[String],
    on_case: CaseCallback<'_>,
) -> Result<Vec<CaseResult>, SelftestError> {
    #[cfg(feature = "ptycho")]
    if includes(only, "ptycho") {
        return Ok(warpstride_ptycho::selftest::engine_cases(
            device, size, on_case,
        )?);
    }
    Ok(Vec::new())
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
