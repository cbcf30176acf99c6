//! Simulated acquisitions.

use super::options::unknown;
use crate::arrays::{check_memory, single};
use crate::background::abandonable;
use crate::errors::Failure;
use numpy::{IntoPyArray, ToPyArray};
use pyo3::prelude::*;
use warpstride::mri::trajectory::Path;
use warpstride::mri::{SimulateOptions, simulate};

/// A simulated acquisition.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct SimulationOptions {
    trajectory: String,
    matrix: usize,
    spokes: Option<usize>,
    samples: Option<usize>,
    coils: usize,
    snr: Option<f64>,
    volume: bool,
    seed: u64,
}

/// Samples (coil, sample), k (sample, axis), samples of each readout, image (slice, row, column),
/// maps (coil, slice, row, column).
type Simulated<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Vec<usize>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
);

/// Simulates the samples of a phantom.
#[pyfunction]
pub(super) fn mri_simulate<'py>(
    py: Python<'py>,
    options: SimulationOptions,
) -> PyResult<Simulated<'py>> {
    let path = match &*options.trajectory {
        "radial" => Path::Radial,
        "golden" => Path::Golden,
        "spiral" => Path::Spiral,
        other => return Ok(unknown("trajectory", other, "radial, golden or spiral")?),
    };
    let options = SimulateOptions {
        path,
        matrix: options.matrix,
        spokes: options.spokes,
        samples: options.samples,
        coils: options.coils,
        snr: options.snr,
        volume: options.volume,
        seed: options.seed,
    };
    let found = abandonable(py, move || {
        options.check().map_err(Failure::data)?;
        check_memory("the simulation", options.memory())?;
        simulate(&options).map_err(Failure::data)
    })?;
    let readouts = found.kspace.readouts().iter();
    Ok((
        // The samples of files are in single precision.
        found
            .kspace
            .samples()
            .map(|v| single(*v))
            .into_pyarray(py)
            .into_any(),
        found.kspace.trajectory().to_pyarray(py).into_any(),
        readouts.map(|readout| readout.samples.len()).collect(),
        found.truth.image.into_pyarray(py).into_any(),
        found.truth.coil_maps.into_pyarray(py).into_any(),
    ))
}
