//! The engine of a reconstruction on the back end that was chosen.

use crate::cli::args::PrecisionArg;
use crate::cli::failure::Failure;
use crate::mri::cpu::CpuEngine;
use crate::mri::cuda::{on_cuda, on_emulator};
use crate::mri::{Engine, MemorySizes, Problem, Recipe};
use crate::run::{Backend, BackendKind, EngineChoice};
use crate::system::Memory;

/// What does not fit, for messages.
pub(super) const WHAT: &str = "the reconstruction";

/// Bytes of a real number.
pub(super) fn bytes(precision: PrecisionArg) -> usize {
    match precision {
        PrecisionArg::F32 => 4,
        PrecisionArg::F64 => 8,
    }
}

/// Makes the engine; `host` was available before the samples were read.
pub(super) fn engine(
    backend: Backend,
    problem: &Problem,
    recipe: &Recipe,
    precision: PrecisionArg,
    host: Memory,
) -> Result<EngineChoice<Box<dyn Engine>>, Failure> {
    let (samples, coils) = (problem.trajectory().nrows(), problem.coils());
    let sizes = MemorySizes::new(problem.grid(), samples, coils, recipe.operator);
    let estimate = sizes.estimate(bytes(precision));
    backend.engine(
        || Ok(estimate.check_cpu(WHAT, host)?),
        |kind| {
            Ok(match (kind, precision) {
                (BackendKind::Cpu, PrecisionArg::F32) => {
                    Box::new(CpuEngine::<f32>::new(problem, recipe)?) as Box<dyn Engine>
                }
                (BackendKind::Cpu, PrecisionArg::F64) => {
                    Box::new(CpuEngine::<f64>::new(problem, recipe)?)
                }
                (BackendKind::Emulator(device), _) => on_emulator(device, problem, recipe)?,
                (BackendKind::Cuda(device), _) => on_cuda(*device, problem, recipe)?,
            })
        },
    )
}
