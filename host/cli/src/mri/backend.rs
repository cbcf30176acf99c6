//! The engine of a reconstruction on the back end that was chosen.

use crate::args::PrecisionArg;
use crate::devices_request::DevicesBackend;
use crate::failure::Failure;
use warpstride::mri::cpu::on_cpu;
use warpstride::mri::cuda::{coil_parts, on_cuda_devices, on_emulated_devices};
use warpstride::mri::{Engine, MemorySizes, Plans, Problem, Recipe};
use warpstride::run::{BackendKind, EngineChoice};
use warpstride::system::Memory;
use warpstride::text::count;

/// Bytes of a real number.
fn bytes(precision: PrecisionArg) -> usize {
    match precision {
        PrecisionArg::F32 => 4,
        PrecisionArg::F64 => 8,
    }
}

/// The number of devices; 1 for the CPU.
fn device_count(backend: &DevicesBackend) -> usize {
    match backend.kind() {
        BackendKind::Cpu => 1,
        BackendKind::Emulator(devices) => devices.len(),
        BackendKind::Cuda(devices) => devices.len(),
    }
}

/// Checks that a run of these sizes fits, with coil maps or without; `host` was available before
/// the samples were read.
pub(super) fn fitting(
    backend: DevicesBackend,
    sizes: &MemorySizes,
    maps: bool,
    precision: PrecisionArg,
    host: Memory,
) -> Result<DevicesBackend, Failure> {
    backend.checked(|kind| Ok(sizes.check(kind, maps, bytes(precision), host)?))
}

/// Makes the engine with the `plans` of earlier images; `host` was available before the samples
/// were read.
pub(super) fn engine(
    backend: DevicesBackend,
    problem: &Problem,
    recipe: &Recipe,
    precision: PrecisionArg,
    host: Memory,
    plans: &mut Plans,
) -> Result<EngineChoice<Box<dyn Engine>>, Failure> {
    let (samples, coils) = (problem.trajectory().nrows(), problem.coils());
    let sizes = MemorySizes::new(problem.grid(), samples, coils, recipe.operator);
    backend.engine(
        || Ok(sizes.check(&BackendKind::Cpu, true, bytes(precision), host)?),
        |kind| {
            Ok(match kind {
                BackendKind::Cpu => {
                    let double = matches!(precision, PrecisionArg::F64);
                    on_cpu(problem, recipe, plans, double)?
                }
                BackendKind::Emulator(devices) => {
                    on_emulated_devices(devices, problem, recipe, plans)?
                }
                BackendKind::Cuda(devices) => on_cuda_devices(*devices, problem, recipe, plans)?,
            })
        },
    )
}

/// How the coils are divided among several devices, and what follows from it; nothing on one
/// device.
pub(super) fn division(backend: &DevicesBackend, problem: &Problem) -> Vec<String> {
    let devices = device_count(backend);
    if devices == 1 {
        return Vec::new();
    }
    let parts = coil_parts(problem, devices);
    let coils = count(problem.coils(), ["coil", "coils"]);
    let mut notes = Vec::new();
    if parts.len() < devices {
        let cause = if problem.maps().is_some() || problem.coils() == 1 {
            format!("the samples have {coils}")
        } else {
            "without coil maps one device computes the images of all coils".to_owned()
        };
        notes.push(format!(
            "{} of {devices} devices used: {cause}",
            parts.len()
        ));
    }
    if parts.len() > 1 {
        let each: Vec<_> = parts.iter().map(|part| part.len().to_string()).collect();
        notes.push(format!(
            "{coils} on {} devices ({}): sums over the coils are added in parts, so the image differs from that of one device by rounding in single precision",
            parts.len(),
            each.join(", ")
        ));
    }
    notes
}
