//! The engine of a reconstruction on the back end that was chosen.

use crate::cli::failure::Failure;
use crate::gpu::{CudaDevice, GpuError};
use crate::ptycho::cpu::CpuEngine;
use crate::ptycho::cuda::{on_cuda, on_emulator};
use crate::ptycho::{
    CountCodes, Engine, Precision, Problem, Recipe, StreamPlan, UpdateVersion, memory_estimate,
};
use crate::run::{Backend, BackendKind, EngineChoice, MemoryEstimate, OutOfMemory};
use crate::system::Memory;

/// What does not fit, for messages.
const WHAT: &str = "the reconstruction";

/// What a reconstruction request.
pub(super) struct MemoryRequest {
    /// (frames, modes, rows, columns)
    pub(super) shape: [usize; 4],
    /// (rows, columns)
    pub(super) object_shape: [usize; 2],
    pub(super) recipe: Recipe,
    /// Most device memory in bytes.
    pub(super) device_memory: Option<u64>,
}

/// Bytes of free device memory that blocks of counts leave free besides a fiftieth, for what the estimate does not count.
const RESERVE: u64 = 256 << 20;

/// Bytes of free device memory.
fn free(device: &CudaDevice) -> Result<u64, GpuError> {
    Ok(device.context().memory().map_err(GpuError::from)?.free as u64)
}

impl MemoryRequest {
    fn estimate(&self) -> MemoryEstimate {
        memory_estimate(self.shape, self.object_shape, &self.recipe)
    }

    /// How counts travel to a device with `free` bytes; `None` if all are there.
    fn stream(
        &self,
        free: u64,
        codes: Option<CountCodes>,
    ) -> Result<Option<StreamPlan>, OutOfMemory> {
        let choose = |limit: u64| {
            StreamPlan::choose(self.shape, self.object_shape, &self.recipe, codes, limit)
        };
        let limit = self.device_memory.map_or(free, |limit| limit.min(free));
        match choose(limit)? {
            None => Ok(None),
            // Blocks fill the memory up to the limit, and not all that is free can be had in large pieces.
            Some(_) => choose(limit.min((free - free / 50).saturating_sub(RESERVE))),
        }
    }

    /// Checks that the run fits before its data are prepared; `host` was available before they were read. Counts are taken to
    /// need 32 bits.
    pub(super) fn check(&self, kind: &BackendKind, host: Memory) -> Result<(), Failure> {
        let estimate = self.estimate();
        let pinned = |plan: Option<StreamPlan>| plan.map_or(0, |plan| plan.host_bytes());
        match kind {
            BackendKind::Cpu => estimate.check_cpu(WHAT, host)?,
            BackendKind::Emulator(_) => {
                let plan = self.stream(u64::MAX, None)?;
                let streamed = MemoryEstimate {
                    gpu_host: estimate.gpu_host.saturating_add(pinned(plan)),
                    ..estimate
                };
                streamed.check_emulator(WHAT, host)?;
            }
            BackendKind::Cuda(device) => {
                let plan = self.stream(free(device)?, None)?;
                let streamed = MemoryEstimate {
                    gpu_host: estimate.gpu_host.saturating_add(pinned(plan)),
                    ..estimate
                };
                streamed.check_gpu_host(WHAT, host)?;
            }
        }
        Ok(())
    }
}

/// Makes the engine; `host` was available before the scan was read.
pub(super) fn engine(
    backend: Backend,
    problem: &Problem,
    request: &MemoryRequest,
    host: Memory,
) -> Result<EngineChoice<Box<dyn Engine>>, Failure> {
    let version = UpdateVersion::choose(
        request.recipe.gpu.updates,
        problem.shape(),
        request.object_shape,
    );
    // The codes are looked for only if they may be needed.
    let stream = |free: u64| -> Result<_, Failure> {
        Ok(match request.stream(free, None)? {
            Some(_) => request.stream(free, CountCodes::of(&problem.magnitudes))?,
            None => None,
        })
    };
    backend.engine(
        || Ok(request.estimate().check_cpu(WHAT, host)?),
        |kind| {
            Ok(match (kind, request.recipe.precision) {
                (BackendKind::Cpu, Precision::F32) => {
                    Box::new(CpuEngine::<f32>::new(problem)) as Box<dyn Engine>
                }
                (BackendKind::Cpu, Precision::F64) => Box::new(CpuEngine::<f64>::new(problem)),
                (BackendKind::Emulator(device), _) => {
                    on_emulator(device, problem, version, stream(u64::MAX)?)?
                }
                (BackendKind::Cuda(device), _) => {
                    let plan = stream(free(&device)?)?;
                    on_cuda(*device, problem, version, plan)?
                }
            })
        },
    )
}
