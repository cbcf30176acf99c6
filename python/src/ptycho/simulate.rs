//! Simulated scans.

use super::recipe::propagation;
use crate::arrays::check_memory;
use crate::background::abandonable;
use crate::errors::Failure;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use warpstride::ptycho::{SimulateOptions, simulate};

/// A simulated scan: frames, positions, (wavelength, distance, pixel), object, probe.
type Simulated<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    (f64, f64, [f64; 2]),
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
);

/// What does not fit, for messages.
const WHAT: &str = "the simulation";

/// Simulates a scan of a specimen.
#[pyfunction]
pub(super) fn simulate_scan(
    py: Python<'_>,
    frame: usize,
    positions: usize,
    photons: f64,
    seed: u64,
    near_field: bool,
    focus_to_sample: Option<f64>,
) -> PyResult<Simulated<'_>> {
    let options = SimulateOptions {
        frame,
        positions,
        photons,
        seed,
        propagation: propagation(near_field, focus_to_sample)?,
        ..SimulateOptions::default()
    };
    let scan = abandonable(py, move || {
        options.check().map_err(Failure::data)?;
        check_memory(WHAT, options.memory() as u128)?;
        let object = options.object_memory().map_err(Failure::data)?;
        check_memory(WHAT, options.memory().saturating_add(object) as u128)?;
        simulate(&options).map_err(Failure::data)
    })?;
    let frames = scan.frames().map_err(Failure::data)?.to_owned();
    let geometry = scan.geometry();
    let Some(truth) = scan.simulation() else {
        return Err(Failure::Internal("a simulated scan has no truth".to_owned()).into());
    };
    Ok((
        frames.into_pyarray(py).into_any(),
        scan.positions().clone().into_pyarray(py).into_any(),
        (geometry.wavelength, geometry.distance, geometry.pixel_size),
        truth.object.clone().into_pyarray(py).into_any(),
        truth.probe.clone().into_pyarray(py).into_any(),
    ))
}
