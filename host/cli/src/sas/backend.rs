//! The engine of a calculation on the back end that was chosen.

use crate::args::{DevicesArgs, PrecisionArg};
use crate::devices_request::DevicesRequest;
use crate::failure::Failure;
use crate::threads;
use warpstride::run::{BackendKind, EngineChoice};
use warpstride::sas::cpu::CpuEngine;
use warpstride::sas::cuda::{kernels, on_cuda_devices, on_emulated_devices};
use warpstride::sas::{Calculation, Engine, Precision, SumEngine};

/// The engine of a calculation.
pub(super) struct ChosenEngine {
    pub(super) engine: Box<dyn Engine>,
    /// What `auto` chose, and why.
    pub(super) note: Option<String>,
}

/// Where to compute, checked.
#[derive(Debug, Clone)]
pub(super) struct BackendConfig {
    request: DevicesRequest,
    threads: Option<usize>,
    precision: PrecisionArg,
}

impl BackendConfig {
    /// Checks the options.
    pub(super) fn from_args(args: &DevicesArgs, precision: PrecisionArg) -> Result<Self, Failure> {
        threads::check(args.backend.threads)?;
        let double = precision == PrecisionArg::F64;
        Ok(Self {
            request: DevicesRequest::from_args(args, double, true)?,
            threads: args.backend.threads,
            precision,
        })
    }

    /// As the calculation has it.
    pub(super) fn precision(&self) -> Precision {
        match self.precision {
            PrecisionArg::F32 => Precision::F32,
            PrecisionArg::F64 => Precision::F64,
        }
    }

    /// Makes the pool of threads.
    pub(super) fn start(&self) -> Result<(), Failure> {
        threads::start(self.threads)
    }

    /// Makes the engine of the calculation; of a sum, one for each part on the same devices.
    pub(super) fn engine(&self, calculation: Calculation) -> Result<ChosenEngine, Failure> {
        let parts = calculation.parts();
        if parts.is_empty() {
            let chosen = self.single(calculation)?;
            return Ok(ChosenEngine {
                engine: chosen.engine,
                note: chosen.note,
            });
        }
        let (mut engines, mut note) = (Vec::with_capacity(parts.len()), None);
        for part in parts {
            let chosen = self.single(part)?;
            note = note.or(chosen.note);
            engines.push(chosen.engine);
        }
        Ok(ChosenEngine {
            engine: Box::new(SumEngine::new(calculation, engines)?),
            note,
        })
    }

    fn single(&self, calculation: Calculation) -> Result<EngineChoice<Box<dyn Engine>>, Failure> {
        let definition = &calculation.definition;
        let mut models = vec![definition.form().info().name];
        models.extend(definition.structure().map(|s| s.info().name));
        let backend = self.request.open(None, || kernels(&models))?;
        backend.engine(
            || Ok(()),
            |kind| {
                Ok(match kind {
                    BackendKind::Cpu => {
                        Box::new(CpuEngine::new(calculation.clone())) as Box<dyn Engine>
                    }
                    BackendKind::Emulator(devices) => on_emulated_devices(devices, &calculation)?,
                    BackendKind::Cuda(devices) => on_cuda_devices(*devices, &calculation)?,
                })
            },
        )
    }
}
