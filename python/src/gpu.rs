//! Arrays in the memory of a GPU that belong to other libraries of Python: CuPy, PyTorch, JAX and what else speaks DLPack.

#![expect(
    unsafe_code,
    reason = "other libraries vouch for their memory and streams: the contracts of DLPack and of CUDA's array interface"
)]

mod array;
mod element;
mod nufft;
mod stream;

use crate::errors::Failure;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use warpstride::gpu::CudaDevice;

/// The GPUs that were opened, with the kernels of MRI. They stay open: loading the kernels takes longer than a transform.
static OPENED: Mutex<BTreeMap<usize, Arc<CudaDevice>>> = Mutex::new(BTreeMap::new());

/// The GPU of this number (from 0) with the kernels of MRI.
fn with_kernels_of_mri(ordinal: usize) -> Result<Arc<CudaDevice>, Failure> {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = opened.get(&ordinal) {
        return Ok(Arc::clone(device));
    }
    let device = Arc::new(CudaDevice::new(ordinal, &warpstride::mri::cuda::kernels())?);
    opened.insert(ordinal, Arc::clone(&device));
    Ok(device)
}

/// Adds the classes of this module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<array::DeviceArray>()?;
    module.add_class::<nufft::DeviceNufft>()
}
