//! The engine of a calculation on the machine that was chosen.

use crate::cli::args::{MachineTyped, PrecisionWord};
use crate::cli::backend::{Kind, Room, Wish};
use crate::cli::failure::Failure;
use crate::cli::threads;
use warpstride::sas::cpu::CpuEngine;
use warpstride::sas::cuda::{on_cuda, on_emulator};
use warpstride::sas::{Calculation, Engine, Precision};

/// Where to compute, checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    wish: Wish,
    threads: Option<usize>,
    precision: PrecisionWord,
}

impl Wanted {
    /// Checks the options.
    pub(super) fn from_typed(
        typed: MachineTyped,
        precision: PrecisionWord,
    ) -> Result<Self, Failure> {
        threads::check(typed.threads)?;
        let wish = Wish::new(typed.backend, typed.device);
        wish.check(precision, Room::Sas(&[]))?;
        Ok(Self {
            wish,
            threads: typed.threads,
            precision,
        })
    }

    /// As the calculation has it.
    pub(super) fn precision(self) -> Precision {
        match self.precision {
            PrecisionWord::F32 => Precision::F32,
            PrecisionWord::F64 => Precision::F64,
        }
    }

    /// Makes the pool of threads.
    pub(super) fn start(self) -> Result<(), Failure> {
        threads::start(self.threads)
    }

    /// Puts the calculation on the machine. Second, what `auto` took, and why.
    pub(super) fn engine(
        self,
        calculation: Calculation,
    ) -> Result<(Box<dyn Engine>, Option<String>), Failure> {
        let definition = &calculation.definition;
        let mut models = vec![definition.form().info().name];
        models.extend(definition.structure().map(|s| s.info().name));
        let machine = self.wish.open(self.precision, Room::Sas(&models))?;
        let mut note = machine.note;
        let engine: Box<dyn Engine> = match machine.kind {
            Kind::Cpu => Box::new(CpuEngine::new(calculation)),
            Kind::Emulator(emulator) => on_emulator(emulator, calculation)?,
            Kind::Cuda(gpu) => match on_cuda(*gpu, calculation.clone()) {
                Ok(engine) => engine,
                Err(why) if machine.optional => {
                    note = Some(format!("the CPU computes: {why}"));
                    Box::new(CpuEngine::new(calculation))
                }
                Err(why) => return Err(why.into()),
            },
        };
        Ok((engine, note))
    }
}
