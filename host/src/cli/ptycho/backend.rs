//! The engine of a reconstruction on the back end that was chosen.

use super::device_group::Member;
use crate::cli::devices_request::DevicesBackend;
use crate::cli::failure::Failure;
use crate::cli::output::complain;
use crate::cli::processes::common;
use crate::cuda::CudaPeers;
use crate::gpu::{CudaDevice, EmulatedDevice, GpuError};
use crate::ptycho::cpu::CpuEngine;
use crate::ptycho::cuda::{ProcessExchange, join_processes, on_cuda_among, on_emulator_among};
use crate::ptycho::{
    CountCodes, Engine, EngineSpec, Precision, Problem, Ranks, Recipe, StreamPlan, UpdateVersion,
    host_besides, memory_estimate,
};
use crate::run::{BackendKind, EngineChoice, MemoryEstimate, OutOfMemory};
use crate::system::{Bytes, Memory, processor};

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
    /// Bytes of device memory for what several devices exchange.
    pub(super) exchanged: u64,
    /// Bytes of the masks, if the counts are in a temporary file.
    pub(super) in_scratch: Option<u64>,
}

/// Bytes of free device memory that blocks of counts leave free besides a fiftieth, for what the estimate does not count.
const RESERVE: u64 = 256 << 20;

/// Bytes of free device memory.
fn free(device: &CudaDevice) -> Result<u64, GpuError> {
    Ok(device.context().memory().map_err(GpuError::from)?.free as u64)
}

/// A back end of one device or several.
type Kind = BackendKind<Vec<CudaDevice>, Vec<EmulatedDevice>>;

/// Engines on the back end that was chosen.
pub(super) enum Engines {
    /// The engine of this process, and why GPUs exchange arrays through the memory of their hosts, if several processes do.
    One(Box<dyn Engine>, Option<String>),
    /// Several devices of this process, whose engines are yet to be made.
    Several(Vec<Member>),
}

impl Engines {
    /// The back end: `cpu`, `cuda` or `emulator`.
    pub(super) fn backend(&self) -> &'static str {
        match self {
            Self::One(engine, _) => engine.setup().backend,
            Self::Several(members) => members.first().map_or("", Member::backend),
        }
    }

    /// The back end and the model of its device or processor.
    pub(super) fn computed_by(&self) -> String {
        match self {
            Self::One(engine, _) if engine.setup().backend == "cpu" => processor(1),
            Self::One(engine, _) => engine.setup().to_string(),
            // All are of one process.
            Self::Several(_) => self.backend().to_owned(),
        }
    }

    /// How counts and exit waves travel to the first device, if they do.
    pub(super) fn streaming(&self) -> Option<StreamPlan> {
        match self {
            Self::One(engine, _) => engine.streaming(),
            Self::Several(members) => members.first().and_then(Member::plan),
        }
    }

    /// Whether counts or exit waves travel to any device of this process.
    pub(super) fn any_streams(&self) -> bool {
        match self {
            Self::One(engine, _) => engine.streaming().is_some(),
            Self::Several(members) => members.iter().any(|member| member.plan().is_some()),
        }
    }

    /// Why GPUs of several processes exchange arrays through the memory of their hosts, if they do.
    pub(super) fn through_hosts(&self) -> Option<&str> {
        match self {
            Self::One(_, why) => why.as_deref(),
            Self::Several(_) => None,
        }
    }

    /// Number of devices of this process; 1 on the CPU.
    pub(super) fn devices(&self) -> usize {
        match self {
            Self::One(..) => 1,
            Self::Several(members) => members.len(),
        }
    }
}

/// Refuses several GPUs for each of several processes, and more GPUs than frames.
pub(super) fn check_division(kind: &Kind, frames: usize, ranks: &Ranks) -> Result<(), Failure> {
    let devices = match kind {
        BackendKind::Cpu => 1,
        BackendKind::Cuda(devices) => devices.len(),
        BackendKind::Emulator(devices) => devices.len(),
    };
    if devices > 1 && ranks.size() > 1 {
        return Err(Failure::usage(format!(
            "--devices: expected one GPU for each process of MPI, found {devices}"
        )));
    }
    let all = devices * ranks.size();
    if !matches!(kind, BackendKind::Cpu) && all > frames {
        return Err(Failure::failed(format!(
            "several GPUs: expected at most {frames}, the number of frames, found {all}"
        )));
    }
    Ok(())
}

impl MemoryRequest {
    fn estimate(&self) -> MemoryEstimate {
        memory_estimate(self.shape, self.object_shape, &self.recipe)
    }

    /// Whether every engine is divided among several devices.
    fn divides(&self) -> bool {
        let divided = |engine: &EngineSpec| engine.name.projects() && engine.subpixel != Some(true);
        self.recipe.engines.iter().all(divided)
    }

