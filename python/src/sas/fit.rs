//! Fits of models to data.

use super::{BackendOptions, DistributionRow, calculation};
use crate::background::interruptible;
use crate::errors::Failure;
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use warpstride::data::{Curve, Scattering, ScatteringImage, Smearing};
use warpstride::run::{Interrupt, Steps};
use warpstride::sas::fit::{Fit, Free, Measured, Method, Options, Problem, Selection, Weighting};
use warpstride::sas::io::ReadOptions;
use warpstride::sas::{Resolution, Vector};

/// Measured intensities: q or qx, qy, intensity, standard deviations, standard deviations of q.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Arrays<'py> {
    q: PyReadonlyArray1<'py, f64>,
    qy: Option<PyReadonlyArray1<'py, f64>>,
    intensity: PyReadonlyArray1<'py, f64>,
    sigma: Option<PyReadonlyArray1<'py, f64>>,
    dq: Option<PyReadonlyArray1<'py, f64>>,
}

/// Arrays, or the name of a file.
#[derive(FromPyObject)]
pub(super) enum Data<'py> {
    #[pyo3(transparent)]
    File(std::path::PathBuf),
    #[pyo3(transparent)]
    Arrays(Arrays<'py>),
}

/// The search.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Search {
    method: String,
    starts: usize,
    iterations: usize,
    population: Option<usize>,
    generations: usize,
    seed: u64,
    q_range: Option<(f64, f64)>,
    weights: String,
    resolution: bool,
}

/// A parameter to fit: name, bounds, start.
type Fitted = (String, Option<(f64, f64)>, Option<f64>);

fn scattering(data: Data<'_>) -> Result<Scattering, Failure> {
    let of = match data {
        Data::File(path) => {
            let options = ReadOptions::default();
            return warpstride::sas::io::read(&path, &options).map_err(Failure::data);
        }
        Data::Arrays(arrays) => arrays,
    };
    let values = |array: PyReadonlyArray1<'_, f64>| array.as_array().to_vec();
    let (q, intensity) = (values(of.q), values(of.intensity));
    let sigma = of.sigma.map(values);
    let lengths = [Some(intensity.len()), sigma.as_ref().map(Vec::len)];
    if lengths.into_iter().flatten().any(|found| found != q.len()) {
        return Err(Failure::Data(format!(
            "the data: expected as many intensities and standard deviations as points, {}, found others",
            q.len()
        )));
    }
    let (title, notes) = ("the data".to_owned(), Vec::new());
    let dq = of.dq.map(values);
    Ok(match of.qy.map(values) {
        None => Scattering::Curve(Curve {
            smearing: dq.map(Smearing::Pinhole),
            q,
            intensity,
            sigma,
            title,
            notes,
        }),
        Some(_) if dq.is_some() => {
            return Err(Failure::data("dq: expected a curve, found an image"));
        }
        Some(qy) => Scattering::Image(ScatteringImage {
            qx: q,
            qy,
            intensity,
            sigma,
            resolution: None,
            title,
            notes,
        }),
    })
}

fn options(search: &Search) -> Result<(Options, Weighting), Failure> {
    let method = match &*search.method {
        "lm" => Method::LevenbergMarquardt,
        "de" => Method::Evolution,
        other => {
            return Err(Failure::Data(format!(
                "method {other:?}: expected lm or de"
            )));
        }
    };
    let weights = match &*search.weights {
        "data" => Weighting::Data,
        "root" => Weighting::Root,
        "relative" => Weighting::Relative,
        "unit" => Weighting::Unit,
        other => {
            return Err(Failure::Data(format!(
                "weights {other:?}: expected data, root, relative or unit"
            )));
        }
    };
    let options = Options {
        method,
        starts: search.starts,
        iterations: search.iterations,
        population: search.population,
        generations: search.generations,
        seed: search.seed,
    };
    Ok((options, weights))
}

/// The result of a fit as a JSON document, and the model's intensities.
type Answer<'py> = (String, [Bound<'py, PyAny>; 4]);

/// Fits `model` to data from the start `values` and `widths`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's side names them")]
pub(super) fn sas_fit<'py>(
    py: Python<'py>,
    model: &str,
    data: Data<'_>,
    free: Vec<Fitted>,
    values: Vec<f64>,
    widths: Vec<f64>,
    distributions: Vec<DistributionRow>,
    place: BackendOptions,
    search: Search,
) -> PyResult<Answer<'py>> {
    let (options, weights) = options(&search)?;
    let selection = Selection {
        q: search.q_range,
        ..Selection::default()
    };
    let data = selection.of(&scattering(data)?).map_err(Failure::from)?;
    let measured = Measured::new(&data, weights).map_err(Failure::from)?;
    let q = match &data {
        Scattering::Curve(curve) => (curve.q.clone(), None),
        Scattering::Image(image) => (image.qx.clone(), Some(image.qy.clone())),
    };
    let mut calculation = calculation(model, q, distributions, &place)?;
    if search.resolution {
        let made = match &data {
            Scattering::Curve(curve) => Resolution::of_curve(curve),
            Scattering::Image(image) => Resolution::of_image(image),
        };
        calculation.resolution = made.map_err(Failure::from)?;
    }
    let free: Vec<Free> = free
        .into_iter()
        .map(|(name, bounds, start)| Free {
            name,
            bounds,
            start,
        })
        .collect();
    let base = Vector { values, widths };
    let problem = Problem::new(calculation.clone(), measured, base, &free);
    let problem = problem.map_err(Failure::from)?;
    let fitted = |interrupt: &Interrupt| -> Result<_, Failure> {
        let mut engine = place.engine(calculation)?;
        let search = Fit::new(problem, engine.as_mut(), options)?;
        let mut search = search.stopped_by(interrupt);
        while !search.finished() && !interrupt.requested() {
            search.advance()?;
        }
        let (result, comparison) = search.result()?;
        let text = result
            .to_json()
            .map_err(|why| Failure::Internal(why.to_string()))?;
        Ok((text, comparison))
    };
    let (text, comparison) = interruptible(py, fitted)?;
    let residuals = comparison.residuals();
    let measured = comparison.measured;
    let arrays = [
        measured.intensity,
        measured.sigma,
        comparison.model,
        residuals,
    ];
    Ok((text, arrays.map(|array| array.into_pyarray(py).into_any())))
}
