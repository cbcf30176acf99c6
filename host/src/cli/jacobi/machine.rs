//! Which machines compute: chosen once, by trying. Engines are opened here and nowhere else.

use super::need::{Need, fits};
use crate::cli::args::{BackendWord, JacobiTyped, SchemeWord};
use crate::cli::failure::Failure;
use warpstride::cuda::{CudaError, list_devices};
use warpstride::gpu::{CudaFleet, EmulatedFleet, Fleet, GpuError};
use warpstride::io::Memory;
use warpstride::io::npy::Element;
use warpstride::jacobi::cpu::CpuEngine;
use warpstride::jacobi::cuda::launches;
use warpstride::jacobi::cuda::{FleetEngine, GpuReal, Plan, Scheme};
use warpstride::jacobi::{Boundary, Decomposition, Engine, JacobiError, Problem, Stopping};

/// Sweeps that a pass may do.
const TIME_BLOCKS: std::ops::RangeInclusive<usize> = 1..=8;

/// `--devices`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Devices {
    /// Not typed: the first.
    First,
    All,
    Named(Vec<usize>),
}

/// Where and how a run shall be computed, as far as that is known before any work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish {
    backend: BackendWord,
    devices: Devices,
    scheme: SchemeWord,
    /// 0: as many as suit.
    time_block: usize,
    p2p: Option<bool>,
    timeline: bool,
}

