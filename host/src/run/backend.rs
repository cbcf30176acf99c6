//! The back end of a run, opened once, by trying; and when `auto` falls back to the CPU.

use super::{MemoryEstimate, OutOfMemory};
use crate::cuda::Kernels;
use crate::gpu::{CudaDevice, EmulatedDevice, GpuError};
use crate::system::Memory;
use std::fmt;

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

/// An open back end.
pub enum BackendKind {
    /// The CPU.
    Cpu,
    /// A GPU.
    Cuda(Box<CudaDevice>),
    /// The emulator.
    Emulator(EmulatedDevice),
}

/// An open back end, and how it was chosen.
pub struct Backend {
    kind: BackendKind,
    /// `auto` chose it, so the CPU may take its place.
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

    /// Checks a request for double or single precision, with kernels that have double precision or not.
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

    /// Opens the back end, with `kernels` on a GPU. With `cpu_only`, the reason why the kernels cannot do this
    /// computation (in double precision, say), `auto` takes the CPU.
    ///
    /// # Errors
    /// The GPU that was asked for cannot be opened.
    pub fn open(
        self,
        cpu_only: Option<&str>,
        kernels: impl FnOnce() -> Kernels,
    ) -> Result<Backend, OpenError> {
        let cuda = || CudaDevice::new(self.device.unwrap_or(0), &kernels()).map(Box::new);
        let optional = self.backend == BackendName::Auto;
        let (kind, note) = match (self.backend, cpu_only) {
            (BackendName::Cpu, _) => (BackendKind::Cpu, None),
            (BackendName::Emulator, _) => (BackendKind::Emulator(EmulatedDevice::new()), None),
            (BackendName::Cuda, _) => {
                let device = cuda().map_err(|error| OpenError {
                    option: match self.device {
                        Some(device) => format!("--device {device}"),
                        None => "--backend cuda".to_owned(),
                    },
                    error: Box::new(error),
                })?;
                (BackendKind::Cuda(device), None)
            }
            (BackendName::Auto, Some(why)) => (BackendKind::Cpu, Some(fallback_note(&why))),
            (BackendName::Auto, None) => match cuda() {
                Ok(device) => {
                    let note = format!("computing on the GPU: {}", device.info().name);
                    (BackendKind::Cuda(device), Some(note))
                }
                Err(why) => (BackendKind::Cpu, Some(fallback_note(&why))),
            },
        };
        Ok(Backend {
            kind,
            optional,
            note,
        })
    }
}

impl Backend {
    /// Checks that a run of `what` fits; `host` was available before the data were read. If it does not fit with a
    /// GPU that `auto` chose, or the driver does not say how much memory is free there, the CPU takes its place.
    ///
    /// # Errors
    /// It does not fit, or the driver does not say how much memory is free.
    pub fn fitting<X: From<OutOfMemory> + From<GpuError> + fmt::Display>(
        self,
        what: &'static str,
        estimate: &MemoryEstimate,
        host: Memory,
    ) -> Result<Self, X> {
        let fits = match &self.kind {
            BackendKind::Cpu => estimate.check_cpu(what, host).map_err(X::from),
            BackendKind::Emulator(_) => estimate.check_emulator(what, host).map_err(X::from),
            BackendKind::Cuda(device) => match device.context().memory() {
                Ok(memory) => estimate
                    .check_gpu_device(what, memory.free as u64)
                    .and_then(|()| estimate.check_gpu_host(what, host))
                    .map_err(X::from),
                Err(why) => Err(GpuError::from(why).into()),
            },
        };
        match fits {
            Err(why) if self.optional => {
                estimate.check_cpu(what, host)?;
                Ok(Self {
                    kind: BackendKind::Cpu,
                    note: Some(fallback_note(&why)),
                    optional: false,
                })
            }
            fits => fits.map(|()| self),
        }
    }

    /// Makes an engine. If that fails in any way on a GPU that `auto` chose (no cuFFT, no memory, …) and `check_cpu`
    /// allows it, the CPU takes its place. Also returns what `auto` chose, and why.
    ///
    /// # Errors
    /// Those of `make` and `check_cpu`.
    pub fn engine<E, X: fmt::Display>(
        self,
        check_cpu: impl FnOnce() -> Result<(), X>,
        make: impl FnMut(BackendKind) -> Result<E, X>,
    ) -> Result<Made<E>, X> {
        let on_gpu = matches!(self.kind, BackendKind::Cuda(_));
        self.engine_on(on_gpu, check_cpu, make)
    }

