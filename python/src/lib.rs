//! The extension module of the Python package `warpstride`: numbers in and out of the library.
//!
//! What users call is written in Python, in the folder `warpstride`; this module has what needs
//! Rust. It computes on threads of its own while other Python threads run (`background`), and
//! raises three exceptions (`errors`).

mod arrays;
mod backend;
mod background;
mod detached;
mod devices;
mod errors;
mod files;
mod gpu;
mod jacobi;
mod mri;
mod program;
mod ptycho;
mod sas;
mod series;
mod wording;

use pyo3::prelude::*;

/// The extension module.
#[pymodule(name = "_warpstride")]
fn warpstride_python(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("DataError", py.get_type::<errors::DataError>())?;
    module.add("DeviceError", py.get_type::<errors::DeviceError>())?;
    module.add(
        "OutOfMemoryError",
        py.get_type::<errors::OutOfMemoryError>(),
    )?;
    module.add("ForkError", py.get_type::<errors::ForkError>())?;
    // NumPy's table of functions is looked up with the first array; a signal in the middle of that
    // would be a panic.
    numpy::PyArray1::<f64>::zeros(py, 0, false);
    program::add_to(module)?;
    backend::add_to(module)?;
    detached::add_to(module)?;
    devices::add_to(module)?;
    files::add_to(module)?;
    gpu::add_to(module)?;
    jacobi::add_to(module)?;
    mri::add_to(module)?;
    ptycho::add_to(module)?;
    sas::add_to(module)?;
    series::add_to(module)?;
    wording::add_to(module)
}
