//! The command `warpstride`, which the package installs as a script.

use crate::detached::detached;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// Runs the command line `arguments`, of which the first is the name of the program, and returns
/// its exit code. `executable` is the script that starts it again.
#[pyfunction]
fn run_program(py: Python<'_>, arguments: Vec<OsString>, executable: Option<PathBuf>) -> u8 {
    detached(py, || {
        let code = warpstride_cli::run_with(arguments, executable.as_deref());
        // At the end of a program Rust does this by itself; here it is Python that ends.
        if std::io::stdout().flush().is_err() {
            code.max(1)
        } else {
            code
        }
    })
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_program, module)?)
}
