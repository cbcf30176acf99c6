//! Every kernel against its definition, and every engine against the CPU's, on any machine.
//!
//! A reference is the definition as a plain loop in double precision, on the same single-precision
//! data; what a kernel must write wholly is filled with a pattern beforehand that is no number.
//! Equal results at sizes that divide by nothing, with gates open and shut, masks, empty and
//! single frames mean that indices, extents, barriers and sums are right.

mod bench;
mod copies;
mod engines;
mod exit_waves;
mod fourier;
mod jacobi;
mod layers;
mod mri_direct;
mod mri_methods;
mod mri_nufft;
mod object_update;
mod probe;
mod probe_update;
mod report;
mod sas;
mod series;
mod shape;
mod transform;

pub use bench::CaseResult;
pub use report::report;

use crate::gpu::{CudaMachine, EmulatedMachine, GpuError, Machine};
use crate::ptycho::{EngineError, ProblemError, SimulateError};
use bench::Bench;
use warpstride_kernels::registry;

/// How much is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// What the emulator does in less than a minute.
    Small,
    /// Realistic sizes too, with times.
    Device,
}

/// Why a self-test came to no result. (A wrong result is a [`CaseResult`].)
#[derive(Debug, thiserror::Error)]
pub enum SelftestError {
    /// The machine.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// An engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The simulated scan.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// The simulated scan's start values.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

/// Is told every case when it is done.
pub type Seen<'a> = &'a mut dyn FnMut(&CaseResult);

/// Everything: [`kernels`], then [`engines`]; `seen` is told of each case.
///
/// # Errors
/// The machine's; nothing more can be learnt then.
pub fn run<M: Machine>(
    machine: &M,
    size: Size,
    seen: Seen<'_>,
) -> Result<Vec<CaseResult>, SelftestError> {
    let mut results = kernels(machine, size, seen)?;
    results.extend(engines(machine, size, seen)?);
    Ok(results)
}

/// [`run`] on a CUDA device, in full. Compiled here once, and not again by every program that asks for it.
///
/// # Errors
/// As [`run`].
pub fn on_cuda(machine: &CudaMachine, seen: Seen<'_>) -> Result<Vec<CaseResult>, SelftestError> {
    run(machine, Size::Device, seen)
}

/// [`run`] on the emulator, with small sizes.
///
/// # Errors
/// As [`run`].
pub fn on_emulator(
    machine: &EmulatedMachine,
    seen: Seen<'_>,
) -> Result<Vec<CaseResult>, SelftestError> {
    run(machine, Size::Small, seen)
}

/// Copies, transforms and every kernel; `seen` is told of each case.
///
/// # Errors
/// As [`run`].
pub fn kernels<M: Machine>(
    machine: &M,
    size: Size,
    seen: Seen<'_>,
) -> Result<Vec<CaseResult>, GpuError> {
    let mut bench = Bench::new(machine, seen);
    copies::cases(&mut bench, size)?;
    transform::cases(&mut bench, size)?;
    jacobi::cases(&mut bench, size)?;
    mri_direct::cases(&mut bench, size)?;
    mri_methods::cases(&mut bench, size)?;
    mri_nufft::cases(&mut bench, size)?;
    sas::cases(&mut bench, size)?;
    series::cases(&mut bench, size)?;
    for shape in shape::shapes(size) {
        layers::cases(&mut bench, shape)?;
        exit_waves::cases(&mut bench, shape)?;
        fourier::cases(&mut bench, shape)?;
        object_update::cases(&mut bench, shape)?;
        probe_update::cases(&mut bench, shape)?;
        probe::cases(&mut bench, shape)?;
    }
    Ok(bench.into_results())
}

/// Whole iterations of every engine, the machine's against the CPU's; `seen` is told of each case.
///
/// # Errors
/// As [`run`].
pub fn engines<M: Machine>(
    machine: &M,
    size: Size,
    seen: Seen<'_>,
) -> Result<Vec<CaseResult>, SelftestError> {
    engines::cases(machine, size, seen)
}

/// Kernels of the registry that none of the results is about.
#[must_use]
pub fn kernels_without_case(results: &[CaseResult]) -> Vec<&'static str> {
    registry()
        .iter()
        .map(|kernel| kernel.entry)
        .filter(|entry| !results.iter().any(|case| case.kernel == *entry))
        .collect()
}
