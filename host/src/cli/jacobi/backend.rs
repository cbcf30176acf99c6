//! The devices of a relaxation, opened once, by trying.

use crate::cli::args::{BackendArg, JacobiArgs, SchemeArg};
use crate::cli::failure::Failure;
use crate::cuda::list_devices;
use crate::gpu::{CudaDeviceGroup, DeviceGroup, EmulatedDeviceGroup};
use crate::io::npy::Element;
use crate::jacobi::cpu::CpuEngine;
use crate::jacobi::cuda::kernels;
use crate::jacobi::cuda::{GpuReal, GroupEngine, Plan, Scheme};
use crate::jacobi::{Boundary, Decomposition, Engine, MemorySizes, Problem, Stopping};
use crate::run::fallback_note;
use crate::system::Memory;

/// What does not fit, for messages.
const WHAT: &str = "the relaxation";
/// Sweeps that a pass may do.
const TIME_BLOCKS: std::ops::RangeInclusive<usize> = 1..=8;

/// `--devices`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Devices {
    /// None was named: the first.
    First,
    All,
    Named(Vec<usize>),
}

/// Where and how a run shall be computed, as far as that is known before any work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BackendRequest {
    backend: BackendArg,
    devices: Devices,
    scheme: SchemeArg,
    /// 0: as many as suit.
    time_block: usize,
    p2p: Option<bool>,
    timeline: bool,
}

impl BackendRequest {
    /// Refuses options that contradict each other. An option that only GPUs have turns `auto` into
    /// `cuda`.
    pub(super) fn from_args(typed: &JacobiArgs) -> Result<Self, Failure> {
        let devices = match typed.devices.as_deref() {
            None => Devices::First,
            Some("all") => Devices::All,
            Some(list) => Devices::Named(numbers(list)?),
        };
        let p2p = match (typed.p2p, typed.no_p2p) {
            (false, false) => None,
            (yes, _) => Some(yes),
        };
        let of_gpus = [
            (devices != Devices::First, "--devices"),
            (typed.scheme != SchemeArg::Auto, "--scheme"),
            (p2p == Some(true), "--p2p"),
            (p2p == Some(false), "--no-p2p"),
            (typed.profile.is_some(), "--profile"),
            (typed.efficiency, "--efficiency"),
        ];
        let asked = of_gpus.iter().find(|(typed, _)| *typed);
        let backend = match (typed.backend.unwrap_or(BackendArg::Auto), asked) {
            (BackendArg::Cpu, Some((_, option))) => {
                return Err(Failure::usage(format!(
                    "{option} is for GPUs: it is not used by --backend cpu"
                )));
            }
            (BackendArg::Auto, Some(_)) => BackendArg::Cuda,
            (word, _) => word,
        };
        if let (BackendArg::Emulator, Devices::All) = (backend, &devices) {
            return Err(Failure::usage(
                "--devices all: the emulator has as many devices as are named (0,1,2)",
            ));
        }
        if let (BackendArg::Emulator, Devices::Named(numbers)) = (backend, &devices)
            && !numbers.iter().copied().eq(0..numbers.len())
        {
            return Err(Failure::usage(
                "--devices: those of the emulator are numbered 0,1,2,… in this order",
            ));
        }
        if let Some(sweeps) = typed.time_block {
            if !TIME_BLOCKS.contains(&sweeps) {
                return Err(Failure::usage(format!(
                    "--time-block {sweeps}: expected 1 to {}",
                    TIME_BLOCKS.end()
                )));
            }
            let blocking = matches!(typed.scheme, SchemeArg::Auto | SchemeArg::Temporal);
            if sweeps > 1 && !blocking {
                return Err(Failure::usage(format!(
                    "--time-block {sweeps} is for --scheme temporal: {} does one sweep a pass",
                    typed.scheme.name()
                )));
            }
        }
        Ok(Self {
            backend,
            devices,
            scheme: typed.scheme,
            time_block: typed.time_block.unwrap_or(0),
            p2p,
            timeline: typed.profile.is_some(),
        })
    }

