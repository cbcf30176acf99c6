//! Arrays in the memory of a GPU that belong to other libraries of Python: CuPy, PyTorch, JAX and
//! what else speaks DLPack.

#![expect(
    unsafe_code,
    reason = "other libraries vouch for their memory and streams: the contracts of DLPack and of CUDA's array interface"
)]

mod array;
mod element;
mod jacobi;
mod nufft;
mod ptycho;
mod reconstruct;
mod sas;
mod stream;

pub(crate) use array::DeviceArray;
pub(crate) use ptycho::{FramesOnGpu, Magnitudes, ModelOnGpu};
pub(crate) use sas::IntensitiesOnGpu;

use crate::errors::Failure;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use warpstride::cuda::Kernels;
use warpstride::gpu::CudaDevice;

/// The GPUs that were opened, by their numbers. They stay open: loading kernels takes longer than a
/// transform.
type Opened = Mutex<BTreeMap<usize, Arc<CudaDevice>>>;

/// Those with the kernels of MRI.
static WITH_KERNELS_OF_MRI: Opened = Mutex::new(BTreeMap::new());

/// Those without kernels, for copies and the order of streams.
static WITHOUT_KERNELS: Opened = Mutex::new(BTreeMap::new());

fn opened(list: &Opened, ordinal: usize, kernels: &Kernels) -> Result<Arc<CudaDevice>, Failure> {
    let mut opened = list.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = opened.get(&ordinal) {
        return Ok(Arc::clone(device));
    }
    let device = Arc::new(CudaDevice::new(ordinal, kernels)?);
    opened.insert(ordinal, Arc::clone(&device));
    Ok(device)
}

/// The GPU of this number (from 0) with the kernels of MRI.
fn with_kernels_of_mri(ordinal: usize) -> Result<Arc<CudaDevice>, Failure> {
    opened(
        &WITH_KERNELS_OF_MRI,
        ordinal,
        &warpstride::mri::cuda::kernels(),
    )
}

/// The GPU of this number (from 0) for copies.
fn without_kernels(ordinal: usize) -> Result<Arc<CudaDevice>, Failure> {
    opened(&WITHOUT_KERNELS, ordinal, &Kernels::default())
}

/// Adds the classes of this module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<array::DeviceArray>()?;
    module.add_function(wrap_pyfunction!(jacobi::solve_on_gpu, module)?)?;
    module.add_class::<nufft::DeviceNufft>()?;
    module.add_class::<reconstruct::DeviceMriRun>()
}
