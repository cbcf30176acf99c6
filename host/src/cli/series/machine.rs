//! The engine of an aggregation on the machine that was chosen.

use crate::cli::args::{MachineTyped, PrecisionWord};
use crate::cli::backend::{Kind, Room, Wish, retreat};
use crate::cli::failure::Failure;
use crate::cli::threads;
use std::time::{Duration, Instant};
use warpstride::gpu::CudaMachine;
use warpstride::series::cpu::CpuEngine;
use warpstride::series::cuda::GpuEngine;
use warpstride::series::{Batch, Engine, Resample, Resampled, SeriesError, Setup};

/// Where to compute, checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    wish: Wish,
    threads: Option<usize>,
}

/// An engine, and what is to be told of it.
pub(super) struct Chosen {
    engine: Box<dyn Engine>,
    /// A GPU that `auto` took, for which the CPU may stand in.
    optional: bool,
    /// What `auto` took, and why.
    pub(super) note: Option<String>,
    /// Time in the engine.
    pub(super) spent: Duration,
}

impl Wanted {
    /// Checks the options.
    pub(super) fn from_typed(typed: MachineTyped) -> Result<Self, Failure> {
        threads::check(typed.threads)?;
        let wish = Wish::new(typed.backend, typed.device);
        wish.check(PrecisionWord::F64, Room::Series)?;
        Ok(Self {
            wish,
            threads: typed.threads,
        })
    }

    /// Makes the pool of threads.
    pub(super) fn start(self) -> Result<(), Failure> {
        threads::start(self.threads)
    }

    /// Opens the machine, for a plan.
    pub(super) fn engine(self, plan: &Resample) -> Result<Chosen, Failure> {
        let machine = self.wish.open(PrecisionWord::F64, Room::Series)?;
        let mut note = machine.note;
        let mut optional = machine.optional;
        let on_cpu = || Box::new(CpuEngine::new(plan.clone()));
        let engine: Box<dyn Engine> = match machine.kind {
            Kind::Cpu => on_cpu(),
            Kind::Emulator(emulator) => Box::new(GpuEngine::new(emulator, plan.clone())?),
            Kind::Cuda(gpu) => match on_gpu(*gpu, plan) {
                Ok(engine) => Box::new(engine),
                Err(why) if optional => {
                    note = Some(format!("the CPU computes: {why}"));
                    optional = false;
                    on_cpu()
                }
                Err(why) => return Err(why.into()),
            },
        };
        Ok(Chosen {
            engine,
            optional,
            note,
            spent: Duration::ZERO,
        })
    }
}

/// Queues of a GPU: one chunk goes there, one is computed, one comes back, and one is ready.
const QUEUES: usize = 4;

fn on_gpu(gpu: CudaMachine, plan: &Resample) -> Result<GpuEngine<CudaMachine>, SeriesError> {
    let mut queues = Vec::new();
    for _ in 1..QUEUES {
        queues.push(gpu.sibling()?);
    }
    queues.push(gpu);
    GpuEngine::with_lanes(queues, plan.clone())
}

/// Every batch has the same bits on every machine, so the CPU can take over between two of them.
impl Engine for Chosen {
    fn setup(&self) -> &Setup {
        self.engine.setup()
    }

    fn plan(&self) -> &Resample {
        self.engine.plan()
    }

    fn resample(&mut self, batch: &Batch) -> Result<Resampled, SeriesError> {
        let begun = Instant::now();
        let computed = match self.engine.resample(batch) {
            Err(why) => {
                let retreat = match &why {
                    SeriesError::DeviceMemory(_) if self.optional => {
                        Ok(format!("the CPU computes: {why}"))
                    }
                    SeriesError::Gpu(cause) => retreat(&why, Some(cause), self.optional),
                    _ => retreat(&why, None, self.optional),
                };
                match retreat {
                    Ok(note) => {
                        self.engine = Box::new(CpuEngine::new(self.plan().clone()));
                        (self.note, self.optional) = (Some(note), false);
                        self.engine.resample(batch)
                    }
                    Err(_) => Err(why),
                }
            }
            computed => computed,
        };
        self.spent += begun.elapsed();
        computed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride::gpu::EmulatedMachine;
    use warpstride::series::NanPolicy;

    /// A device with room for four points, and a bucket of ten.
    #[test]
    fn the_cpu_stands_in_where_the_device_is_too_small() {
        let plan = Resample::new(
            vec!["1h".parse().unwrap()],
            vec!["mean".parse().unwrap()],
            NanPolicy::Keep,
        )
        .unwrap();
        let batch = Batch::single((0..10).collect(), vec![2.0; 10]).unwrap();
        for optional in [true, false] {
            let small = GpuEngine::new(EmulatedMachine::new(), plan.clone()).unwrap();
            let mut chosen = Chosen {
                engine: Box::new(small.chunked(4, 4)),
                optional,
                note: None,
                spent: Duration::ZERO,
            };
            let computed = chosen.resample(&batch);
            if optional {
                let expected = CpuEngine::new(plan.clone()).resample(&batch).unwrap();
                assert_eq!(computed.unwrap(), expected);
                assert_eq!(chosen.setup().backend, "cpu");
                assert!(
                    chosen
                        .note
                        .unwrap()
                        .starts_with("the CPU computes: series 0")
                );
            } else {
                assert!(matches!(computed, Err(SeriesError::DeviceMemory(_))));
            }
        }
    }
}
