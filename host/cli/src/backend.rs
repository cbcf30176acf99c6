//! Back ends as command-line arguments.

use super::args::{BackendArg, KernelBackendArg, KernelBackendArgs};
use super::failure::Failure;
use warpstride::run::{BackendName, BackendRequest, RequestError};

impl From<BackendArg> for BackendName {
    fn from(arg: BackendArg) -> Self {
        match arg {
            BackendArg::Auto => Self::Auto,
            BackendArg::Cpu => Self::Cpu,
            BackendArg::Cuda => Self::Cuda,
            BackendArg::Emulator => Self::Emulator,
        }
    }
}

/// A request that was checked: a contradiction is wrong usage.
pub(crate) fn request(
    backend: BackendArg,
    device: Option<usize>,
    double: bool,
    kernels_have_f64: bool,
) -> Result<BackendRequest, Failure> {
    let request = BackendRequest::new(backend.into(), device);
    let checked: Result<(), RequestError> = request.check(double, kernels_have_f64);
    checked.map_err(Failure::usage)?;
    Ok(request)
}

/// Where the kernels themselves are to run. Naming a GPU asks for it.
pub(crate) fn for_kernels(args: KernelBackendArgs) -> Result<KernelBackendArg, Failure> {
    match (args.backend, args.device) {
        (Some(KernelBackendArg::Emulator), Some(device)) => Err(Failure::usage(format!(
            "--device {device}: expected --backend cuda, found emulator"
        ))),
        (Some(backend), _) => Ok(backend),
        (None, Some(_)) => Ok(KernelBackendArg::Cuda),
        (None, None) => Ok(KernelBackendArg::Auto),
    }
}

/// The option that asks for a GPU, for messages: `--device 1`, or `--backend cuda` if no GPU is
/// named.
pub(crate) fn gpu_option(device: Option<usize>) -> String {
    device.map_or_else(
        || "--backend cuda".to_owned(),
        |device| format!("--device {device}"),
    )
}
