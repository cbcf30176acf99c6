//! The back end of a run, opened once, by trying; and when `auto` falls back to the CPU.

use super::{MemoryEstimate, OutOfMemory};
use crate::system::Memory;
use std::fmt;
use warpstride_cuda::cuda::Kernels;
use warpstride_cuda::gpu::{CudaDevice, Device, EmulatedDevice, GpuError};

/// A back end by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendName {
    /// The GPU if available, else the CPU.
    Auto,
    /// All cores.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// The GPU's kernels, run on the CPU.
    Emulator,
}

impl fmt::Display for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Emulator => "emulator",
        })
    }
}

/// Where a run is to compute, as far as that is known before any work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendRequest {
    backend: BackendName,
    device: Option<usize>,
}

/// A request that contradicts itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Double precision on a GPU whose kernels have none.
    #[error(
        "--backend {backend}: expected --precision f32, found f64 (only --backend cpu computes in f64)"
    )]
    Precision {
        /// The back end asked for.
        backend: BackendName,
    },
    /// A GPU for a back end that uses none.
    #[error("--device {device}: expected --backend cuda, found {backend}")]
    Device {
        /// Number of the GPU.
        device: usize,
        /// The back end asked for.
        backend: BackendName,
    },
}

/// A GPU that was asked for and cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("{option}: {error}")]
pub struct OpenError {
    option: String,
    error: Box<GpuError>,
}

/// An open back end: the CPU, a GPU or the emulator; or, with groups of devices for `C` and `E`,
/// several of them.
pub enum BackendKind<C = CudaDevice, E = EmulatedDevice> {
    /// The CPU.
    Cpu,
    /// A GPU, or a group of them.
    Cuda(Box<C>),
    /// The emulator.
    Emulator(E),
}

impl<C, E> BackendKind<C, E> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> BackendName {
        match self {
            Self::Cpu => BackendName::Cpu,
            Self::Cuda(_) => BackendName::Cuda,
            Self::Emulator(_) => BackendName::Emulator,
        }
    }
}

/// An open back end, and how it was chosen.
pub struct Backend<C = CudaDevice, E = EmulatedDevice> {
    kind: BackendKind<C, E>,
    /// It is a GPU that `auto` chose, so the CPU may take its place.
    optional: bool,
    note: Option<String>,
}

impl BackendRequest {
    /// A request. Naming a GPU asks for it: `auto` is `cuda` then.
    #[must_use]
    pub fn new(backend: BackendName, device: Option<usize>) -> Self {
        let backend = match (backend, device) {
            (BackendName::Auto, Some(_)) => BackendName::Cuda,
            (name, _) => name,
        };
        Self { backend, device }
    }

    /// Checks a request for double or single precision, with kernels that have double precision or
    /// not.
    ///
    /// # Errors
    /// It contradicts itself.
    pub fn check(self, double: bool, kernels_have_f64: bool) -> Result<(), RequestError> {
        let backend = self.backend;
        if backend == BackendName::Auto {
            return Ok(());
        }
        if double && backend != BackendName::Cpu && !kernels_have_f64 {
            return Err(RequestError::Precision { backend });
        }
        if let Some(device) = self.device
            && backend != BackendName::Cuda
        {
            return Err(RequestError::Device { device, backend });
        }
        Ok(())
    }

    /// Opens the back end, with `kernels` on a GPU. With `cpu_only`, the reason why the kernels
    /// cannot do this computation (in double precision, say), `auto` takes the CPU.
    ///
    /// # Errors
    /// The GPU that was asked for cannot be opened.
    pub fn open(
        self,
        cpu_only: Option<&str>,
        kernels: impl FnOnce() -> Kernels,
    ) -> Result<Backend, OpenError> {
        let cuda = || CudaDevice::new(self.device.unwrap_or(0), &kernels()).map(Box::new);
        let emulator = || Ok(EmulatedDevice::new());
        let name = |device: &CudaDevice| device.info().name.clone();
        let opened = Backend::open(self.backend, cpu_only, cuda, emulator, name);
        opened.map_err(|error: GpuError| OpenError {
            option: match self.device {
                Some(device) => format!("--device {device}"),
                None => "--backend cuda".to_owned(),
            },
            error: Box::new(error),
        })
    }
}

impl<C, E> Backend<C, E> {
    /// Opens the back end `requested`; `cuda` and `emulator` open devices, and `name` names those
    /// of `cuda`. If `cuda` fails for `auto`, or `cpu_only` has a reason why it need not be tried,
    /// the CPU takes its place.
    ///
    /// # Errors
    /// Those of `cuda` and `emulator`, if they were asked for.
    pub fn open<X: fmt::Display>(
        requested: BackendName,
        cpu_only: Option<&str>,
        cuda: impl FnOnce() -> Result<Box<C>, X>,
        emulator: impl FnOnce() -> Result<E, X>,
        name: impl FnOnce(&C) -> String,
    ) -> Result<Self, X> {
        let optional = requested == BackendName::Auto;
        let kind = match (requested, cpu_only) {
            (BackendName::Cpu, _) => BackendKind::Cpu,
            (BackendName::Emulator, _) => BackendKind::Emulator(emulator()?),
            (BackendName::Auto, Some(why)) => return Ok(Self::cpu(Some(fallback_note(&why)))),
            (BackendName::Cuda | BackendName::Auto, _) => match cuda() {
                Ok(device) => BackendKind::Cuda(device),
                Err(why) => return fall_back(optional, why).map(|note| Self::cpu(Some(note))),
            },
        };
        let (optional, note) = match &kind {
            BackendKind::Cuda(device) if optional => (
                true,
                Some(format!("computing on the GPU: {}", name(device))),
            ),
            _ => (false, None),
        };
        Ok(Self {
            kind,
            optional,
            note,
        })
    }

