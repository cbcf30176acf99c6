//! The engine of a reconstruction on the machine that was chosen.

use crate::cli::args::PrecisionWord;
use crate::cli::backend::{Kind, Machine, Needed};
use crate::cli::failure::Failure;
use warpstride::mri::cpu::CpuEngine;
use warpstride::mri::{Engine, Need, Problem, Recipe};

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

/// Puts the problem there. Second, what `auto` took, and why.
pub(super) fn engine(
    machine: Machine,
    problem: &Problem,
    recipe: &Recipe,
    precision: PrecisionWord,
) -> Result<(Box<dyn Engine>, Option<String>), Failure> {
    let note = match &machine.kind {
        Kind::Cpu => machine.note,
        Kind::Cuda(_) if machine.optional => {
            Some("the CPU computes: the GPU's engine is not in this build".to_owned())
        }
        Kind::Cuda(_) | Kind::Emulator(_) => {
            return Err(Failure::failed("the GPU's engine is not in this build"));
        }
    };
    let engine: Box<dyn Engine> = match precision {
        PrecisionWord::F32 => Box::new(CpuEngine::<f32>::new(problem, recipe)?),
        PrecisionWord::F64 => Box::new(CpuEngine::<f64>::new(problem, recipe)?),
    };
    Ok((engine, note))
}