impl Wish {
    /// Refuses what contradicts itself. Who asks for what only GPUs have wants GPUs: `auto` is
    /// `cuda` then.
    pub(super) fn from_typed(typed: &JacobiTyped) -> Result<Self, Failure> {
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
            (typed.scheme != SchemeWord::Auto, "--scheme"),
            (p2p == Some(true), "--p2p"),
            (p2p == Some(false), "--no-p2p"),
            (typed.profile.is_some(), "--profile"),
            (typed.efficiency, "--efficiency"),
        ];
        let asked = of_gpus.iter().find(|(typed, _)| *typed);
        let backend = match (typed.backend.unwrap_or(BackendWord::Auto), asked) {
            (BackendWord::Cpu, Some((_, option))) => {
                return Err(Failure::usage(format!(
                    "{option} is for GPUs: it is not used by --backend cpu"
                )));
            }
            (BackendWord::Auto, Some(_)) => BackendWord::Cuda,
            (word, _) => word,
        };
        if let (BackendWord::Emulator, Devices::All) = (backend, &devices) {
            return Err(Failure::usage(
                "--devices all: the emulator has as many devices as are named (0,1,2)",
            ));
        }
        if let (BackendWord::Emulator, Devices::Named(numbers)) = (backend, &devices)
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
            let blocking = matches!(typed.scheme, SchemeWord::Auto | SchemeWord::Temporal);
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
                SchemeWord::Auto => Scheme::best(),
                SchemeWord::DefaultStream => Scheme::DefaultStream,
                SchemeWord::Streams => Scheme::Streams,
                SchemeWord::Events => Scheme::Events,
                SchemeWord::Overlap => Scheme::Overlap,
                SchemeWord::Graphs => Scheme::Graphs,
                SchemeWord::Temporal => Scheme::Temporal,
            },
            time_block: self.time_block,
            p2p: self.p2p,
            profile: self.timeline,
        }
    }

    /// Opens what was wished for, where the run fits.
    pub(super) fn open(&self, need: &Need) -> Result<Machine, Failure> {
        let plain = |kind| Machine { kind, note: None };
        match self.backend {
            BackendWord::Cpu => self.cpu(need).map(plain),
            BackendWord::Emulator => self.emulator(need).map(plain),
            BackendWord::Cuda => self.cuda(need).map(plain),
            BackendWord::Auto => match self.cuda(need) {
                Ok(kind) => Ok(Machine {
                    note: Some(format!("the GPU computes: {}", kind.name())),
                    kind,
                }),
                Err(Failure::Failed(why)) => Ok(Machine {
                    kind: self.cpu(need)?,
                    note: Some(format!("the CPU computes: {why}")),
                }),
                Err(other) => Err(other),
            },
        }
    }

    fn cpu(&self, need: &Need) -> Result<Kind, Failure> {
        let available = Memory::available().limit();
        fits("the CPU", "host memory", need.cpu(), available)?;
        Ok(Kind::Cpu)
    }

    fn emulator(&self, need: &Need) -> Result<Kind, Failure> {
        let devices = match &self.devices {
            Devices::Named(numbers) => numbers.len(),
            Devices::First | Devices::All => 1,
        };
        Decomposition::new(need.ny, devices)?;
        let available = Memory::available().limit();
        fits(
            "the emulator",
            "host memory",
            need.emulator(devices),
            available,
        )?;
        let fleet = EmulatedFleet::new(devices);
        self.check_links(&fleet, need.boundary)?;
        Ok(Kind::Emulator(fleet))
    }

    fn cuda(&self, need: &Need) -> Result<Kind, Failure> {
        let wished = |why: &dyn std::fmt::Display| match (self.backend, &self.devices) {
            (BackendWord::Auto, _) => Failure::failed(why),
            (_, Devices::First) => Failure::failed(format!("--backend cuda: {why}")),
            _ => Failure::failed(format!("--devices: {why}")),
        };
        let numbers = match &self.devices {
            Devices::First => vec![0],
            Devices::Named(numbers) => numbers.clone(),
            Devices::All => {
                let listed = list_devices().map_err(|why| wished(&why))?;
                listed.iter().map(|device| device.ordinal).collect()
            }
        };
        let shared = Decomposition::new(need.ny, numbers.len())?;
        let fleet = CudaFleet::keeping(&numbers, |kernel| {
            if need.bytes == size_of::<f32>() {
                launches::<f32>(need.source, kernel)
            } else {
                launches::<f64>(need.source, kernel)
            }
        })
        .map_err(|why| wished(&why))?;
        fits(
            "the host",
            "host memory",
            need.host(),
            Memory::available().limit(),
        )?;
        for (device, number) in numbers.iter().enumerate() {
            let (free, _) = fleet.memory(device)?;
            let needed = need.device(shared.rows(device).len());
            fits(
                "the GPU",
                &format!("memory of device {number}"),
                needed,
                free as u64,
            )?;
        }
        self.check_links(&fleet, need.boundary)?;
        Ok(Kind::Cuda(Box::new(fleet)))
    }

    /// Refuses `--p2p` where two neighbours have no direct link.
    fn check_links(&self, fleet: &impl Fleet, boundary: Boundary) -> Result<(), Failure> {
        if self.p2p != Some(true) {
            return Ok(());
        }
        let last = fleet.devices() - 1;
        let neighbours = |a: usize, b: usize| {
            a.abs_diff(b) == 1 || (a.abs_diff(b) == last && boundary.periodic_rows())
        };
        let missing = fleet
            .links()
            .into_iter()
            .find(|link| !link.direct && neighbours(link.from, link.to));
        match missing {
            None => Ok(()),
            Some(link) => Err(Failure::failed(format!(
                "--p2p: there is no direct link from device {} to device {}; --no-p2p sends through the host",
                fleet.ordinal(link.from),
                fleet.ordinal(link.to)
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
                "--devices {list}: numbers with commas between them (0,2,3), or all, are expected"
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

enum Kind {
    Cpu,
    Cuda(Box<CudaFleet>),
    Emulator(EmulatedFleet),
}

impl Kind {
    fn name(&self) -> String {
        match self {
            Self::Cpu => "the CPU".to_owned(),
            Self::Cuda(fleet) => fleet.device_name(0),
            Self::Emulator(fleet) => fleet.device_name(0),
        }
    }
}

/// Machines that are there.
pub(super) struct Machine {
    kind: Kind,
    /// What `auto` took, and why.
    note: Option<String>,
}

impl Machine {
    /// Devices; 1 for the CPU.
    pub(super) fn devices(&self) -> usize {
        match &self.kind {
            Kind::Cpu => 1,
            Kind::Cuda(fleet) => fleet.devices(),
            Kind::Emulator(fleet) => fleet.devices(),
        }
    }

    /// Puts the start field there. Where `auto` took a GPU whose memory then does not suffice (other
    /// programs take some), the CPU computes.
    pub(super) fn engine<T: GpuReal + Element>(
        self,
        problem: &Problem<T>,
        stopping: Stopping,
        wish: &Wish,
        need: &Need,
    ) -> Result<Ready<T>, Failure> {
        let engine: Box<dyn Engine<T>> = match self.kind {
            Kind::Cpu => Box::new(CpuEngine::new(problem, stopping, wish.time_block)?),
            Kind::Emulator(fleet) => {
                Box::new(FleetEngine::new(fleet, problem, stopping, wish.plan())?)
            }
            Kind::Cuda(fleet) => match FleetEngine::new(*fleet, problem, stopping, wish.plan()) {
                Ok(engine) => Box::new(engine),
                Err(why) if wish.backend == BackendWord::Auto && out_of_memory(&why) => {
                    wish.cpu(need)?;
                    let engine = CpuEngine::new(problem, stopping, wish.time_block)?;
                    return Ok(Ready {
                        engine: Box::new(engine),
                        note: Some(format!("the CPU computes: {why}")),
                    });
                }
                Err(why) => return Err(why.into()),
            },
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
    /// What `auto` took, and why.
    pub(super) note: Option<String>,
}

/// Whether a device's memory did not suffice.
fn out_of_memory(why: &JacobiError) -> bool {
    fn of_gpu(why: &GpuError) -> bool {
        match why {
            GpuError::OnDevice { error, .. } => of_gpu(error),
            GpuError::Cuda(why) => matches!(why, CudaError::OutOfMemory { .. }),
            _ => false,
        }
    }
    matches!(why, JacobiError::Gpu(why) if of_gpu(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_device_without_memory_gives_way() {
        let full = GpuError::Cuda(CudaError::OutOfMemory {
            place: "device",
            what: "the field".to_owned(),
            needed: 2,
            free: 1,
            total: 3,
            call: "cuMemAlloc",
        });
        let error = Box::new(full);
        assert!(out_of_memory(
            &GpuError::OnDevice { device: 1, error }.into()
        ));
        let lost = GpuError::OnDevice {
            device: 1,
            error: Box::new(GpuError::NoDevices),
        };
        assert!(!out_of_memory(&lost.into()));
    }

    #[test]
    fn lists_of_devices_name_each_once() {
        assert_eq!(numbers("3,0, 12").unwrap(), [3, 0, 12]);
        for list in ["", "1,", "1;2", "-1", "1.0", "2,2"] {
            assert!(matches!(numbers(list), Err(Failure::Usage(_))), "{list}");
        }
    }
}
