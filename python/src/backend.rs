//! The arguments `backend`, `device` and `devices`.

use crate::errors::Failure;
use pyo3::prelude::*;
use warpstride::cuda::{Kernels, list_devices};
use warpstride::gpu::{CudaDevice, EmulatedDevice};
use warpstride::run::{Backend, BackendKind, BackendName, BackendRequest};

/// The back end of this name.
pub(crate) fn named(backend: &str) -> Result<BackendName, Failure> {
    Ok(match backend {
        "auto" => BackendName::Auto,
        "cpu" => BackendName::Cpu,
        "cuda" => BackendName::Cuda,
        "emulator" => BackendName::Emulator,
        other => {
            return Err(Failure::Data(format!(
                "backend {other:?}: expected auto, cpu, cuda or emulator"
            )));
        }
    })
}

/// The request for a back end by name, in double precision or not, with kernels that have double
/// precision or not.
pub(crate) fn request(
    backend: &str,
    device: Option<usize>,
    double: bool,
    kernels_have_f64: bool,
) -> Result<BackendRequest, Failure> {
    let request = BackendRequest::new(named(backend)?, device);
    request.check(double, kernels_have_f64)?;
    Ok(request)
}

/// The back end of transforms by name; `auto` with the number of a GPU is `cuda`.
#[pyfunction]
fn transform_backend(backend: &str, device: Option<usize>) -> PyResult<String> {
    match (named(backend)?, device) {
        (BackendName::Auto, Some(_)) => Ok(BackendName::Cuda.to_string()),
        (name @ (BackendName::Cpu | BackendName::Emulator), Some(device)) => Err(Failure::Data(
            format!("device {device}: expected backend cuda, found {name}"),
        )
        .into()),
        (name, _) => Ok(name.to_string()),
    }
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(transform_backend, module)?)
}

/// The GPUs that compute.
#[derive(Debug, Clone, FromPyObject)]
pub(crate) enum Devices {
    /// So many emulated ones, or the GPU of this number.
    #[pyo3(transparent)]
    Number(usize),
    /// The GPUs of these numbers.
    #[pyo3(transparent)]
    Numbers(Vec<usize>),
    /// `"all"`.
    #[pyo3(transparent)]
    Word(String),
}

/// A request for one or several devices.
pub(crate) struct GroupRequest {
    backend: BackendName,
    devices: Option<Devices>,
}

impl GroupRequest {
    pub(crate) fn new(backend: &str, devices: Option<Devices>) -> Result<Self, Failure> {
        let backend = match (named(backend)?, &devices) {
            (BackendName::Auto, Some(_)) => BackendName::Cuda,
            (BackendName::Cpu, Some(_)) => {
                return Err(Failure::data(
                    "devices: expected backend cuda or emulator, found cpu",
                ));
            }
            (name, _) => name,
        };
        Ok(Self { backend, devices })
    }

    /// Like [`Self::new`], where one device may be named in the place of several.
    pub(crate) fn with_device(
        backend: &str,
        device: Option<usize>,
        devices: Option<Devices>,
    ) -> Result<Self, Failure> {
        match (device, devices) {
            (Some(_), Some(_)) => Err(Failure::data("device: expected none beside devices")),
            // The back ends that have no numbers refuse it when they are checked.
            (Some(device), None) => match named(backend)? {
                BackendName::Auto | BackendName::Cuda => {
                    Self::new(backend, Some(Devices::Number(device)))
                }
                _ => Self::new(backend, None),
            },
            (None, devices) => Self::new(backend, devices),
        }
    }

    /// Refuses GPUs in double precision, and the number of a device of another back end than
    /// `cuda`, for kernels that have single precision only.
    pub(crate) fn check(&self, device: Option<usize>, double: bool) -> Result<(), Failure> {
        Ok(BackendRequest::new(self.backend, device).check(double, false)?)
    }

    /// Refuses the number of a device of another back end than `cuda`.
    pub(crate) fn check_device(&self, device: Option<usize>) -> Result<(), Failure> {
        Ok(BackendRequest::new(self.backend, device).check(false, true)?)
    }

    /// The back end.
    pub(crate) fn backend(&self) -> BackendName {
        self.backend
    }

    /// The number of the first GPU.
    pub(crate) fn first(&self) -> usize {
        match &self.devices {
            Some(Devices::Number(number)) => *number,
            Some(Devices::Numbers(numbers)) => numbers.first().copied().unwrap_or_default(),
            Some(Devices::Word(_)) | None => 0,
        }
    }

    /// The request for the first of its devices alone.
    pub(crate) fn one(&self) -> Self {
        let number = Devices::Number(self.first());
        let on_gpu = self.devices.is_some() && self.backend != BackendName::Emulator;
        Self {
            backend: self.backend,
            devices: on_gpu.then_some(number),
        }
    }

    /// Whether no devices were asked for.
    pub(crate) fn is_default(&self) -> bool {
        self.devices.is_none()
    }

    /// Refuses GPUs in double precision, for kernels that have single precision only.
    pub(crate) fn check_single(&self, double: bool) -> Result<(), Failure> {
        Ok(BackendRequest::new(self.backend, None).check(double, false)?)
    }

    /// The numbers of the GPUs.
    pub(crate) fn numbers(&self) -> Result<Vec<usize>, Failure> {
        match &self.devices {
            None => Ok(vec![0]),
            Some(Devices::Number(number)) => Ok(vec![*number]),
            Some(Devices::Numbers(numbers)) => Ok(numbers.clone()),
            Some(Devices::Word(word)) if word == "all" => Ok((list_devices()?.iter())
                .map(|device| device.ordinal)
                .collect()),
            Some(Devices::Word(word)) => Err(Failure::Data(format!(
                "devices {word:?}: expected \"all\", a number or a list of numbers"
            ))),
        }
    }

    /// Number of emulated devices.
    pub(crate) fn emulated(&self) -> Result<usize, Failure> {
        match &self.devices {
            None => Ok(1),
            Some(Devices::Number(count)) if (1..=64).contains(count) => Ok(*count),
            Some(_) => Err(Failure::data(
                "devices: expected the number of emulated devices, 1 to 64, with backend emulator",
            )),
        }
    }
}

/// A back end: the CPU, or one or several devices.
pub(crate) type DevicesKind = BackendKind<Vec<CudaDevice>, Vec<EmulatedDevice>>;

/// Opens the back end, with `kernels` on GPUs. With `cpu_only`, the reason why the kernels cannot
/// do this computation, `auto` takes the CPU.
pub(crate) fn open(
    request: &GroupRequest,
    cpu_only: Option<&str>,
    kernels: impl FnOnce() -> Kernels,
) -> Result<Backend<Vec<CudaDevice>, Vec<EmulatedDevice>>, Failure> {
    let cuda = || -> Result<_, Failure> {
        let kernels = kernels();
        let opened = request.numbers()?.into_iter();
        let opened = opened.map(|number| CudaDevice::new(number, &kernels).map_err(Failure::from));
        Ok(Box::new(opened.collect::<Result<Vec<_>, _>>()?))
    };
    let emulator = || -> Result<_, Failure> {
        let devices = 0..request.emulated()?;
        Ok(devices.map(|_| EmulatedDevice::new()).collect())
    };
    let name = |devices: &Vec<CudaDevice>| {
        let names = devices.iter().map(|device| device.info().name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    Backend::open(request.backend(), cpu_only, cuda, emulator, name)
}
