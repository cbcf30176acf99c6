//! Which machine computes: chosen once, by trying.

use super::args::{BackendWord, KernelBackendWord, KernelMachineTyped, PrecisionWord};
use super::failure::Failure;
use warpstride::cuda::CudaError;
use warpstride::gpu::{CudaMachine, EmulatedMachine, GpuError};
use warpstride::io::{Bytes, Memory};
use warpstride::sas::cuda::needs;

/// Where a run shall be computed, as far as that is known before any work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish {
    backend: BackendWord,
    /// Number of the GPU, where one was typed.
    device: Option<usize>,
}

/// Whose kernels are put on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room<'n> {
    Mri,
    Ptycho,
    /// Scattering of these models.
    Sas(&'n [&'n str]),
    Series,
}

impl Room<'_> {
    fn keeps(self, kernel: &str) -> bool {
        let of = |room: &str| kernel.starts_with(room);
        match self {
            Self::Mri => of("mri_"),
            Self::Ptycho => !["jacobi_", "mri_", "sas_", "series_"].into_iter().any(of),
            Self::Sas(models) => needs(models, kernel),
            Self::Series => of("series_"),
        }
    }

    /// Whether its kernels compute in double precision.
    fn has_f64(self) -> bool {
        matches!(self, Self::Sas(_) | Self::Series)
    }
}

impl Wish {
    /// Who names a GPU wants it: `auto` is `cuda` then.
    pub(crate) fn new(backend: BackendWord, device: Option<usize>) -> Self {
        let backend = match (backend, device) {
            (BackendWord::Auto, Some(_)) => BackendWord::Cuda,
            (word, _) => word,
        };
        Self { backend, device }
    }

    /// Refuses what can never be.
    pub(crate) fn check(self, precision: PrecisionWord, room: Room<'_>) -> Result<(), Failure> {
        let word = match self.backend {
            BackendWord::Auto => return Ok(()),
            BackendWord::Cpu => "cpu",
            BackendWord::Cuda => "cuda",
            BackendWord::Emulator => "emulator",
        };
        if precision == PrecisionWord::F64 && self.backend != BackendWord::Cpu && !room.has_f64() {
            return Err(Failure::usage(format!(
                "--backend {word} computes in f32 only: precision f64 needs --backend cpu"
            )));
        }
        if let Some(device) = self.device
            && self.backend != BackendWord::Cuda
        {
            return Err(Failure::usage(format!(
                "--device {device} is a GPU: it is not used by --backend {word}"
            )));
        }
        Ok(())
    }

    /// Opens the machine.
    pub(crate) fn open(self, precision: PrecisionWord, room: Room<'_>) -> Result<Machine, Failure> {
        let (kind, note) = match self.backend {
            BackendWord::Cpu => (Kind::Cpu, None),
            BackendWord::Emulator => (Kind::Emulator(EmulatedMachine::new()), None),
            BackendWord::Cuda => {
                let machine = self.cuda(room).map_err(|why| {
                    Failure::failed(match self.device {
                        Some(device) => format!("--device {device}: {why}"),
                        None => format!("--backend cuda: {why}"),
                    })
                })?;
                (Kind::Cuda(machine), None)
            }
            BackendWord::Auto if precision == PrecisionWord::F64 && !room.has_f64() => {
                let note = "the CPU computes: the GPU back end has no f64".to_owned();
                (Kind::Cpu, Some(note))
            }
            BackendWord::Auto => match self.cuda(room) {
                Ok(machine) => {
                    let note = format!("the GPU computes: {}", machine.info().name);
                    (Kind::Cuda(machine), Some(note))
                }
                Err(why) => (Kind::Cpu, Some(format!("the CPU computes: {why}"))),
            },
        };
        let optional = self.backend == BackendWord::Auto;
        Ok(Machine {
            kind,
            optional,
            note,
        })
    }

    fn cuda(self, room: Room<'_>) -> Result<Box<CudaMachine>, GpuError> {
        CudaMachine::keeping(self.device.unwrap_or(0), |kernel| room.keeps(kernel)).map(Box::new)
    }
}

/// Where the kernels themselves are to run: who names a GPU wants it.
pub(crate) fn for_kernels(typed: KernelMachineTyped) -> Result<KernelBackendWord, Failure> {
    match (typed.backend, typed.device) {
        (Some(KernelBackendWord::Emulator), Some(device)) => Err(Failure::usage(format!(
            "--device {device} is a GPU: it is not used by --backend emulator"
        ))),
        (Some(word), _) => Ok(word),
        (None, Some(_)) => Ok(KernelBackendWord::Cuda),
        (None, None) => Ok(KernelBackendWord::Auto),
    }
}

/// Which machine there is.
pub(crate) enum Kind {
    Cpu,
    Cuda(Box<CudaMachine>),
    Emulator(EmulatedMachine),
}

/// A machine that is there.
pub(crate) struct Machine {
    pub(crate) kind: Kind,
    /// `auto` chose it.
    pub(crate) optional: bool,
    /// What `auto` took, and why.
    pub(crate) note: Option<String>,
}

/// Bytes that a run takes, on each machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needed {
    pub(crate) cpu: u64,
    pub(crate) gpu_host: u64,
    pub(crate) gpu_device: u64,
    /// How to need less.
    pub(crate) advice: &'static str,
}

impl Needed {
    /// Refuses a run on the CPU that `available` does not hold.
    pub(crate) fn fits_cpu(&self, available: Memory) -> Result<(), Failure> {
        let limit = available.limit();
        fits("the CPU back end", "host", self.cpu, limit, self.advice)
    }
}

