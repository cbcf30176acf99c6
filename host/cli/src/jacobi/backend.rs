//! The devices of a relaxation, opened once, by trying.

use crate::args::{BackendArg, JacobiArgs, SchemeArg};
use crate::device_list::DeviceList;
use crate::failure::Failure;
use warpstride::gpu::{CudaDeviceGroup, DeviceGroup, EmulatedDeviceGroup};
use warpstride::io::npy::Element;
use warpstride::jacobi::cuda::{Plan, Scheme, kernels};
use warpstride::jacobi::{
    Boundary, BoxedEngines, Decomposition, Engine, MemorySizes, Problem, Stopping,
};
use warpstride::run::{Backend, BackendKind, BackendName, EngineChoice, MemoryEstimate};
use warpstride::system::Memory;

/// What does not fit, for messages.
const WHAT: &str = "the relaxation";
/// Sweeps that a pass may do.
const TIME_BLOCKS: std::ops::RangeInclusive<usize> = 1..=8;

/// An open back end: the CPU, or a group of devices.
pub(super) type GroupBackend = Backend<CudaDeviceGroup, EmulatedDeviceGroup>;

/// Where and how a run shall be computed, as far as that is known before any work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupRequest {
    backend: BackendName,
    devices: DeviceList,
    scheme: SchemeArg,
    /// 0: as many as suit.
    time_block: usize,
    p2p: Option<bool>,
    timeline: bool,
}

impl GroupRequest {
    /// Refuses options that contradict each other. An option that only GPUs have turns `auto` into
    /// `cuda`.
    pub(super) fn from_args(args: &JacobiArgs) -> Result<Self, Failure> {
        let devices = DeviceList::from_arg(args.devices.as_deref())?;
        let p2p = match (args.p2p, args.no_p2p) {
            (false, false) => None,
            (yes, _) => Some(yes),
        };
        let of_gpus = [
            (devices != DeviceList::First, "--devices"),
            (args.scheme != SchemeArg::Auto, "--scheme"),
            (p2p == Some(true), "--p2p"),
            (p2p == Some(false), "--no-p2p"),
            (args.profile.is_some(), "--profile"),
            (args.efficiency, "--efficiency"),
        ];
        let asked = of_gpus.iter().find(|(given, _)| *given);
        let backend = match (args.backend.unwrap_or(BackendArg::Auto), asked) {
            (BackendArg::Cpu, Some((_, option))) => {
                return Err(Failure::usage(format!(
                    "{option}: expected --backend cuda or emulator, found --backend cpu"
                )));
            }
            (BackendArg::Auto, Some(_)) => BackendArg::Cuda,
            (word, _) => word,
        };
        if backend == BackendArg::Emulator {
            devices.check_emulated()?;
        }
        if let Some(sweeps) = args.time_block {
            if !TIME_BLOCKS.contains(&sweeps) {
                return Err(Failure::usage(format!(
                    "--time-block {sweeps}: expected 1 to {}",
                    TIME_BLOCKS.end()
                )));
            }
            let blocking = matches!(args.scheme, SchemeArg::Auto | SchemeArg::Temporal);
            if sweeps > 1 && !blocking {
                return Err(Failure::usage(format!(
                    "--time-block {sweeps}: expected 1, as --scheme {} does one sweep a pass (temporal does several)",
                    args.scheme.name()
                )));
            }
        }
        Ok(Self {
            backend: backend.into(),
            devices,
            scheme: args.scheme,
            time_block: args.time_block.unwrap_or(0),
            p2p,
            timeline: args.profile.is_some(),
        })
    }

    /// The same on the first of the devices alone.
    pub(super) fn alone(&self) -> Self {
        let devices = match &self.devices {
            DeviceList::Named(numbers) => {
                DeviceList::Named(numbers.iter().copied().take(1).collect())
            }
            DeviceList::First | DeviceList::All => DeviceList::First,
        };
        Self {
            devices,
            timeline: false,
            ..self.clone()
        }
    }

