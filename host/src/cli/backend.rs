//! Which machine computes: chosen once, by trying.

use super::args::BackendWord;
use super::failure::Failure;
use warpstride::cuda::CudaError;
use warpstride::gpu::{CudaMachine, EmulatedMachine, GpuError};
use warpstride::io::{Bytes, Memory};
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{Engine, EngineError, Plan, Precision, Problem, Recipe};

/// Where a run shall be computed, as far as that is known before any work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish {
    backend: BackendWord,
    /// Number of the GPU, where one was typed.
    device: Option<usize>,
}

impl Wish {
    /// Who names a GPU wants it: `auto` is `cuda` then.
    pub(crate) fn new(backend: BackendWord, device: Option<usize>) -> Self {
        let backend = match (backend, device) {
            (BackendWord::Auto, Some(_)) => BackendWord::Cuda,
            (word, _) => word,
        };
        Self { backend, device }
    }

    /// Refuses what can never be.
    pub(crate) fn check(self, precision: Precision) -> Result<(), Failure> {
        let word = match self.backend {
            BackendWord::Auto => return Ok(()),
            BackendWord::Cpu => "cpu",
            BackendWord::Cuda => "cuda",
            BackendWord::Emulator => "emulator",
        };
        if precision == Precision::F64 && self.backend != BackendWord::Cpu {
            return Err(Failure::usage(format!(
                "--backend {word} computes in f32 only: precision f64 needs --backend cpu"
            )));
        }
        if let Some(device) = self.device
            && self.backend != BackendWord::Cuda
        {
            return Err(Failure::usage(format!(
                "--device {device} is a GPU: it is not used by --backend {word}"
            )));
        }
        Ok(())
    }

    /// Opens the machine.
    pub(crate) fn open(self, precision: Precision) -> Result<Machine, Failure> {
        let cpu = Kind::Cpu(precision);
        let (kind, note) = match self.backend {
            BackendWord::Cpu => (cpu, None),
            BackendWord::Emulator => (Kind::Emulator(EmulatedMachine::new()), None),
            BackendWord::Cuda => {
                let machine = self.cuda().map_err(|why| {
                    Failure::failed(match self.device {
                        Some(device) => format!("--device {device}: {why}"),
                        None => format!("--backend cuda: {why}"),
                    })
                })?;
                (Kind::Cuda(machine), None)
            }
            BackendWord::Auto if precision == Precision::F64 => {
                let note = "the CPU computes: the GPU back end has no f64".to_owned();
                (cpu, Some(note))
            }
            BackendWord::Auto => match self.cuda() {
                Ok(machine) => {
                    let note = format!("the GPU computes: {}", machine.info().name);
                    (Kind::Cuda(machine), Some(note))
                }
                Err(why) => (cpu, Some(format!("the CPU computes: {why}"))),
            },
        };
        let optional = self.backend == BackendWord::Auto;
        Ok(Machine {
            kind,
            optional,
            note,
        })
    }

    fn cuda(self) -> Result<Box<CudaMachine>, GpuError> {
        CudaMachine::keeping(self.device.unwrap_or(0), |kernel| {
            !kernel.starts_with("jacobi_")
        })
        .map(Box::new)
    }
}

enum Kind {
    Cpu(Precision),
    Cuda(Box<CudaMachine>),
    Emulator(EmulatedMachine),
}

/// A machine that is there.
pub(crate) struct Machine {
    kind: Kind,
    /// `auto` chose it.
    optional: bool,
    /// What `auto` took, and why.
    note: Option<String>,
}

impl Machine {
    /// Refuses a run that does not fit; `before` was available on the host before the scan was
    /// read. Where `auto` took a GPU that is too small, the CPU computes.
    pub(crate) fn fitting(mut self, plan: &Plan, before: Memory) -> Result<Self, Failure> {
        if let Kind::Cuda(machine) = &self.kind {
            let free = machine.context().memory().map_err(GpuError::from)?.free as u64;
            match fits("the GPU back end", "device", plan.gpu_device_bytes, free) {
                Err(Failure::Failed(why)) if self.optional => {
                    self.note = Some(format!("the CPU computes: {why}"));
                    self.kind = Kind::Cpu(Precision::F32);
                }
                other => other?,
            }
        }
        let (who, host_bytes) = match &self.kind {
            Kind::Cpu(_) => ("the CPU back end", plan.cpu_bytes),
            Kind::Cuda(_) => ("the GPU back end", plan.gpu_host_bytes),
            Kind::Emulator(_) => (
                "the emulator",
                plan.gpu_host_bytes.saturating_add(plan.gpu_device_bytes),
            ),
        };
        fits(who, "host", host_bytes, before.limit())?;
        Ok(self)
    }

