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
mod opened;
mod ptycho;
mod reconstruct;
mod sas;
mod stream;

pub(crate) use array::DeviceArray;
pub(crate) use ptycho::{FramesOnGpu, Magnitudes, ModelOnGpu};
pub(crate) use sas::IntensitiesOnGpu;

use opened::{with_kernels_of_mri, without_kernels};
use pyo3::prelude::*;

/// Adds the classes of this module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<array::DeviceArray>()?;
    module.add_function(wrap_pyfunction!(jacobi::solve_on_gpu, module)?)?;
    module.add_class::<nufft::DeviceNufft>()?;
    module.add_class::<reconstruct::DeviceMriRun>()
}
