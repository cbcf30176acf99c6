//! The engine of a reconstruction on the machine that was chosen.

use crate::cli::args::PrecisionWord;
use crate::cli::backend::{Kind, Machine, Needed, retreat};
use crate::cli::failure::Failure;
use warpstride::io::Memory;
use warpstride::mri::cpu::CpuEngine;
use warpstride::mri::cuda::{on_cuda, on_emulator};
use warpstride::mri::{Engine, MriError, Need, Problem, Recipe};

/// What `need` takes.
pub(super) fn needed(need: &Need, precision: PrecisionWord) -> Needed {
    Needed {
        cpu: need.cpu(match precision {
            PrecisionWord::F32 => 4,
            PrecisionWord::F64 => 8,
        }),
        gpu_host: need.gpu_host(),
        gpu_device: need.gpu_device(),
        advice: "take fewer acquisitions (--select) or a smaller matrix",
    }
}

/// Puts the problem there. Where `auto` took a GPU whose memory then does not suffice, the CPU
/// computes if `before` holds what it needs. Second, what `auto` took, and why.
pub(super) fn engine(
    machine: Machine,
    problem: &Problem,
    recipe: &Recipe,
    precision: PrecisionWord,
    before: Memory,
) -> Result<(Box<dyn Engine>, Option<String>), Failure> {
    let engine: Box<dyn Engine> = match (machine.kind, precision) {
        (Kind::Cpu, PrecisionWord::F32) => Box::new(CpuEngine::<f32>::new(problem, recipe)?),
        (Kind::Cpu, PrecisionWord::F64) => Box::new(CpuEngine::<f64>::new(problem, recipe)?),
        (Kind::Emulator(machine), _) => on_emulator(machine, problem, recipe)?,
        (Kind::Cuda(gpu), _) => match on_cuda(*gpu, problem, recipe) {
            Ok(engine) => engine,
            Err(why) => {
                let cause = match &why {
                    MriError::Gpu(cause) => Some(cause),
                    _ => None,
                };
                let note = retreat(&why, cause, machine.optional)?;
                let (samples, coils) = (problem.trajectory().nrows(), problem.coils());
                let need = Need::new(problem.grid(), samples, coils, recipe.operator);
                needed(&need, precision).fits_cpu(before)?;
                return Ok((
                    Box::new(CpuEngine::<f32>::new(problem, recipe)?),
                    Some(note),
                ));
            }
        },
    };
    Ok((engine, machine.note))
}