    /// Puts the start values there. Where `auto` took a GPU whose memory then does not suffice
    /// (other programs take some, and the transforms' share is an estimate), the CPU computes if
    /// `before` holds its plan. Second, what `auto` took, and why.
    pub(crate) fn engine(
        self,
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
        let engine: Box<dyn Engine> = match self.kind {
            Kind::Cpu(Precision::F32) => Box::new(CpuEngine::<f32>::new(problem)),
            Kind::Cpu(Precision::F64) => Box::new(CpuEngine::<f64>::new(problem)),
            Kind::Emulator(machine) => Box::new(GpuEngine::new(machine, problem, version)?),
            Kind::Cuda(machine) => match GpuEngine::new(*machine, problem, version) {
                Ok(engine) => Box::new(engine),
                Err(why) => {
                    let note = retreat(why, self.optional)?;
                    fits("the CPU back end", "host", plan.cpu_bytes, before.limit())?;
                    return Ok((Box::new(CpuEngine::<f32>::new(problem)), Some(note)));
                }
            },
        };
        Ok((engine, self.note))
    }
}

/// The note that the CPU computes, where a GPU was a choice and its memory did not suffice.
fn retreat(why: EngineError, optional: bool) -> Result<String, Failure> {
    match why {
        EngineError::Gpu(GpuError::Cuda(CudaError::OutOfMemory { .. })) if optional => {
            Ok(format!("the CPU computes: {why}"))
        }
        _ => Err(why.into()),
    }
}

fn fits(who: &str, whose: &str, needed: u64, available: u64) -> Result<(), Failure> {
    if needed <= available {
        return Ok(());
    }
    let (needed, available) = (Bytes(u128::from(needed)), Bytes(u128::from(available)));
    Err(Failure::failed(format!(
        "the reconstruction needs {needed} of {whose} memory for {who}, but {available} may be used; take fewer probe modes (--probe-modes), fewer frames (--set data.frames=[0,100]) or a smaller part of each (--set data.crop=[64,64])"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_precision_and_devices_belong_to_their_machines() {
        let wish = Wish::new;
        assert!(wish(BackendWord::Cuda, None).check(Precision::F64).is_err());
        assert!(wish(BackendWord::Auto, None).check(Precision::F64).is_ok());
        assert!(
            wish(BackendWord::Cpu, Some(0))
                .check(Precision::F32)
                .is_err()
        );
        assert!(
            wish(BackendWord::Cuda, Some(1))
                .check(Precision::F32)
                .is_ok()
        );
    }

    #[test]
    fn a_named_device_is_no_suggestion() {
        let wish = Wish::new(BackendWord::Auto, Some(999));
        let Err(Failure::Failed(text)) = wish.open(Precision::F32) else {
            panic!("there is no such device");
        };
        assert!(text.starts_with("--device 999: "), "{text}");
        assert!(
            Wish::new(BackendWord::Auto, None)
                .open(Precision::F32)
                .is_ok()
        );
    }

    #[test]
    fn only_a_chosen_gpu_without_memory_gives_way_to_the_cpu() {
        let full = || {
            EngineError::Gpu(GpuError::Cuda(CudaError::OutOfMemory {
                place: "device",
                what: "the transforms".to_owned(),
                needed: 2,
                free: 1,
                total: 3,
                call: "cufftPlanMany",
            }))
        };
        assert!(retreat(full(), true).unwrap().contains("the CPU computes"));
        assert!(retreat(full(), false).is_err());
        let other = GpuError::TransformSize {
            shape: vec![0, 0],
            batch: 0,
        };
        assert!(retreat(other.into(), true).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_figures() {
        assert!(fits("a", "host", 5, 5).is_ok());
        let Err(Failure::Failed(text)) = fits("a", "host", 3 << 30, 1 << 30) else {
            panic!("fits");
        };
        assert!(
            text.contains("3.0 GiB") && text.contains("1.0 GiB"),
            "{text}"
        );
    }
}
