//! The GPUs of the machine, and the self-test.

use crate::background::abandonable;
use crate::detached::detached;
use crate::errors::Failure;
use pyo3::prelude::*;
use serde_json::json;
use warpstride::cuda::list_devices;
use warpstride::gpu::{CudaDevice, Device, EmulatedDevice};
use warpstride::run::BackendName;
use warpstride::selftest;

/// The devices as a JSON document, and the reason why there are none.
#[pyfunction]
fn devices(py: Python<'_>) -> PyResult<(String, Option<String>)> {
    detached(py, || match list_devices() {
        Ok(devices) => Ok((encoded(&devices)?, None)),
        Err(why) => Ok(("[]".to_owned(), Some(why.to_string()))),
    })
}

fn encoded(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|why| Failure::Internal(why.to_string()))
}

/// The results of the self-test as a JSON document.
#[pyfunction]
fn run_selftest(
    py: Python<'_>,
    backend: &str,
    device: Option<usize>,
    only: Vec<String>,
) -> PyResult<String> {
    let name = crate::backend::named(backend)?;
    abandonable(py, move || {
        let cuda = || CudaDevice::new(device.unwrap_or(0), &selftest::kernels());
        let on_cuda = |gpu: &CudaDevice| summary(gpu, selftest::on_cuda(gpu, &only, &mut |_| ()));
        let emulated = || {
            let device = EmulatedDevice::new();
            let results = selftest::on_emulator(&device, &only, &mut |_| ());
            summary(&device, results)
        };
        match name {
            BackendName::Cpu => Err(Failure::data(
                "backend \"cpu\": expected auto, cuda or emulator, which have kernels",
            )),
            BackendName::Cuda => on_cuda(&cuda()?),
            BackendName::Emulator => emulated(),
            BackendName::Auto => match cuda() {
                Ok(gpu) => on_cuda(&gpu),
                Err(_) if device.is_none() => emulated(),
                Err(why) => Err(why.into()),
            },
        }
    })
}

fn summary<M: Device, X: Into<Failure>>(
    device: &M,
    results: Result<Vec<selftest::CaseResult>, X>,
) -> Result<String, Failure> {
    let cases = results.map_err(Into::into)?;
    encoded(&json!({
        "backend": device.backend(),
        "device": device.device_name(),
        "passed": cases.iter().all(|case| case.passed),
        "cases": cases,
    }))
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(devices, module)?)?;
    module.add_function(wrap_pyfunction!(run_selftest, module)?)
}
