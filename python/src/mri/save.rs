//! Files of images.

use super::options::unknown;
use crate::detached::detached;
use crate::errors::Failure;
use crate::wording::all_in_python;
use ndarray::Ix5;
use num_complex::Complex;
use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use std::path::PathBuf;
use warpstride::mri::data::{MriImage, Placement};
use warpstride::mri::io::images::{self, NiftiValues};

/// What a file says of an image beside its arrays.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Facts {
    volume: bool,
    recipe: String,
    operator: String,
    method: String,
    backend: String,
    device: String,
    precision: String,
    nifti: String,
    source: String,
    /// Slices, rows, columns, m.
    field_of_view: Option<[f64; 3]>,
    /// Centre, m, and directions of columns, rows and slices.
    placement: Option<([f64; 3], [[f64; 3]; 3])>,
}

/// Writes an image (slice, row, column) with its coil maps (set, coil, slice, row, column) as the
/// command does. Returns what the user should know of the file.
#[pyfunction]
pub(super) fn mri_save(
    py: Python<'_>,
    path: PathBuf,
    image: PyReadonlyArrayDyn<'_, Complex<f64>>,
    maps: Option<PyReadonlyArrayDyn<'_, Complex<f64>>>,
    residuals: PyReadonlyArray1<'_, f64>,
    facts: Facts,
) -> PyResult<Vec<String>> {
    let nifti = match &*facts.nifti {
        "magnitude" => NiftiValues::Magnitude,
        "complex" => NiftiValues::Complex,
        other => return Ok(unknown("nifti", other, "magnitude or complex")?),
    };
    let shape = |why: ndarray::ShapeError| Failure::Internal(why.to_string());
    let coil_maps = maps.map(|maps| maps.as_array().to_owned().into_dimensionality::<Ix5>());
    let image = MriImage {
        image: image
            .as_array()
            .to_owned()
            .into_dimensionality()
            .map_err(shape)?,
        volume: facts.volume,
        index: None,
        placement: facts
            .placement
            .and_then(|(centre, directions)| Placement::new(centre, directions)),
        field_of_view: facts.field_of_view,
        coil_maps: coil_maps.transpose().map_err(shape)?,
        residuals: residuals.as_array().to_vec(),
        recipe: facts.recipe,
        operator: facts.operator,
        method: facts.method,
        backend: facts.backend,
        device: facts.device,
        precision: facts.precision,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        source: facts.source,
    };
    let written = detached(py, || {
        images::write_images(&path, std::slice::from_ref(&image), &[], nifti)
    });
    let written = written.map_err(|why| Failure::unwritten(&why))?;
    Ok(all_in_python(written.notes))
}
