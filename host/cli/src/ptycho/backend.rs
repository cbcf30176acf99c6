//! The engine of a reconstruction on the back end that was chosen.

use crate::devices_request::DevicesBackend;
use crate::failure::Failure;
use crate::output::complain;
use crate::processes::common;
use warpstride::cuda::CudaPeers;
use warpstride::gpu::{CudaDevice, EmulatedDevice};
use warpstride::ptycho::cpu::on_cpu;
use warpstride::ptycho::cuda::{
    GroupMember, ProcessExchange, join_processes, on_cuda_among, on_emulator_among,
};
use warpstride::ptycho::{
    Engine, MemoryRequest, Problem, Ranks, StreamPlan, UpdateVersion, WHAT, free_memory,
};
use warpstride::run::{BackendKind, EngineChoice};
use warpstride::system::{Memory, processor};

/// A back end of one device or several.
type Kind = BackendKind<Vec<CudaDevice>, Vec<EmulatedDevice>>;

/// Engines on the back end that was chosen.
pub(super) enum Engines {
    /// The engine of this process, and why GPUs exchange arrays through the memory of their hosts,
    /// if several processes do.
    One(Box<dyn Engine>, Option<String>),
    /// Several devices of this process, whose engines are yet to be made.
    Several(Vec<GroupMember>),
}

impl Engines {
    /// The back end: `cpu`, `cuda` or `emulator`.
    pub(super) fn backend(&self) -> &'static str {
        match self {
            Self::One(engine, _) => engine.setup().backend,
            Self::Several(members) => members.first().map_or("", GroupMember::backend),
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
            Self::Several(members) => members.first().and_then(GroupMember::plan),
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

/// Makes the engine, or prepares those of several devices; `host` was available before the scan was
/// read.
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
                (BackendKind::Cpu, precision) => {
                    let engine = on_cpu(problem, precision, ranks.clone());
                    one(engine.map_err(Failure::failed)?)
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
                            Engines::Several(GroupMember::emulated(devices, version, plan))
                        }
                    }
                }
                (BackendKind::Cuda(mut devices), _) => {
                    let own = request.of_device(devices.len() * ranks.size());
                    let host = (host, devices.len() * ranks.local_size());
                    match (devices.len(), devices.pop()) {
                        (1, Some(device)) => {
                            let plan = free_memory(&device).map_err(Failure::from);
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
                                let plan = stream(&own, free_memory(&device)?, host)?;
                                Ok((device, plan))
                            });
                            let planned = planned.collect::<Result<_, Failure>>()?;
                            let members = GroupMember::of_gpus(planned, version)
                                .map_err(|why| Failure::failed(format!("--devices: {why}")))?;
                            Engines::Several(members)
                        }
                    }
                }
            })
        },
    )
}
