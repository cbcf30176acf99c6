//! The engine of an aggregation on the back end that was chosen.

use crate::args::BackendArgs;
use crate::backend::request;
use crate::failure::Failure;
use crate::threads;
use std::time::{Duration, Instant};
use warpstride::cuda::CudaError;
use warpstride::gpu::{CudaDevice, GpuError};
use warpstride::run::{BackendKind, BackendRequest, EngineChoice, Setup};
use warpstride::series::cpu::CpuEngine;
use warpstride::series::cuda::{GpuEngine, kernels};
use warpstride::series::{Batch, Engine, Resample, Resampled, SeriesError};

/// Where to compute, checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct BackendConfig {
    request: BackendRequest,
    threads: Option<usize>,
}

/// An engine, for which the CPU may stand in, and its time.
pub(super) struct TimedEngine {
    chosen: EngineChoice<Box<dyn Engine>>,
    /// Time in the engine.
    pub(super) spent: Duration,
}

impl BackendConfig {
    /// Checks the options.
    pub(super) fn from_args(args: BackendArgs) -> Result<Self, Failure> {
        threads::check(args.threads)?;
        Ok(Self {
            request: request(args.backend, args.device, true, true)?,
            threads: args.threads,
        })
    }

    /// Makes the pool of threads.
    pub(super) fn start(self) -> Result<(), Failure> {
        threads::start(self.threads)
    }

    /// Makes the engine of a plan.
    pub(super) fn engine(self, plan: &Resample) -> Result<TimedEngine, Failure> {
        let backend = self.request.open(None, kernels)?;
        let chosen = backend.engine(
            || Ok(()),
            |kind| -> Result<Box<dyn Engine>, Failure> {
                Ok(match kind {
                    BackendKind::Cpu => Box::new(CpuEngine::new(plan.clone())),
                    BackendKind::Emulator(device) => {
                        Box::new(GpuEngine::new(device, plan.clone())?)
                    }
                    BackendKind::Cuda(device) => Box::new(on_gpu(*device, plan)?),
                })
            },
        )?;
        Ok(TimedEngine {
            chosen,
            spent: Duration::ZERO,
        })
    }
}

impl TimedEngine {
    /// What `auto` chose, and why.
    pub(super) fn note(&self) -> Option<&str> {
        self.chosen.note.as_deref()
    }
}

/// Queues of a GPU: one chunk goes there, one is computed, one comes back, and one is ready.
const QUEUES: usize = 4;

fn on_gpu(gpu: CudaDevice, plan: &Resample) -> Result<GpuEngine<CudaDevice>, SeriesError> {
    let mut queues = Vec::new();
    for _ in 1..QUEUES {
        queues.push(gpu.sibling()?);
    }
    queues.push(gpu);
    GpuEngine::with_streams(queues, plan.clone())
}

/// Every batch has the same bits on every back end, so the CPU can take over between two of them.
impl Engine for TimedEngine {
    fn setup(&self) -> &Setup {
        self.chosen.engine.setup()
    }

    fn plan(&self) -> &Resample {
        self.chosen.engine.plan()
    }

    fn resample(&mut self, batch: &Batch) -> Result<Resampled, SeriesError> {
        let begun = Instant::now();
        let computed = match self.chosen.engine.resample(batch) {
            Err(why) if lacks_memory(&why) => {
                let fallen_back = self.chosen.fall_back(why, |engine| {
                    Box::new(CpuEngine::new(engine.plan().clone()))
                });
                fallen_back.and_then(|()| self.chosen.engine.resample(batch))
            }
            computed => computed,
        };
        self.spent += begun.elapsed();
        computed
    }
}

/// Whether a batch does not fit into the device's memory. Anything else that goes wrong in the
/// middle of a run is an error.
fn lacks_memory(why: &SeriesError) -> bool {
    matches!(
        why,
        SeriesError::DeviceMemory(_)
            | SeriesError::Gpu(GpuError::Cuda(CudaError::OutOfMemory { .. }))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride::gpu::EmulatedDevice;
    use warpstride::run::{Backend, BackendName};
    use warpstride::series::NanPolicy;

    /// An engine that `auto` chose, or that was asked for.
    fn stand_in(engine: Box<dyn Engine>, optional: bool) -> EngineChoice<Box<dyn Engine>> {
        let requested = if optional {
            BackendName::Auto
        } else {
            BackendName::Cuda
        };
        let cuda = || Ok::<_, String>(Box::new(()));
        let opened = Backend::<(), ()>::open(requested, None, cuda, || Ok(()), |()| String::new());
        let mut engine = Some(engine);
        let make = |_| engine.take().ok_or_else(|| "made twice".to_owned());
        opened.unwrap().engine(|| Ok(()), make).unwrap()
    }

    /// A device that holds four points, and a bucket of ten.
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
            let small = GpuEngine::new(EmulatedDevice::new(), plan.clone()).unwrap();
            let mut engine = TimedEngine {
                chosen: stand_in(Box::new(small.chunked(4, 4)), optional),
                spent: Duration::ZERO,
            };
            let computed = engine.resample(&batch);
            if optional {
                let expected = CpuEngine::new(plan.clone()).resample(&batch).unwrap();
                assert_eq!(computed.unwrap(), expected);
                assert_eq!(engine.setup().backend, "cpu");
                let note = engine.note().unwrap();
                assert!(
                    note.starts_with("falling back to the CPU: series 0"),
                    "{note}"
                );
            } else {
                assert!(matches!(computed, Err(SeriesError::DeviceMemory(_))));
            }
        }
    }
}