    /// The same on the first of the devices alone.
    pub(super) fn alone(&self) -> Self {
        let devices = match &self.devices {
            Devices::Named(numbers) => Devices::Named(numbers.iter().copied().take(1).collect()),
            Devices::First | Devices::All => Devices::First,
        };
        Self {
            devices,
            timeline: false,
            ..self.clone()
        }
    }

    /// How GPUs are to work together.
    fn plan(&self) -> Plan {
        Plan {
            scheme: match self.scheme {
                SchemeArg::Auto => Scheme::best(),
                SchemeArg::DefaultStream => Scheme::DefaultStream,
                SchemeArg::Streams => Scheme::Streams,
                SchemeArg::Events => Scheme::Events,
                SchemeArg::Overlap => Scheme::Overlap,
                SchemeArg::Graphs => Scheme::Graphs,
                SchemeArg::Temporal => Scheme::Temporal,
            },
            time_block: self.time_block,
            p2p: self.p2p,
            profile: self.timeline,
        }
    }

    /// Opens the back end, if the run fits.
    pub(super) fn open(&self, sizes: &MemorySizes) -> Result<Backend, Failure> {
        let plain = |kind| Backend { kind, note: None };
        match self.backend {
            BackendArg::Cpu => self.cpu(sizes).map(plain),
            BackendArg::Emulator => self.emulator(sizes).map(plain),
            BackendArg::Cuda => self.cuda(sizes).map(plain),
            BackendArg::Auto => match self.cuda(sizes) {
                Ok(kind) => Ok(Backend {
                    note: Some(format!("computing on the GPU: {}", kind.name())),
                    kind,
                }),
                Err(Failure::Failed(why)) => Ok(Backend {
                    kind: self.cpu(sizes)?,
                    note: Some(fallback_note(&why)),
                }),
                Err(other) => Err(other),
            },
        }
    }

    fn cpu(&self, sizes: &MemorySizes) -> Result<BackendKind, Failure> {
        let estimate = sizes.estimate(sizes.ny);
        estimate.check_cpu(WHAT, Memory::available())?;
        Ok(BackendKind::Cpu)
    }

    fn emulator(&self, sizes: &MemorySizes) -> Result<BackendKind, Failure> {
        let devices = match &self.devices {
            Devices::Named(numbers) => numbers.len(),
            Devices::First | Devices::All => 1,
        };
        Decomposition::new(sizes.ny, devices)?;
        let estimate = sizes.emulated(devices);
        estimate.check_emulator(WHAT, Memory::available())?;
        let group = EmulatedDeviceGroup::new(devices);
        self.check_links(&group, sizes.boundary)?;
        Ok(BackendKind::Emulator(group))
    }

    fn cuda(&self, sizes: &MemorySizes) -> Result<BackendKind, Failure> {
        let requested = |why: &dyn std::fmt::Display| match (self.backend, &self.devices) {
            (BackendArg::Auto, _) => Failure::failed(why),
            (_, Devices::First) => Failure::failed(format!("--backend cuda: {why}")),
            _ => Failure::failed(format!("--devices: {why}")),
        };
        let numbers = match &self.devices {
            Devices::First => vec![0],
            Devices::Named(numbers) => numbers.clone(),
            Devices::All => {
                let listed = list_devices().map_err(|why| requested(&why))?;
                listed.iter().map(|device| device.ordinal).collect()
            }
        };
        let shared = Decomposition::new(sizes.ny, numbers.len())?;
        let kernels = if sizes.bytes == size_of::<f32>() {
            kernels::<f32>(sizes.source)
        } else {
            kernels::<f64>(sizes.source)
        };
        let group = CudaDeviceGroup::new(&numbers, &kernels).map_err(|why| requested(&why))?;
        let estimate = sizes.estimate(0);
        estimate.check_gpu_host(WHAT, Memory::available())?;
        for (device, number) in numbers.iter().enumerate() {
            let (free, _) = group.memory(device)?;
            let estimate = sizes.estimate(shared.rows(device).len());
            estimate.check_gpu_number(WHAT, *number, free as u64)?;
        }
        self.check_links(&group, sizes.boundary)?;
        Ok(BackendKind::Cuda(Box::new(group)))
    }

