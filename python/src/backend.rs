//! The arguments `backend` and `device`.

use crate::errors::Failure;
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