    /// Whether the devices are emulated.
    pub(super) fn is_emulated(&self) -> bool {
        self.backend == BackendName::Emulator
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
    pub(super) fn open(&self, sizes: &MemorySizes) -> Result<GroupBackend, Failure> {
        let name = |group: &CudaDeviceGroup| group.device_name(0);
        let cuda = || self.cuda(sizes).map(Box::new);
        Backend::open(self.backend, None, cuda, || self.emulator(sizes), name)?
            .checked(|kind| self.check(kind, sizes))
    }

    fn emulator(&self, sizes: &MemorySizes) -> Result<EmulatedDeviceGroup, Failure> {
        let devices = self.devices.emulated();
        self.check_rows(sizes, devices)?;
        Ok(EmulatedDeviceGroup::new(devices))
    }

    fn cuda(&self, sizes: &MemorySizes) -> Result<CudaDeviceGroup, Failure> {
        let requested = |why: &dyn std::fmt::Display| match (self.backend, &self.devices) {
            (BackendName::Auto, _) => Failure::failed(why),
            (_, DeviceList::First) => Failure::failed(format!("--backend cuda: {why}")),
            (_, devices) => Failure::failed(format!("{devices}: {why}")),
        };
        let numbers = self.devices.numbers().map_err(|why| requested(&why))?;
        self.check_rows(sizes, numbers.len())?;
        let kernels = if sizes.bytes == size_of::<f32>() {
            kernels::<f32>(sizes.source)
        } else {
            kernels::<f64>(sizes.source)
        };
        CudaDeviceGroup::new(&numbers, &kernels).map_err(|why| requested(&why))
    }

    /// Checks that each of the devices has a row.
    fn check_rows(&self, sizes: &MemorySizes, devices: usize) -> Result<(), Failure> {
        let most = sizes.ny.saturating_sub(2);
        if devices <= most {
            return Ok(());
        }
        let text = format!(
            "{}: expected at most {most} for a grid of {} rows, of which each device computes at least one between the border rows, found {devices}",
            self.devices, sizes.ny
        );
        // The machine or a file has a part in it, or the arguments alone.
        if self.devices == DeviceList::All || sizes.restart || sizes.source {
            return Err(Failure::failed(text));
        }
        Err(Failure::usage(text))
    }

    /// Checks that the run fits, and that the devices have the links that it needs.
    fn check(
        &self,
        kind: &BackendKind<CudaDeviceGroup, EmulatedDeviceGroup>,
        sizes: &MemorySizes,
    ) -> Result<(), Failure> {
        match kind {
            BackendKind::Cpu => {
                let estimate = sizes.estimate(sizes.ny);
                Ok(estimate.check_cpu(WHAT, Memory::available())?)
            }
            BackendKind::Emulator(group) => {
                let estimate = sizes.emulated(group.devices());
                estimate.check_emulator(WHAT, Memory::available())?;
                self.check_links(group, sizes.boundary)
            }
            BackendKind::Cuda(group) => {
                let shared = Decomposition::new(sizes.ny, group.devices())?;
                let estimate = sizes.estimate(0);
                estimate.check_gpu_host(WHAT, Memory::available())?;
                for device in 0..group.devices() {
                    let (free, _) = group.memory(device)?;
                    let estimate = MemoryEstimate {
                        advice: sizes.device_advice(),
                        ..sizes.estimate(shared.rows(device).len())
                    };
                    estimate.check_gpu_number(WHAT, group.ordinal(device), free as u64)?;
                }
                self.check_links(&**group, sizes.boundary)
            }
        }
    }

    /// Makes the engine. If that fails in any way on a GPU that `auto` chose, the CPU takes its
    /// place.
    pub(super) fn engine<T: BoxedEngines + Element>(
        &self,
        backend: GroupBackend,
        problem: &Problem<T>,
        stopping: Stopping,
        sizes: &MemorySizes,
    ) -> Result<EngineChoice<Box<dyn Engine<T>>>, Failure> {
        backend.engine(
            || self.check(&BackendKind::Cpu, sizes),
            |kind| {
                Ok(match kind {
                    BackendKind::Cpu => T::on_cpu(problem, stopping, self.time_block)?,
                    BackendKind::Emulator(group) => {
                        T::on_emulator(group, problem, stopping, self.plan())?
                    }
                    BackendKind::Cuda(group) => T::on_cuda(*group, problem, stopping, self.plan())?,
                })
            },
        )
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
                "--p2p: expected direct links between neighbours, found none from device {} to device {}; --no-p2p sends through the host",
                group.ordinal(link.from),
                group.ordinal(link.to)
            ))),
        }
    }
}

/// The number of devices; 1 for the CPU.
pub(super) fn device_count(backend: &GroupBackend) -> usize {
    match backend.kind() {
        BackendKind::Cpu => 1,
        BackendKind::Cuda(group) => group.devices(),
        BackendKind::Emulator(group) => group.devices(),
    }
}
