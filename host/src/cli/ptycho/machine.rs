//! The engine of a ptychographic run on the machine that was chosen.

use crate::cli::args::PrecisionWord;
use crate::cli::backend::{Kind, Machine, Needed, retreat};
use crate::cli::failure::Failure;
use warpstride::io::Memory;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::cuda::{on_cuda, on_emulator};
use warpstride::ptycho::{Engine, EngineError, Plan, Precision, Problem, Recipe};

/// As `--precision` has it.
pub(super) fn word(precision: Precision) -> PrecisionWord {
    match precision {
        Precision::F32 => PrecisionWord::F32,
        Precision::F64 => PrecisionWord::F64,
    }
}

/// What `plan` takes.
pub(super) fn needed(plan: &Plan) -> Needed {
    Needed {
        cpu: plan.cpu_bytes,
        gpu_host: plan.gpu_host_bytes,
        gpu_device: plan.gpu_device_bytes,
        advice: "take fewer probe modes (--probe-modes), fewer frames (--set data.frames=[0,100]) or a smaller part of each (--set data.crop=[64,64])",
    }
}

/// Puts the start values there. Where `auto` took a GPU whose memory then does not suffice, the CPU
/// computes if `before` holds its plan. Second, what `auto` took, and why.
pub(super) fn engine(
    machine: Machine,
    problem: &Problem,
    recipe: &Recipe,
    before: Memory,
) -> Result<(Box<dyn Engine>, Option<String>), Failure> {
    let plan = Plan::new(
        problem.shape(),
        problem.positions.object_shape,
        recipe.precision,
    );
    let version = plan.update_version(recipe.gpu.updates);
    let engine: Box<dyn Engine> = match (machine.kind, recipe.precision) {
        (Kind::Cpu, Precision::F32) => Box::new(CpuEngine::<f32>::new(problem)),
        (Kind::Cpu, Precision::F64) => Box::new(CpuEngine::<f64>::new(problem)),
        (Kind::Emulator(machine), _) => on_emulator(machine, problem, version)?,
        (Kind::Cuda(gpu), _) => match on_cuda(*gpu, problem, version) {
            Ok(engine) => engine,
            Err(why) => {
                let cause = match &why {
                    EngineError::Gpu(cause) => Some(cause),
                    _ => None,
                };
                let note = retreat(&why, cause, machine.optional)?;
                needed(&plan).fits_cpu(before)?;
                return Ok((Box::new(CpuEngine::<f32>::new(problem)), Some(note)));
            }
        },
    };
    Ok((engine, machine.note))
}
