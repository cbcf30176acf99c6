//! Small-angle scattering: models, intensities and fits.

mod data;
mod fit;
mod smearing;

use crate::arrays::{check_memory, stacked};
use crate::backend::{Devices, GroupRequest, open};
use crate::background::Worker;
use crate::errors::Failure;
use crate::gpu::{DeviceArray, IntensitiesOnGpu};
use crate::wording::all_in_python;
use ndarray::ArrayView2;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use smearing::Smearing;
use std::collections::HashSet;
use std::ffi::CString;
use std::time::{Duration, Instant};
use warpstride::run::{BackendKind, Interrupt};
use warpstride::sas::cpu::CpuEngine;
use warpstride::sas::cuda::{kernels, on_cuda_devices, on_emulated_devices};
use warpstride::sas::dispersion::MAX_POINTS;
use warpstride::sas::mesh::MAX_POLYDISPERSE;
use warpstride::sas::{
    Calculation, Definition, Distribution, Engine, Origin, ParameterRow, Points, Polydispersity,
    Precision, Role, SumEngine, Vector, is_unsolved, points, unsolved,
};
use warpstride_kernels::sas::catalogue;

/// A distribution: parameter, shape, mesh points, reach in standard deviations, values with their
/// weights.
type DistributionRow = (
    String,
    String,
    Option<usize>,
    Option<f64>,
    Option<(Vec<f64>, Vec<f64>)>,
);

/// A parameter: name, units, default, least and greatest value, description, whether it may be
/// polydisperse.
type Row = (String, String, f64, f64, f64, String, bool);

/// Where a calculation is done.
#[derive(Debug, Clone, FromPyObject)]
#[pyo3(from_item_all)]
struct BackendOptions {
    backend: String,
    device: Option<usize>,
    devices: Option<Devices>,
    precision: String,
    cutoff: f64,
    /// Whether the model has parameters of magnetism.
    magnetic: bool,
}

impl BackendOptions {
    fn precision(&self) -> Result<Precision, Failure> {
        match &*self.precision {
            "f32" => Ok(Precision::F32),
            "f64" => Ok(Precision::F64),
            other => Err(Failure::Data(format!(
                "precision {other:?}: expected f32 or f64"
            ))),
        }
    }

    /// The engine of a calculation; of a sum, one for each part.
    fn engine(&self, calculation: Calculation) -> Result<Box<dyn Engine>, Failure> {
        let parts = calculation.parts();
        if parts.is_empty() {
            return self.single(calculation);
        }
        let engines = parts.into_iter().map(|part| self.single(part));
        let engines = engines.collect::<Result<Vec<_>, Failure>>()?;
        Ok(Box::new(SumEngine::new(calculation, engines)?))
    }

    fn single(&self, calculation: Calculation) -> Result<Box<dyn Engine>, Failure> {
        let definition = &calculation.definition;
        let mut models = vec![definition.form().info().name];
        models.extend(
            definition
                .structure()
                .map(|structure| structure.info().name),
        );
        let request = GroupRequest::with_device(&self.backend, self.device, self.devices.clone())?;
        request.check_device(self.device)?;
        let backend = open(&request, None, || kernels(&models))?;
        let chosen = backend.engine(
            || Ok(()),
            |kind| -> Result<Box<dyn Engine>, Failure> {
                Ok(match kind {
                    BackendKind::Cpu => Box::new(CpuEngine::new(calculation.clone())),
                    BackendKind::Emulator(devices) => on_emulated_devices(devices, &calculation)?,
                    BackendKind::Cuda(devices) => on_cuda_devices(*devices, &calculation)?,
                })
            },
        )?;
        Ok(chosen.engine)
    }
}

/// Curve or pixels, 1/Å.
fn points(q: Vec<f64>, qy: Option<Vec<f64>>) -> Result<Points, Failure> {
    let Some(qy) = qy else {
        let is_bad = |q: &f64| !(q.is_finite() && *q >= 0.0);
        if let Some(at) = q.iter().position(is_bad) {
            return Err(Failure::Data(format!(
                "q of point {at} (from 0): expected a positive number, found {}",
                q[at]
            )));
        }
        // At 0 a model has a value, or diverges.
        points::listed(q.iter().map(|q| if *q == 0.0 { 1.0 } else { *q }).collect())?;
        return Ok(Points::Curve(q));
    };
    if q.len() != qy.len() || q.is_empty() {
        return Err(Failure::Data(format!(
            "qx and qy: expected as many of both, at least one, found {} and {}",
            q.len(),
            qy.len()
        )));
    }
    if let Some(at) = q
        .iter()
        .zip(&qy)
        .position(|(x, y)| !(x.is_finite() && y.is_finite()))
    {
        return Err(Failure::Data(format!(
            "qx and qy of point {at} (from 0): expected finite numbers, found {} and {}",
            q[at], qy[at]
        )));
    }
    Ok(Points::Pixels { qx: q, qy })
}

