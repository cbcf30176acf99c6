//! One or several devices of this host, each opened on its own, by trying.

use super::args::{BackendArg, DevicesArgs};
use super::device_list::DeviceList;
use super::failure::Failure;
use warpstride::cuda::{CudaError, Kernels};
use warpstride::gpu::{CudaDevice, EmulatedDevice, GpuError};
use warpstride::run::{Backend, BackendName, BackendRequest};

/// An open back end: the CPU, or one or several devices.
pub(crate) type DevicesBackend = Backend<Vec<CudaDevice>, Vec<EmulatedDevice>>;

/// Where to compute, checked.
#[derive(Debug, Clone)]
pub(crate) struct DevicesRequest {
    backend: BackendName,
    /// `--device`.
    device: Option<usize>,
    devices: DeviceList,
}

impl DevicesRequest {
    /// Refuses options that contradict each other, for double or single precision, with kernels
    /// that have double precision or not. Naming a GPU turns `auto` into `cuda`.
    pub(crate) fn from_args(
        args: &DevicesArgs,
        double: bool,
        kernels_have_f64: bool,
    ) -> Result<Self, Failure> {
        let device = args.backend.device;
        let devices = DeviceList::from_arg(args.devices.as_deref())?;
        let several = devices != DeviceList::First;
        let backend = match args.backend.backend {
            BackendArg::Cpu if several => {
                return Err(Failure::usage(
                    "--devices: expected --backend cuda or emulator, found --backend cpu",
                ));
            }
            BackendArg::Auto if several || device.is_some() => BackendName::Cuda,
            backend => backend.into(),
        };
        if backend == BackendName::Emulator {
            devices.check_emulated()?;
        }
        let checked = BackendRequest::new(backend, device).check(double, kernels_have_f64);
        checked.map_err(Failure::usage)?;
        Ok(Self {
            backend,
            device,
            devices,
        })
    }

    /// Whether a GPU, or the emulator, may compute.
    #[cfg(all(feature = "ptycho", feature = "hdf5"))]
    pub(crate) fn may_take_device(&self) -> bool {
        self.backend != BackendName::Cpu
    }

    /// The request of one of several processes on this host: each takes the GPU of its number
    /// there, unless one was named.
    #[cfg(all(feature = "ptycho", feature = "hdf5"))]
    pub(crate) fn for_rank(&self, ranks: &warpstride::ptycho::Ranks) -> Self {
        let mut own = self.clone();
        let gpus = matches!(self.backend, BackendName::Auto | BackendName::Cuda);
        let unnamed = self.device.is_none() && self.devices == DeviceList::First;
        if ranks.size() > 1
            && gpus
            && unnamed
            && let Ok(listed) = warpstride::cuda::list_devices()
            && !listed.is_empty()
        {
            own.device = Some(listed[ranks.local_rank() % listed.len()].ordinal);
        }
        own
    }

    /// The request of the first of several devices.
    #[cfg(all(feature = "ptycho", feature = "hdf5"))]
    pub(crate) fn first(&self) -> Self {
        let first = match &self.devices {
            DeviceList::Named(numbers) if self.backend != BackendName::Emulator => {
                numbers.first().copied()
            }
            _ => None,
        };
        Self {
            backend: self.backend,
            device: self.device.or(first),
            devices: DeviceList::First,
        }
    }

    /// Opens the back end, with `kernels` on GPUs. With `cpu_only`, the reason why the kernels
    /// cannot do this computation, `auto` takes the CPU.
    pub(crate) fn open(
        &self,
        cpu_only: Option<&str>,
        kernels: impl FnOnce() -> Kernels,
    ) -> Result<DevicesBackend, Failure> {
        let cuda = || self.cuda(&kernels()).map(Box::new);
        let emulator = || {
            let devices = 0..self.devices.emulated();
            Ok(devices.map(|_| EmulatedDevice::new()).collect())
        };
        let name = |devices: &Vec<CudaDevice>| {
            let names = devices.iter().map(|device| device.info().name.as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        let opened = Backend::open(self.backend, cpu_only, cuda, emulator, name);
        opened.map_err(|why: String| Failure::failed(format!("{}: {why}", self.option())))
    }

    /// Opens the GPUs, or says why not.
    fn cuda(&self, kernels: &Kernels) -> Result<Vec<CudaDevice>, String> {
        let numbers = match self.device {
            Some(device) => vec![device],
            None => self.devices.numbers().map_err(|why| why.to_string())?,
        };
        let several = self.devices != DeviceList::First;
        let open = |number: usize| {
            let opened = CudaDevice::new(number, kernels).map_err(|why| match why {
                // These errors are complete without the name of a device.
                GpuError::Cuda(
                    CudaError::Ordinal { .. } | CudaError::NoDriver { .. } | CudaError::NoDevice,
                ) => why,
                why if several => why.on(number),
                why => why,
            });
            opened.map_err(|why| why.to_string())
        };
        numbers.into_iter().map(open).collect()
    }

    /// The option that asks for a GPU, for messages.
    fn option(&self) -> String {
        match (self.device, &self.devices) {
            (Some(device), _) => format!("--device {device}"),
            (None, DeviceList::First) => "--backend cuda".to_owned(),
            (None, devices) => devices.to_string(),
        }
    }
}
