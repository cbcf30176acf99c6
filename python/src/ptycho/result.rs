//! The result of a reconstruction.

use crate::arrays::single;
use crate::detached::detached;
use crate::errors::Failure;
use ndarray::{Array2, Array3, Axis, concatenate};
use num_complex::Complex;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2, PyReadonlyArray3, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::path::PathBuf;
use warpstride::ptycho::data::{HistoryEntry, Propagation, Reconstruction};
use warpstride::ptycho::io::results::{self, OtherResult};

/// Iteration, engine, Fourier error, exit-wave change, photon error, R, `R_free`, seconds.
pub(super) type Entry = (
    usize,
    String,
    f64,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    f64,
);

pub(super) fn entry(of: HistoryEntry) -> Entry {
    (
        of.iteration,
        of.engine,
        of.err_fourier,
        of.err_exit,
        of.err_phot,
        of.r_factor,
        of.r_free,
        of.seconds,
    )
}

/// Modes or layers (mode, row, column), in the precision of the run.
pub(super) fn complex_array(
    py: Python<'_>,
    values: Array3<Complex<f64>>,
    double: bool,
) -> Bound<'_, PyAny> {
    match double {
        true => values.into_pyarray(py).into_any(),
        false => values.mapv(single).into_pyarray(py).into_any(),
    }
}

/// Shapes, and coefficients.
type Variations<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray2<f64>>);

/// Result of a run.
#[pyclass(frozen, module = "warpstride._warpstride")]
pub(super) struct PtychoResult {
    inner: Reconstruction,
}

impl PtychoResult {
    pub(super) fn new(inner: Reconstruction) -> Self {
        Self { inner }
    }

    pub(super) fn inner(&self) -> &Reconstruction {
        &self.inner
    }
}