/// The shape of a distribution by its name.
fn shape(name: &str) -> Option<Distribution> {
    Some(match name {
        "gaussian" => Distribution::Gaussian,
        "rectangle" => Distribution::Rectangle,
        "uniform" => Distribution::Uniform,
        "lognormal" => Distribution::LogNormal,
        "schulz" => Distribution::Schulz,
        "boltzmann" => Distribution::Boltzmann,
        _ => return None,
    })
}

/// The distribution of a parameter of `definition`; `pixels`: in two dimensions.
fn spread(
    definition: &Definition,
    (name, kind, points, nsigma, pairs): DistributionRow,
    pixels: bool,
) -> Result<Polydispersity, Failure> {
    let refused = |why: String| Err(Failure::Data(why));
    let pairs = pairs.map(|(values, weights)| values.into_iter().zip(weights).collect());
    let Some(distribution) = pairs.map(Distribution::Array).or_else(|| shape(&kind)) else {
        return refused(format!(
            "{name}_pd_type {kind:?}: expected gaussian, rectangle, uniform, lognormal, schulz or boltzmann"
        ));
    };
    let parameter = definition.parameter_index(&name)?;
    let row = definition
        .rows()
        .get(parameter)
        .filter(|row| row.polydisperse);
    let Some(row) = row else {
        return refused(format!(
            "{name}_pd: expected a parameter of {} that can have a distribution, found one that cannot",
            definition.name()
        ));
    };
    if matches!(row.role, Role::Angle(_)) {
        if !pixels {
            return refused(format!(
                "{name}_pd: expected an image (qx, qy), as {name} is an angle, and a curve is averaged over all directions"
            ));
        }
        if matches!(distribution, Distribution::LogNormal | Distribution::Schulz) {
            return refused(format!(
                "{name}_pd_type: expected a distribution of angles, found {kind}, which is one of sizes"
            ));
        }
    }
    let is_given = points.is_some() || nsigma.is_some();
    let (usual_points, usual_nsigma) = distribution.default_mesh();
    let (points, nsigma) = (
        points.unwrap_or(usual_points),
        nsigma.unwrap_or(usual_nsigma),
    );
    let given = matches!(distribution, Distribution::Array(_));
    if !(1..=MAX_POINTS).contains(&points) {
        return refused(format!(
            "{name}_pd_n: expected 1 to {MAX_POINTS} points, found {points}"
        ));
    }
    if !(given || nsigma.is_finite() && nsigma > 0.0) {
        return refused(format!(
            "{name}_pd_nsigma: expected a number above 0, found {nsigma}"
        ));
    }
    Ok(Polydispersity {
        parameter,
        distribution,
        points,
        nsigma,
        is_given,
    })
}

/// The distributions of parameters of `definition`; `pixels`: in two dimensions.
fn spreads(
    definition: &Definition,
    spreads: Vec<DistributionRow>,
    pixels: bool,
) -> Result<Vec<Polydispersity>, Failure> {
    let made = spreads.into_iter().map(|of| spread(definition, of, pixels));
    let made = made.collect::<Result<Vec<_>, Failure>>()?;
    let mut parameters = HashSet::new();
    if !made.iter().all(|of| parameters.insert(of.parameter)) {
        return Err(Failure::data(
            "expected one distribution of each parameter, found two",
        ));
    }
    // Each part of a sum has its own mesh.
    let part = |of: &Polydispersity| definition.rows().get(of.parameter).and_then(|row| row.part);
    for of in &made {
        let count = made.iter().filter(|other| part(other) == part(of)).count();
        if count > MAX_POLYDISPERSE {
            return Err(Failure::Data(format!(
                "expected at most {MAX_POLYDISPERSE} parameters with a distribution, found {count}"
            )));
        }
    }
    Ok(made)
}

/// The model, with parameters of magnetism or without.
fn definition(model: &str, magnetic: bool) -> Result<Definition, Failure> {
    let plain = Definition::parse(model)?;
    if !magnetic {
        return Ok(plain);
    }
    let parameters = plain.rows().len();
    let definition = plain.with_magnetism();
    if definition.rows().len() == parameters {
        return Err(Failure::Data(format!(
            "magnetic: expected a model with scattering length densities, found {model}"
        )));
    }
    Ok(definition)
}

/// A calculation, checked.
fn calculation(
    model: &str,
    (q, qy): (Vec<f64>, Option<Vec<f64>>),
    distributions: Vec<DistributionRow>,
    place: &BackendOptions,
) -> Result<Calculation, Failure> {
    let definition = definition(model, place.magnetic)?;
    place.check_points(qy.is_some())?;
    let polydispersity = spreads(&definition, distributions, qy.is_some())?;
    if !(0.0..1.0).contains(&place.cutoff) {
        return Err(Failure::Data(format!(
            "cutoff: expected a number from 0 to below 1, found {}",
            place.cutoff
        )));
    }
    Ok(Calculation {
        polydispersity,
        cutoff: place.cutoff,
        precision: place.precision()?,
        ..Calculation::new(definition, points(q, qy)?)
    })
}

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
