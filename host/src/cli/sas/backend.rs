//! The engine of a calculation on the back end that was chosen.

use crate::cli::args::{BackendArgs, PrecisionArg};
use crate::cli::backend::request;
use crate::cli::failure::Failure;
use crate::cli::threads;
use crate::run::{BackendKind, BackendRequest, EngineChoice};
use crate::sas::cpu::CpuEngine;
use crate::sas::cuda::{kernels, on_cuda, on_emulator};
use crate::sas::{Calculation, Engine, Precision};

/// Where to compute, checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct BackendConfig {
    request: BackendRequest,
    threads: Option<usize>,
    precision: PrecisionArg,
}

impl BackendConfig {
    /// Checks the options.
    pub(super) fn from_args(args: BackendArgs, precision: PrecisionArg) -> Result<Self, Failure> {
        threads::check(args.threads)?;
        let double = precision == PrecisionArg::F64;
        let request = request(args.backend, args.device, double, true)?;
        Ok(Self {
            request,
            threads: args.threads,
            precision,
        })
    }

    /// As the calculation has it.
    pub(super) fn precision(self) -> Precision {
        match self.precision {
            PrecisionArg::F32 => Precision::F32,
            PrecisionArg::F64 => Precision::F64,
        }
    }

    /// Makes the pool of threads.
    pub(super) fn start(self) -> Result<(), Failure> {
        threads::start(self.threads)
    }

    /// Makes the engine of the calculation.
    pub(super) fn engine(
        self,
        calculation: Calculation,
    ) -> Result<EngineChoice<Box<dyn Engine>>, Failure> {
        let definition = &calculation.definition;
        let mut models = vec![definition.form().info().name];
        models.extend(definition.structure().map(|s| s.info().name));
        let backend = self.request.open(None, || kernels(&models))?;
        backend.engine(
            || Ok(()),
            |kind| {
                let calculation = calculation.clone();
                Ok(match kind {
                    BackendKind::Cpu => Box::new(CpuEngine::new(calculation)) as Box<dyn Engine>,
                    BackendKind::Emulator(device) => on_emulator(device, calculation)?,
                    BackendKind::Cuda(device) => on_cuda(*device, calculation)?,
                })
            },
        )
    }
}