    /// Refuses `--p2p` where two neighbours have no direct link.
    fn check_links(&self, group: &impl DeviceGroup, boundary: Boundary) -> Result<(), Failure> {
        if self.p2p != Some(true) {
            return Ok(());
        }
        let last = group.devices() - 1;
        let neighbours = |a: usize, b: usize| {
            a.abs_diff(b) == 1 || (a.abs_diff(b) == last && boundary.periodic_rows())
        };
        let missing = group
            .links()
            .into_iter()
            .find(|link| !link.direct && neighbours(link.from, link.to));
        match missing {
            None => Ok(()),
            Some(link) => Err(Failure::failed(format!(
                "--p2p: there is no direct link from device {} to device {}; --no-p2p sends through the host",
                group.ordinal(link.from),
                group.ordinal(link.to)
            ))),
        }
    }
}

/// `0,2,3`: each once.
fn numbers(list: &str) -> Result<Vec<usize>, Failure> {
    let mut numbers = Vec::new();
    for word in list.split(',') {
        let number = word.trim().parse().map_err(|_| {
            Failure::usage(format!(
                "--devices {list}: expected all, or numbers separated by commas (0,2,3)"
            ))
        })?;
        if numbers.contains(&number) {
            return Err(Failure::usage(format!(
                "--devices {list}: {number} is named twice"
            )));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

enum BackendKind {
    Cpu,
    Cuda(Box<CudaDeviceGroup>),
    Emulator(EmulatedDeviceGroup),
}

impl BackendKind {
    fn name(&self) -> String {
        match self {
            Self::Cpu => "the CPU".to_owned(),
            Self::Cuda(group) => group.device_name(0),
            Self::Emulator(group) => group.device_name(0),
        }
    }
}

/// An open back end.
pub(super) struct Backend {
    kind: BackendKind,
    /// What `auto` chose, and why.
    note: Option<String>,
}

impl Backend {
    /// Devices; 1 for the CPU.
    pub(super) fn devices(&self) -> usize {
        match &self.kind {
            BackendKind::Cpu => 1,
            BackendKind::Cuda(group) => group.devices(),
            BackendKind::Emulator(group) => group.devices(),
        }
    }

    /// Makes the engine. If that fails in any way on a GPU that `auto` chose, the CPU takes its place.
    pub(super) fn engine<T: GpuReal + Element>(
        self,
        problem: &Problem<T>,
        stopping: Stopping,
        request: &BackendRequest,
        sizes: &MemorySizes,
    ) -> Result<Ready<T>, Failure> {
        let engine: Box<dyn Engine<T>> = match self.kind {
            BackendKind::Cpu => Box::new(CpuEngine::new(problem, stopping, request.time_block)?),
            BackendKind::Emulator(group) => {
                Box::new(GroupEngine::new(group, problem, stopping, request.plan())?)
            }
            BackendKind::Cuda(group) => {
                match GroupEngine::new(*group, problem, stopping, request.plan()) {
                    Ok(engine) => Box::new(engine),
                    Err(why) if request.backend == BackendArg::Auto => {
                        request.cpu(sizes)?;
                        let engine = CpuEngine::new(problem, stopping, request.time_block)?;
                        return Ok(Ready {
                            engine: Box::new(engine),
                            note: Some(fallback_note(&why)),
                        });
                    }
                    Err(why) => return Err(why.into()),
                }
            }
        };
        Ok(Ready {
            engine,
            note: self.note,
        })
    }
}

/// An engine at its start.
pub(super) struct Ready<T> {
    pub(super) engine: Box<dyn Engine<T>>,
    /// What `auto` chose, and why.
    pub(super) note: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_devices_name_each_once() {
        assert_eq!(numbers("3,0, 12").unwrap(), [3, 0, 12]);
        for list in ["", "1,", "1;2", "-1", "1.0", "2,2"] {
            assert!(matches!(numbers(list), Err(Failure::Usage(_))), "{list}");
        }
    }
}
