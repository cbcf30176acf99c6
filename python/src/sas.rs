//! Small-angle scattering: models, intensities and fits.

mod calculation;
mod data;
mod fit;
mod smearing;

use crate::arrays::{check_memory, stacked};
use crate::background::Worker;
use crate::errors::Failure;
use crate::gpu::{DeviceArray, IntensitiesOnGpu};
use crate::wording::all_in_python;
use calculation::{BackendOptions, DistributionRow, calculation, definition};
use ndarray::ArrayView2;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use smearing::Smearing;
use std::ffi::CString;
use std::time::{Duration, Instant};
use warpstride::run::Interrupt;
use warpstride::sas::{Calculation, Engine, Origin, ParameterRow, Vector, is_unsolved, unsolved};
use warpstride_kernels::sas::catalogue;

/// A parameter: name, units, default, least and greatest value, description, whether it may be
/// polydisperse.
type Row = (String, String, f64, f64, f64, String, bool);

/// Names of all models.
#[pyfunction]
fn sas_models() -> Vec<&'static str> {
    catalogue::models()
        .iter()
        .map(|model| model.info().name)
        .collect()
}

/// The parameters of a model.
#[pyfunction]
fn sas_parameters(model: &str, magnetic: bool) -> PyResult<Vec<Row>> {
    let definition = definition(model, magnetic)?;
    let row = |row: &ParameterRow| {
        (
            row.name.clone(),
            row.units.to_owned(),
            row.default,
            row.limits.0,
            row.limits.1,
            row.about.to_owned(),
            row.polydisperse,
        )
    };
    Ok(definition.rows().iter().map(row).collect())
}

/// Names of the parameters that magnetism adds to a model.
#[pyfunction]
fn sas_magnetic_names(model: &str) -> PyResult<Vec<String>> {
    let plain = definition(model, false)?;
    let parameters = plain.rows().len();
    let magnetic = plain.clone().with_magnetism();
    // Those of a sum lie between others.
    let mut names: Vec<String> = magnetic.rows().iter().map(|row| row.name.clone()).collect();
    if names.len() > parameters {
        names.retain(|name| plain.parameter_index(name).is_err());
    } else {
        names.clear();
    }
    Ok(names)
}

/// A model at points: a thread with the engine.
#[pyclass(frozen, module = "warpstride._warpstride")]
struct SasEngine {
    worker: Worker<Box<dyn Engine>>,
    calculation: Calculation,
    origin: Origin,
    points: usize,
    device: Option<usize>,
    setup: String,
}

#[pymethods]
impl SasEngine {
    #[new]
    fn new(
        py: Python<'_>,
        model: &str,
        q: PyReadonlyArray1<'_, f64>,
        qy: Option<PyReadonlyArray1<'_, f64>>,
        distributions: Vec<DistributionRow>,
        place: BackendOptions,
        smearing: Option<Smearing<'_>>,
    ) -> PyResult<Self> {
        let q = (q.as_array().to_vec(), qy.map(|qy| qy.as_array().to_vec()));
        let mut calculation = calculation(model, q, distributions, &place)?;
        if let Some(smearing) = smearing {
            calculation.resolution = Some(smearing.resolution(&calculation.points)?);
        }
        let points = calculation.points.len();
        let (made, device) = (calculation.clone(), place.device);
        let worker = Worker::start(py, move || place.engine(made))?;
        let setup = worker.call(py, |engine, _| Ok(engine.setup().to_string()))?;
        Ok(Self {
            worker,
            origin: Origin::of(&calculation),
            calculation,
            points,
            device,
            setup,
        })
    }

    /// Back end, device and precision.
    #[getter]
    fn setup(&self) -> &str {
        &self.setup
    }

    /// Indices of parameters (vector, parameter) for which the structure factor has no solution,
    /// and the sentence about it.
    fn unsolved(
        &self,
        values: PyReadonlyArray2<'_, f64>,
        widths: PyReadonlyArray2<'_, f64>,
    ) -> (Vec<usize>, String) {
        let vectors = vectors(values.as_array(), widths.as_array());
        let found = vectors.iter().enumerate();
        let found = found.filter(|(_, vector)| is_unsolved(&self.calculation, vector));
        (
            found.map(|(at, _)| at).collect(),
            unsolved(&self.calculation),
        )
    }

