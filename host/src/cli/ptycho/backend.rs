//! The engine of a reconstruction on the back end that was chosen.

use crate::cli::failure::Failure;
use crate::ptycho::cpu::CpuEngine;
use crate::ptycho::cuda::{on_cuda, on_emulator};
use crate::ptycho::{Engine, Precision, Problem, Recipe, UpdateVersion, memory_estimate};
use crate::run::{Backend, BackendKind, EngineChoice};
use crate::system::Memory;

/// What does not fit, for messages.
pub(super) const WHAT: &str = "the reconstruction";

/// Makes the engine; `host` was available before the scan was read.
pub(super) fn engine(
    backend: Backend,
    problem: &Problem,
    recipe: &Recipe,
    host: Memory,
) -> Result<EngineChoice<Box<dyn Engine>>, Failure> {
    let (shape, object_shape) = (problem.shape(), problem.positions.object_shape);
    let version = UpdateVersion::choose(recipe.gpu.updates, shape, object_shape);
    let estimate = memory_estimate(shape, object_shape, recipe);
    backend.engine(
        || Ok(estimate.check_cpu(WHAT, host)?),
        |kind| {
            Ok(match (kind, recipe.precision) {
                (BackendKind::Cpu, Precision::F32) => {
                    Box::new(CpuEngine::<f32>::new(problem)) as Box<dyn Engine>
                }
                (BackendKind::Cpu, Precision::F64) => Box::new(CpuEngine::<f64>::new(problem)),
                (BackendKind::Emulator(device), _) => on_emulator(device, problem, version)?,
                (BackendKind::Cuda(device), _) => on_cuda(*device, problem, version)?,
            })
        },
    )
}