    /// Bytes that each of `devices` devices needs besides what it would need alone for its frames: the sums of all devices,
    /// and the counts of its own frames beside those of all.
    fn exchanged(&self, devices: usize) -> u64 {
        if devices <= 1 {
            return 0;
        }
        let wide = |n: usize| n as u64;
        let [frames, modes, rows, columns] = self.shape.map(wide);
        let pixels = rows.saturating_mul(columns);
        let object = wide(self.object_shape[0]).saturating_mul(wide(self.object_shape[1]));
        // Numbers in fixed point of 8 bytes, sums and weights of 12, also those of the device itself.
        let sums = object.saturating_mul(20 * (wide(devices) + 1));
        let probe = (24 * pixels).saturating_mul(12 * (modes + 1));
        let own = frames.div_ceil(wide(devices)).saturating_mul(4 * pixels);
        let own = if self.divides() { 0 } else { own };
        sums.saturating_add(probe).saturating_add(own)
    }

    /// What each of `devices` devices needs: all frames if an engine is not divided.
    fn of_device(&self, devices: usize) -> Self {
        let [frames, modes, rows, columns] = self.shape;
        let among = if self.divides() { devices } else { 1 };
        Self {
            shape: [frames.div_ceil(among.max(1)), modes, rows, columns],
            exchanged: self.exchanged(devices),
            recipe: self.recipe.clone(),
            ..*self
        }
    }

    /// What the processes of a host need together on the CPU: each of them all counts, but only the exit waves of its frames.
    fn of_processes(&self, ranks: &Ranks) -> MemoryEstimate {
        let [frames, modes, rows, columns] = self.shape;
        let own = frames.div_ceil(ranks.size());
        let estimate =
            memory_estimate([own, modes, rows, columns], self.object_shape, &self.recipe);
        // The scan, √counts, and these in the order of the engine.
        let others = ((frames - own) as u64).saturating_mul((rows * columns) as u64 * 12);
        MemoryEstimate {
            cpu: (estimate.cpu.saturating_add(others)).saturating_mul(ranks.local_size() as u64),
            ..estimate
        }
    }

    /// How counts travel from a host with memory `host` to each of its `devices` devices, with `free` bytes; `None` if all are there.
    fn stream(
        &self,
        free: u64,
        codes: Option<CountCodes>,
        (host, devices): (Memory, usize),
    ) -> Result<Option<StreamPlan>, OutOfMemory> {
        let plan = self.stream_in_memory(free, codes)?;
        Ok(plan.map(|plan| match self.in_scratch {
            Some(_) => plan.within(self.host_besides(), host, devices),
            None => plan,
        }))
    }

    /// Bytes of memory of an emulated device that needs `needed` bytes with everything there.
    fn emulated(&self, needed: u64) -> u64 {
        needed.min(self.device_memory.unwrap_or(u64::MAX))
    }

    /// The host's memory beside that of an emulated device, which is a part of it.
    fn beside_emulated(&self, host: Memory) -> Memory {
        let device = self.emulated(self.estimate().gpu_device);
        Memory::limited(host.limit().saturating_sub(device))
    }

    /// Bytes of host memory besides counts and √counts.
    fn host_besides(&self) -> u64 {
        let besides = host_besides(self.shape, self.object_shape, &self.recipe);
        besides.saturating_add(self.in_scratch.unwrap_or(0))
    }

    fn stream_in_memory(
        &self,
        free: u64,
        codes: Option<CountCodes>,
    ) -> Result<Option<StreamPlan>, OutOfMemory> {
        let choose = |limit: u64| {
            StreamPlan::choose(self.shape, self.object_shape, &self.recipe, codes, limit).map_err(
                |error| OutOfMemory {
                    needed: Bytes(error.needed.0.saturating_add(self.exchanged.into())),
                    available: Bytes(error.available.0.saturating_add(self.exchanged.into())),
                    ..error
                },
            )
        };
        let limit = self.device_memory.map_or(free, |limit| limit.min(free));
        let (limit, free) = (
            limit.saturating_sub(self.exchanged),
            free.saturating_sub(self.exchanged),
        );
        match choose(limit)? {
            None => Ok(None),
            // Blocks fill the memory up to the limit, and not all that is free can be had in large pieces.
            Some(_) => choose(limit.min((free - free / 50).saturating_sub(RESERVE))),
        }
    }

    /// Checks that the run fits before its data are prepared; `host` was available before they were read, and `ranks` processes
    /// divide the frames. Counts are taken to need 32 bits.
    pub(super) fn check(&self, kind: &Kind, host: Memory, ranks: &Ranks) -> Result<(), Failure> {
        let mut estimate = self.estimate();
        if self.in_scratch.is_some() {
            estimate.gpu_host = self.host_besides();
        }
        let sharing = |devices: usize| devices * ranks.local_size();
        let pinned = |plan: Option<StreamPlan>| plan.map_or(0, |plan| plan.host_bytes());
        if matches!(kind, BackendKind::Emulator(_)) {
            estimate.gpu_device = self.emulated(estimate.gpu_device);
        }
        let streamed = |pinned: u64| MemoryEstimate {
            gpu_host: estimate.gpu_host.saturating_add(pinned),
            ..estimate
        };
        match kind {
            BackendKind::Cpu => self.of_processes(ranks).check_cpu(WHAT, host)?,
            BackendKind::Emulator(devices) => {
                let own = self.of_device(devices.len() * ranks.size());
                let plan = own.stream(
                    u64::MAX,
                    None,
                    (self.beside_emulated(host), sharing(devices.len())),
                )?;
                let all = pinned(plan).saturating_mul(devices.len() as u64);
                streamed(all).check_emulator(WHAT, host)?;
            }
            BackendKind::Cuda(devices) => {
                let own = self.of_device(devices.len() * ranks.size());
                let mut all = 0_u64;
                for device in devices.iter() {
                    all = all.saturating_add(pinned(own.stream(
                        free(device)?,
                        None,
                        (host, sharing(devices.len())),
                    )?));
                }
                streamed(all).check_gpu_host(WHAT, host)?;
            }
        }
        Ok(())
    }
}

