//! Atomic writing of files whose contents Python makes.

use crate::detached::detached;
use crate::errors::Failure;
use pyo3::prelude::*;
use std::path::PathBuf;
use warpstride::system::{WriteError, atomic_file};

/// Why a file was not written.
enum Unwritten {
    Refused(WriteError),
    /// An exception of what fills it.
    Raised(PyErr),
}

impl From<WriteError> for Unwritten {
    fn from(error: WriteError) -> Self {
        Self::Refused(error)
    }
}

/// Refuses a name that has none of the `endings`, such as `h5` or `nii.gz`.
#[pyfunction]
pub(crate) fn check_ending(path: PathBuf, endings: Vec<String>) -> PyResult<()> {
    let name = path.display().to_string();
    let lower = name.to_lowercase();
    if endings
        .iter()
        .any(|ending| lower.ends_with(&format!(".{ending}")))
    {
        return Ok(());
    }
    let list: Vec<String> = endings.iter().map(|ending| format!(".{ending}")).collect();
    let found = path.extension().map_or_else(
        || "no ending".to_owned(),
        |ending| format!(".{}", ending.to_string_lossy()),
    );
    let text = format!(
        "{name}: expected a name that ends in {}, found {found}",
        list.join(", ")
    );
    Err(Failure::of_file(&path, &text).into())
}

/// Calls `fill` with the path of a temporary file, and gives that the name `path` once it is
/// complete.
#[pyfunction]
fn write_file(py: Python<'_>, path: PathBuf, fill: Py<PyAny>) -> PyResult<()> {
    let written = detached(py, || {
        atomic_file::write(&path, |temporary| {
            Python::attach(|py| fill.call1(py, (temporary.as_os_str(),)).map(drop))
                .map_err(Unwritten::Raised)
        })
    });
    written.map_err(|why| match why {
        Unwritten::Refused(error) => Failure::File(error.to_string()).into(),
        Unwritten::Raised(error) => error,
    })
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_ending, module)?)?;
    module.add_function(wrap_pyfunction!(write_file, module)?)
}