#[pymethods]
impl PtychoResult {
    /// Complex transmission (row, column).
    #[getter]
    fn object<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match self.inner.double_precision {
            true => self.inner.object.to_pyarray(py).into_any(),
            false => self
                .inner
                .object
                .map(|v| single(*v))
                .into_pyarray(py)
                .into_any(),
        }
    }

    /// Probe modes (mode, row, column), √photons.
    #[getter]
    fn probe<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        complex_array(py, self.inner.probe.clone(), self.inner.double_precision)
    }

    /// The layers of the object (layer, row, column): its slices, its modes, or the object alone.
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (of, parts) = (&self.inner, &self.inner.parts);
        let first = of.object.view().insert_axis(Axis(0));
        let layers = match (&parts.slices, &parts.object_modes) {
            (Some(stack), _) => stack.slices.clone(),
            (None, Some(modes)) => concatenate(Axis(0), &[first, modes.further.view()])
                .map_err(|why| Failure::Internal(why.to_string()))?,
            (None, None) => first.to_owned(),
        };
        Ok(complex_array(py, layers, of.double_precision))
    }

    /// Share of the power in each mode of the object, and distances from each slice to the next, m.
    #[getter]
    fn layer_facts(&self) -> (Option<Vec<f64>>, Option<Vec<f64>>) {
        let parts = &self.inner.parts;
        (
            parts.object_modes.as_ref().map(|modes| modes.power.clone()),
            parts.slices.as_ref().map(|stack| stack.distances.clone()),
        )
    }

    /// Variations of the first probe mode (variation, row, column), and their coefficients (frame,
    /// variation), √photons.
    fn probe_variations<'py>(&self, py: Python<'py>) -> Option<Variations<'py>> {
        let variable = self.inner.parts.variable_probe.as_ref()?;
        let shapes = complex_array(py, variable.shapes.clone(), self.inner.double_precision);
        Some((shapes, variable.coefficients.to_pyarray(py)))
    }

    /// Background of the detector (row, column), photons.
    fn background<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<f64>>> {
        let detector = self.inner.parts.detector.as_ref()?;
        detector.background.as_ref().map(|of| of.to_pyarray(py))
    }

    /// Fraction of the probe's power in each mode.
    #[getter]
    fn mode_power<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.inner.mode_power.to_pyarray(py).into_any()
    }

    /// Object pixel (row, column), m.
    #[getter]
    fn pixel(&self) -> [f64; 2] {
        self.inner.pixel
    }

    /// Positions (frame, (row, column)), m.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.inner.positions.to_pyarray(py)
    }

    /// First row and column of the window of each frame on the object.
    #[getter]
    fn corners<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<u32>> {
        let corners = &self.inner.corners;
        let array = Array2::from_shape_fn((corners.len(), 2), |(frame, axis)| corners[frame][axis]);
        array.into_pyarray(py)
    }

    /// Factor on the model intensities of each frame.
    #[getter]
    fn frame_scales<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.inner.frame_scales.to_pyarray(py).into_any()
    }

    /// Fluence of each object pixel (row, column), photons.
    #[getter]
    fn fluence<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.inner.fluence.to_pyarray(py)
    }

    /// Metrics of the iterations.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.inner.history.iter().cloned().map(entry))
    }

    /// The resolved recipe, TOML.
    #[getter]
    fn recipe(&self) -> &str {
        &self.inner.recipe
    }

    /// Back end and device.
    #[getter]
    fn setup(&self) -> (&str, &str) {
        (&self.inner.backend, &self.inner.device)
    }

    /// Wavelength and distance to the detector, m.
    #[getter]
    fn geometry(&self) -> (f64, f64) {
        (self.inner.wavelength, self.inner.distance)
    }

    /// Writes the results file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = detached(py, || results::write(&path, &self.inner));
        Ok(written.map_err(|why| Failure::unwritten(&why))?)
    }

    /// Reads a results file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = detached(py, || results::read(&path));
        Ok(Self::new(read.map_err(Failure::from)?))
    }

    /// The result of another program, from its arrays: object, probe (mode, row, column), positions
    /// (frame, 2), m, windows (frame, 2), object pixels, and wavelength, distance, object pixel and
    /// origin, m.
    #[staticmethod]
    fn of_pty_chi(
        py: Python<'_>,
        object: PyReadonlyArray2<'_, Complex<f64>>,
        probe: PyReadonlyArray3<'_, Complex<f64>>,
        positions: PyReadonlyArray2<'_, f64>,
        windows: PyReadonlyArray2<'_, f64>,
        geometry: (f64, f64, [f64; 2], [f64; 2]),
        double: bool,
    ) -> PyResult<Self> {
        let (wavelength, distance, pixel, origin) = geometry;
        let result = OtherResult {
            program: "pty-chi",
            source: "pty-chi".to_owned(),
            object: object.as_array().to_owned(),
            probe: probe.as_array().to_owned(),
            pixel,
            positions: positions.as_array().to_owned(),
            windows: windows.as_array().to_owned(),
            origin,
            wavelength,
            distance,
            propagation: Propagation::FarField,
            double_precision: double,
        };
        let inner = detached(py, || result.into_reconstruction());
        Ok(Self::new(inner.map_err(Failure::data)?))
    }

    /// The result in the bytes of a results file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let unwritten = |why: std::io::Error| Failure::File(why.to_string());
        let folder = tempfile::tempdir().map_err(unwritten)?;
        let path = folder.path().join("result.h5");
        std::fs::write(&path, bytes).map_err(unwritten)?;
        Self::read(py, path)
    }

    /// Pickles the bytes of the results file.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let unwritten = |why: std::io::Error| Failure::File(why.to_string());
        let folder = tempfile::tempdir().map_err(unwritten)?;
        let path = folder.path().join("result.h5");
        self.save(py, path.clone())?;
        let bytes = std::fs::read(&path).map_err(unwritten)?;
        let make = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((make, PyTuple::new(py, [PyBytes::new(py, &bytes)])?))
    }
}
