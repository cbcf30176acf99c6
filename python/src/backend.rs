//! The arguments `backend`, `device` and `devices`.

use crate::errors::Failure;
use pyo3::prelude::*;
use warpstride::cuda::list_devices;
use warpstride::run::{BackendName, BackendRequest};

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

/// The request for a back end by name, in double precision or not, with kernels that have double precision or not.
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

    /// The back end.
    pub(crate) fn backend(&self) -> BackendName {
        self.backend
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