/// Ends all processes, because this one cannot go on.
pub(super) fn end_processes(ranks: &Ranks, text: &str) {
    complain(text);
    ranks.fail(text);
}

/// The other GPUs, if there are several processes and NCCL connects them; or why it does not.
fn peers(
    device: &CudaDevice,
    ranks: &Ranks,
) -> Result<(Option<CudaPeers>, Option<String>), Failure> {
    if ranks.size() == 1 {
        return Ok((None, None));
    }
    match join_processes(device, ranks) {
        Ok(ProcessExchange::Nccl(peers)) => Ok((Some(peers), None)),
        Ok(ProcessExchange::Hosts(why)) => Ok((None, Some(why))),
        Err(error) => {
            // The others may wait for this process in NCCL.
            let text = format!(
                "{error} (with WARPSTRIDE_NCCL=none, GPUs exchange through the memory of their hosts)"
            );
            end_processes(ranks, &text);
            Err(Failure::failed(text))
        }
    }
}

/// Makes the engine, or prepares those of several devices; `host` was available before the scan was read.
pub(super) fn engines(
    backend: DevicesBackend,
    problem: &Problem,
    request: &MemoryRequest,
    host: Memory,
    ranks: &Ranks,
) -> Result<EngineChoice<Engines>, Failure> {
    let version = UpdateVersion::choose(
        request.recipe.gpu.updates,
        problem.shape(),
        request.object_shape,
    );
    // The codes are looked for only if they may be needed.
    let stream = |own: &MemoryRequest, free: u64, host: (Memory, usize)| -> Result<_, Failure> {
        Ok(match own.stream(free, None, host)? {
            Some(_) => own.stream(free, problem.magnitudes.codes(), host)?,
            None => None,
        })
    };
    let one = |engine: Box<dyn Engine>| Engines::One(engine, None);
    backend.engine(
        || Ok(request.of_processes(ranks).check_cpu(WHAT, host)?),
        |kind| {
            Ok(match (kind, request.recipe.precision) {
                (BackendKind::Cpu, Precision::F32) => {
                    let engine = CpuEngine::<f32>::among(problem, ranks.clone());
                    one(Box::new(engine.map_err(Failure::failed)?))
                }
                (BackendKind::Cpu, Precision::F64) => {
                    let engine = CpuEngine::<f64>::among(problem, ranks.clone());
                    one(Box::new(engine.map_err(Failure::failed)?))
                }
                (BackendKind::Emulator(mut devices), _) => {
                    let own = request.of_device(devices.len() * ranks.size());
                    let sharing = devices.len() * ranks.local_size();
                    let host = (request.beside_emulated(host), sharing);
                    let plan = common(ranks, stream(&own, u64::MAX, host))?;
                    match (devices.len(), devices.pop()) {
                        (1, Some(device)) => {
                            let ranks = ranks.clone();
                            one(on_emulator_among(device, problem, version, plan, ranks)?)
                        }
                        (_, last) => {
                            devices.extend(last);
                            Engines::Several(Member::emulated(devices, version, plan))
                        }
                    }
                }
                (BackendKind::Cuda(mut devices), _) => {
                    let own = request.of_device(devices.len() * ranks.size());
                    let host = (host, devices.len() * ranks.local_size());
                    match (devices.len(), devices.pop()) {
                        (1, Some(device)) => {
                            let plan = free(&device).map_err(Failure::from);
                            let plan = plan.and_then(|free| stream(&own, free, host));
                            // All processes go on, or none: they join next.
                            let plan = common(ranks, plan)?;
                            let (peers, why) = peers(&device, ranks)?;
                            let among = (ranks.clone(), peers);
                            let engine = on_cuda_among(device, problem, version, plan, among);
                            if let (2.., Err(error)) = (ranks.size(), &engine) {
                                // The others have a GPU that waits for this one.
                                end_processes(ranks, &error.to_string());
                            }
                            Engines::One(engine?, why)
                        }
                        (_, last) => {
                            devices.extend(last);
                            let planned = devices.into_iter().map(|device| {
                                let plan = stream(&own, free(&device)?, host)?;
                                Ok((device, plan))
                            });
                            let planned = planned.collect::<Result<_, Failure>>()?;
                            Engines::Several(Member::of_gpus(planned, version)?)
                        }
                    }
                }
            })
        },
    )
}