    /// Intensities (vector, point), 1/cm, of parameters (vector, parameter) and widths (vector,
    /// distribution). After a signal the vectors that are being computed are left to themselves,
    /// and the engine cannot be used again.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray2<'_, f64>,
        widths: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let sets = values.as_array().nrows();
        // The intensities of each set, and the array of all.
        let bytes = 2 * size_of::<f64>() as u128 * sets as u128 * self.points as u128;
        let what = format!("a batch of {sets} sets at {} points", self.points);
        check_memory(&what, bytes)?;
        let vectors = vectors(values.as_array(), widths.as_array());
        self.warn(py, &vectors)?;
        let (points, origin) = (self.points, self.origin.clone());
        let computed = self.worker.call_or_leave(py, move |engine, interrupt| {
            let computed = in_parts(&vectors, engine.batch(), interrupt, |part| {
                Ok(engine.evaluate(part)?)
            })?;
            let mut computed = computed.concat();
            for (vector, intensity) in vectors.iter().zip(&mut computed) {
                origin.make_infinite(vector, intensity);
            }
            stacked(computed, points)
        })?;
        Ok(computed.into_pyarray(py).into_any())
    }

    /// Like `evaluate`, in the memory of the GPU that computes; `None` on other back ends and for
    /// sums of models.
    fn evaluate_on_gpu(
        &self,
        py: Python<'_>,
        values: PyReadonlyArray2<'_, f64>,
        widths: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Option<DeviceArray>> {
        let vectors = vectors(values.as_array(), widths.as_array());
        self.warn(py, &vectors)?;
        let (points, ordinal) = (self.points, self.device.unwrap_or(0));
        let computed = self.worker.call(py, move |engine, interrupt| {
            if engine.setup().backend != "cuda" {
                return Ok(None);
            }
            let mut intensities = IntensitiesOnGpu::new(ordinal, [vectors.len(), points])?;
            let mut done = 0;
            let evaluated = in_parts(&vectors, engine.batch(), interrupt, |part| {
                let written = engine.evaluate_to(part, &mut intensities.buffer, done * points)?;
                done += part.len();
                Ok(written)
            })?;
            let all = evaluated.into_iter().all(|written| written);
            Ok(all.then_some(intensities))
        })?;
        Ok(computed.map(IntensitiesOnGpu::array))
    }
}

impl SasEngine {
    /// Warns of distributions of which limits or mesh miss a part, at the first vector.
    fn warn(&self, py: Python<'_>, vectors: &[Vector]) -> PyResult<()> {
        let first = vectors.iter().take(1);
        let notes = first.flat_map(|vector| self.calculation.notes_on_distributions(vector));
        for note in all_in_python(notes) {
            let text = CString::new(note)?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)?;
        }
        Ok(())
    }
}

/// Calls `evaluate` with some of the vectors after the others until a request to stop, which is
/// seen between the calls. They become as large as their time permits.
fn in_parts<R>(
    vectors: &[Vector],
    first: usize,
    interrupt: &Interrupt,
    mut evaluate: impl FnMut(&[Vector]) -> Result<R, Failure>,
) -> Result<Vec<R>, Failure> {
    let (mut part, mut rest) = (first.max(1), vectors);
    let mut computed = Vec::new();
    while !(rest.is_empty() || interrupt.requested()) {
        let begun = Instant::now();
        let (now, later) = rest.split_at(part.min(rest.len()));
        computed.push(evaluate(now)?);
        rest = later;
        if begun.elapsed() < CALL {
            part = part.saturating_mul(2);
        }
    }
    Ok(computed)
}

/// A call that takes less is followed by one of twice as many vectors.
const CALL: Duration = Duration::from_millis(30);

fn vectors(values: ArrayView2<'_, f64>, widths: ArrayView2<'_, f64>) -> Vec<Vector> {
    let rows = values.rows().into_iter().zip(widths.rows());
    rows.map(|(values, widths)| Vector {
        values: values.to_vec(),
        widths: widths.to_vec(),
    })
    .collect()
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SasEngine>()?;
    module.add_function(wrap_pyfunction!(sas_models, module)?)?;
    module.add_function(wrap_pyfunction!(sas_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(data::sas_read, module)?)?;
    module.add_function(wrap_pyfunction!(smearing::sas_diameter, module)?)?;
    module.add_function(wrap_pyfunction!(sas_magnetic_names, module)?)?;
    module.add_function(wrap_pyfunction!(fit::sas_fit, module)?)
}