    fn cpu(note: Option<String>) -> Self {
        Self {
            kind: BackendKind::Cpu,
            optional: false,
            note,
        }
    }

    /// The back end.
    #[must_use]
    pub fn kind(&self) -> &BackendKind<C, E> {
        &self.kind
    }

    /// Checks the back end. If `check` refuses a GPU that `auto` chose, but not the CPU, the CPU
    /// takes its place.
    ///
    /// # Errors
    /// Those of `check`.
    pub fn checked<X: fmt::Display>(
        self,
        check: impl Fn(&BackendKind<C, E>) -> Result<(), X>,
    ) -> Result<Self, X> {
        match check(&self.kind) {
            Ok(()) => Ok(self),
            Err(why) => {
                let note = fall_back(self.optional, why)?;
                check(&BackendKind::Cpu)?;
                Ok(Self::cpu(Some(note)))
            }
        }
    }

    /// Makes an engine. If that fails in any way on a GPU that `auto` chose (no cuFFT, no memory,
    /// …) and `check_cpu` allows it, the CPU takes its place. Also returns what `auto` chose, and
    /// why.
    ///
    /// # Errors
    /// Those of `make` and `check_cpu`.
    pub fn engine<T, X: fmt::Display>(
        self,
        check_cpu: impl FnOnce() -> Result<(), X>,
        mut make: impl FnMut(BackendKind<C, E>) -> Result<T, X>,
    ) -> Result<EngineChoice<T>, X> {
        match make(self.kind) {
            Ok(engine) => Ok(EngineChoice {
                engine,
                optional: self.optional,
                note: self.note,
            }),
            Err(why) => {
                let note = fall_back(self.optional, why)?;
                check_cpu()?;
                Ok(EngineChoice {
                    engine: make(BackendKind::Cpu)?,
                    optional: false,
                    note: Some(note),
                })
            }
        }
    }
}

impl<C: Device, E: Device> Backend<Vec<C>, Vec<E>> {
    /// The same choice for a further computation, with new queues on the same devices.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn sibling(&self) -> Result<Self, GpuError> {
        let kind = match &self.kind {
            BackendKind::Cpu => BackendKind::Cpu,
            BackendKind::Cuda(devices) => BackendKind::Cuda(Box::new(siblings(devices)?)),
            BackendKind::Emulator(devices) => BackendKind::Emulator(siblings(devices)?),
        };
        Ok(Self {
            kind,
            optional: self.optional,
            note: self.note.clone(),
        })
    }
}

fn siblings<D: Device>(devices: &[D]) -> Result<Vec<D>, GpuError> {
    devices.iter().map(Device::sibling).collect()
}

impl Backend {
    /// Checks that a run of `what` fits; `host` was available before the data were read. If it does
    /// not fit with a GPU that `auto` chose, or the driver does not say how much memory is free
    /// there, the CPU takes its place.
    ///
    /// # Errors
    /// It does not fit, or the driver does not say how much memory is free.
    pub fn fitting<X: From<OutOfMemory> + From<GpuError> + fmt::Display>(
        self,
        what: &'static str,
        estimate: &MemoryEstimate,
        host: Memory,
    ) -> Result<Self, X> {
        self.checked(|kind| {
            match kind {
                BackendKind::Cpu => estimate.check_cpu(what, host)?,
                BackendKind::Emulator(_) => estimate.check_emulator(what, host)?,
                BackendKind::Cuda(device) => {
                    let memory = device.context().memory().map_err(GpuError::from)?;
                    estimate.check_gpu_device(what, memory.free as u64)?;
                    estimate.check_gpu_host(what, host)?;
                }
            }
            Ok(())
        })
    }
}

/// An engine on the back end that was chosen.
pub struct EngineChoice<T> {
    /// The engine.
    pub engine: T,
    /// It computes on a GPU that `auto` chose.
    optional: bool,
    /// What `auto` chose, and why.
    pub note: Option<String>,
}

impl<T> EngineChoice<T> {
    /// Puts an engine on the CPU in the place of one that failed on a GPU that `auto` chose.
    ///
    /// # Errors
    /// The reason of the failure, if the engine is on any other back end.
    pub fn fall_back<X: fmt::Display>(
        &mut self,
        why: X,
        cpu: impl FnOnce(&T) -> T,
    ) -> Result<(), X> {
        self.note = Some(fall_back(self.optional, why)?);
        self.optional = false;
        self.engine = cpu(&self.engine);
        Ok(())
    }
}

/// What a failure means: the note that the CPU takes the place of a GPU that `auto` chose, or else
/// the error. This alone decides when a run falls back.
fn fall_back<X: fmt::Display>(optional: bool, why: X) -> Result<String, X> {
    if optional {
        Ok(fallback_note(&why))
    } else {
        Err(why)
    }
}

fn fallback_note(why: &dyn fmt::Display) -> String {
    format!("falling back to the CPU: {why}")
}

#[cfg(test)]
mod tests;