impl Machine {
    /// Refuses a run that does not fit; `before` was available on the host before the data were
    /// read. Where `auto` took a GPU that is too small, the CPU computes.
    pub(crate) fn fitting(mut self, needed: &Needed, before: Memory) -> Result<Self, Failure> {
        if let Kind::Cuda(machine) = &self.kind {
            let free = machine.context().memory().map_err(GpuError::from)?.free as u64;
            let who = "the GPU back end";
            match fits(who, "device", needed.gpu_device, free, needed.advice) {
                Err(Failure::Failed(why)) if self.optional => {
                    self.note = Some(format!("the CPU computes: {why}"));
                    self.kind = Kind::Cpu;
                }
                other => other?,
            }
        }
        let (who, host_bytes) = match &self.kind {
            Kind::Cpu => ("the CPU back end", needed.cpu),
            Kind::Cuda(_) => ("the GPU back end", needed.gpu_host),
            Kind::Emulator(_) => (
                "the emulator",
                needed.gpu_host.saturating_add(needed.gpu_device),
            ),
        };
        fits(who, "host", host_bytes, before.limit(), needed.advice)?;
        Ok(self)
    }
}

/// The note that the CPU computes, where a GPU was a choice and its memory did not suffice: other
/// programs take some, and the transforms' share is an estimate. `why` came with `cause`.
pub(crate) fn retreat(
    why: &impl std::fmt::Display,
    cause: Option<&GpuError>,
    optional: bool,
) -> Result<String, Failure> {
    match cause {
        Some(GpuError::Cuda(CudaError::OutOfMemory { .. })) if optional => {
            Ok(format!("the CPU computes: {why}"))
        }
        _ => Err(Failure::failed(why)),
    }
}

fn fits(who: &str, whose: &str, needed: u64, available: u64, advice: &str) -> Result<(), Failure> {
    if needed <= available {
        return Ok(());
    }
    let (needed, available) = (Bytes(u128::from(needed)), Bytes(u128::from(available)));
    Err(Failure::failed(format!(
        "the reconstruction needs {needed} of {whose} memory for {who}, but {available} may be used; {advice}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_precision_and_devices_belong_to_their_machines() {
        let wish = Wish::new;
        assert!(
            wish(BackendWord::Cuda, None)
                .check(PrecisionWord::F64, Room::Ptycho)
                .is_err()
        );
        assert!(
            wish(BackendWord::Auto, None)
                .check(PrecisionWord::F64, Room::Ptycho)
                .is_ok()
        );
        assert!(
            wish(BackendWord::Cpu, Some(0))
                .check(PrecisionWord::F32, Room::Ptycho)
                .is_err()
        );
        assert!(
            wish(BackendWord::Cuda, Some(1))
                .check(PrecisionWord::F32, Room::Ptycho)
                .is_ok()
        );
    }

    #[test]
    fn a_named_device_is_no_suggestion() {
        let wish = Wish::new(BackendWord::Auto, Some(999));
        let Err(Failure::Failed(text)) = wish.open(PrecisionWord::F32, Room::Ptycho) else {
            panic!("there is no such device");
        };
        assert!(text.starts_with("--device 999: "), "{text}");
        assert!(
            Wish::new(BackendWord::Auto, None)
                .open(PrecisionWord::F32, Room::Mri)
                .is_ok()
        );
    }

    #[test]
    fn only_a_chosen_gpu_without_memory_gives_way_to_the_cpu() {
        let full = GpuError::Cuda(CudaError::OutOfMemory {
            place: "device",
            what: "the transforms".to_owned(),
            needed: 2,
            free: 1,
            total: 3,
            call: "cufftPlanMany",
        });
        let note = retreat(&full, Some(&full), true).unwrap();
        assert!(note.contains("the CPU computes"), "{note}");
        assert!(retreat(&full, Some(&full), false).is_err());
        let other = GpuError::TransformSize {
            shape: vec![0, 0],
            batch: 0,
        };
        assert!(retreat(&other, Some(&other), true).is_err());
        assert!(retreat(&other, None, true).is_err());
    }

    #[test]
    fn each_room_has_its_own_kernels() {
        for (kernel, room) in [("mri_direct", Room::Mri), ("exit_wave", Room::Ptycho)] {
            let keepers = [Room::Mri, Room::Ptycho].map(|r| r.keeps(kernel));
            assert_eq!(keepers, [room == Room::Mri, room == Room::Ptycho]);
        }
        assert!(!Room::Ptycho.keeps("jacobi_sweep") && !Room::Mri.keeps("jacobi_sweep"));
        assert!(!Room::Ptycho.keeps("series_heads") && Room::Series.keeps("series_heads"));
        let room = Room::Sas(&["cylinder", "hardsphere"]);
        for kernel in [
            "sas_cylinder_f64",
            "sas_cylinder_2d_f32",
            "sas_hardsphere_f32",
            "sas_smear",
        ] {
            assert!(
                room.keeps(kernel) && !Room::Ptycho.keeps(kernel),
                "{kernel}"
            );
        }
        for kernel in [
            "sas_hollow_cylinder_f64",
            "sas_sphere_f64",
            "mri_direct",
            "exit_wave",
        ] {
            assert!(!room.keeps(kernel), "{kernel}");
        }
        assert!(
            Wish::new(BackendWord::Cuda, None)
                .check(PrecisionWord::F64, room)
                .is_ok()
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_figures() {
        assert!(fits("a", "host", 5, 5, "").is_ok());
        let Err(Failure::Failed(text)) = fits("a", "host", 3 << 30, 1 << 30, "less") else {
            panic!("fits");
        };
        assert!(
            text.contains("3.0 GiB") && text.contains("1.0 GiB"),
            "{text}"
        );
    }
}