    fn engine_on<E, X: fmt::Display>(
        self,
        on_gpu: bool,
        check_cpu: impl FnOnce() -> Result<(), X>,
        mut make: impl FnMut(BackendKind) -> Result<E, X>,
    ) -> Result<Made<E>, X> {
        match make(self.kind) {
            Err(why) if on_gpu && self.optional => {
                check_cpu()?;
                Ok(Made {
                    engine: make(BackendKind::Cpu)?,
                    optional: false,
                    note: Some(fallback_note(&why)),
                })
            }
            made => Ok(Made {
                engine: made?,
                optional: on_gpu && self.optional,
                note: self.note,
            }),
        }
    }
}

/// An engine on the back end that was chosen.
pub struct Made<E> {
    /// The engine.
    pub engine: E,
    /// It computes on a GPU that `auto` chose.
    pub optional: bool,
    /// What `auto` chose, and why.
    pub note: Option<String>,
}

/// The note for the user when `auto` falls back to the CPU.
#[must_use]
pub fn fallback_note(why: &dyn fmt::Display) -> String {
    format!("falling back to the CPU: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_precision_and_devices_belong_to_their_back_ends() {
        let request = BackendRequest::new;
        assert!(request(BackendName::Cuda, None).check(true, false).is_err());
        assert!(request(BackendName::Cuda, None).check(true, true).is_ok());
        assert!(request(BackendName::Auto, None).check(true, false).is_ok());
        assert!(
            request(BackendName::Cuda, Some(1))
                .check(false, false)
                .is_ok()
        );
        let error = request(BackendName::Cpu, Some(0)).check(false, false);
        assert_eq!(
            error.unwrap_err().to_string(),
            "--device 0: expected --backend cuda, found cpu"
        );
    }

    #[test]
    fn a_named_device_never_falls_back() {
        let request = BackendRequest::new(BackendName::Auto, Some(999));
        let Err(error) = request.open(None, Kernels::default) else {
            panic!("there is no such device");
        };
        let text = error.to_string();
        assert!(text.starts_with("--device 999: "), "{text}");
        let auto = BackendRequest::new(BackendName::Auto, None);
        assert!(auto.open(None, Kernels::default).is_ok());
    }

    #[test]
    fn what_does_not_fit_with_a_chosen_back_end_is_tried_on_the_cpu() {
        let estimate = MemoryEstimate {
            cpu: 10,
            gpu_host: 10,
            gpu_device: 10,
            advice: "take less",
        };
        let fitting = |optional, bytes| {
            let backend = Backend {
                kind: BackendKind::Emulator(EmulatedDevice::new()),
                optional,
                note: None,
            };
            let host = Memory::limited(bytes);
            let fitting = backend.fitting::<GpuOrMemory>("the run", &estimate, host);
            fitting.map(|backend| (matches!(backend.kind, BackendKind::Cpu), backend.note))
        };
        let chosen = fitting(true, 20).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(chosen, (false, None));
        let (on_cpu, note) = fitting(true, 15).unwrap_or_else(|error| panic!("{error}"));
        assert!(on_cpu);
        let note = note.unwrap();
        assert!(
            note.starts_with("falling back to the CPU: the run needs"),
            "{note}"
        );
        assert!(fitting(true, 5).is_err());
        assert!(fitting(false, 15).is_err());
    }

    #[derive(Debug, thiserror::Error)]
    enum GpuOrMemory {
        #[error(transparent)]
        Gpu(#[from] GpuError),
        #[error(transparent)]
        Memory(#[from] OutOfMemory),
    }

    /// A back end whose GPU is stood in for by the emulator.
    fn made(optional: bool, cpu_fits: bool) -> Result<Made<&'static str>, String> {
        let backend = Backend {
            kind: BackendKind::Emulator(EmulatedDevice::new()),
            optional,
            note: None,
        };
        // What `engine` does for a GPU, with the kind that no machine without one can make.
        let failing = |kind: BackendKind| match kind {
            BackendKind::Cpu => Ok("cpu"),
            _ => Err("cuFFT: no library found".to_owned()),
        };
        let on_gpu = true;
        backend.engine_on(
            on_gpu,
            || {
                if cpu_fits {
                    Ok(())
                } else {
                    Err("the CPU lacks memory".to_owned())
                }
            },
            failing,
        )
    }

    #[test]
    fn any_failure_of_a_chosen_gpu_falls_back_to_the_cpu() {
        let made_on_cpu = made(true, true).unwrap();
        assert_eq!((made_on_cpu.engine, made_on_cpu.optional), ("cpu", false));
        assert_eq!(
            made_on_cpu.note.unwrap(),
            "falling back to the CPU: cuFFT: no library found"
        );
        assert_eq!(made(true, false).err().unwrap(), "the CPU lacks memory");
        assert_eq!(made(false, true).err().unwrap(), "cuFFT: no library found");
    }
}
