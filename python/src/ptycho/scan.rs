//! Scans from files.

use super::recipe::read_options;
use crate::background::abandonable;
use crate::detached::detached;
use crate::errors::Failure;
use crate::wording::{all_in_python, verbatim};
use ndarray::Array3;
use num_complex::Complex;
use numpy::{PyArray2, PyArray3, ToPyArray};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use warpstride::ptycho::ReadOptions;
use warpstride::ptycho::data::{Mask, Scan};
use warpstride::ptycho::io::scan;

/// A scan that was read.
#[pyclass(frozen, module = "warpstride._warpstride")]
pub(super) struct PtychoScan {
    scan: Arc<Scan>,
    options: ReadOptions,
    source: String,
    notes: Vec<String>,
}

impl PtychoScan {
    pub(super) fn scan(&self) -> &Arc<Scan> {
        &self.scan
    }

    /// How it was read.
    pub(super) fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// The file, as given.
    pub(super) fn source(&self) -> &str {
        &self.source
    }
}

#[pymethods]
impl PtychoScan {
    /// Reads a scan as the command does: `options` is the table `data` of a recipe as JSON, which
    /// completes that of the file `recipe`.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        options: &str,
        recipe: Option<PathBuf>,
    ) -> PyResult<Self> {
        let options = read_options(options, recipe.as_deref())?;
        let source = path.display().to_string();
        let as_given = options.clone();
        let read = abandonable(py, move || Ok(scan::read(&path, &options)?))?;
        let notes = read.notes.iter().map(|note| verbatim(note, &source));
        let notes = notes.collect::<Vec<_>>();
        Ok(Self {
            scan: Arc::new(read.scan),
            options: as_given,
            source,
            notes: all_in_python(notes),
        })
    }

    /// Numbers of frames, rows and columns.
    #[getter]
    fn shape(&self) -> [usize; 3] {
        self.scan.shape()
    }

    /// Counts (frame, row, column), copied.
    fn frames<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let frames = self.scan.frames().map_err(Failure::data)?;
        Ok(frames.to_pyarray(py))
    }

    /// Positions (frame, (row, column)), m.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.scan.positions().to_pyarray(py)
    }

    /// Valid pixels (row, column) or (frame, row, column).
    fn mask<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match self.scan.mask() {
            Mask::Shared(mask) => mask.to_pyarray(py).into_any(),
            Mask::PerFrame(mask) => mask.to_pyarray(py).into_any(),
        }
    }

    /// Start probe (mode, row, column) of the file.
    fn probe<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray3<Complex<f64>>>> {
        self.scan
            .probe()
            .map(|probe: &Array3<_>| probe.to_pyarray(py))
    }

    /// Wavelength, distance, pixel (rows, columns), m.
    #[getter]
    fn geometry(&self) -> (f64, f64, [f64; 2]) {
        let of = self.scan.geometry();
        (of.wavelength, of.distance, of.pixel_size)
    }

    /// Whether frames are near fields, and the distance from the focus of a cone beam to the
    /// specimen, m.
    #[getter]
    fn field(&self) -> (bool, Option<f64>) {
        let of = self.scan.geometry();
        (of.is_near_field(), of.focus_to_sample())
    }

    /// Voltage of the electrons, V.
    #[getter]
    fn voltage(&self) -> Option<f64> {
        self.scan.voltage()
    }

    /// Object pixel (row, column), m.
    #[getter]
    fn object_pixel(&self) -> [f64; 2] {
        self.scan.object_pixel()
    }

    /// The file, as given.
    #[getter]
    fn path(&self) -> &str {
        &self.source
    }

    /// What was decided when the file was read.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Writes a CXI file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = detached(py, || scan::write(&path, &self.scan));
        Ok(written.map_err(|why| Failure::unwritten(&why))?)
    }
}
