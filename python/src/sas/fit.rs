//! Fits of models to data.

use super::calculation::{BackendOptions, DistributionRow, calculation};
use super::data::{Data, scattering};
use crate::background::{Observer, observed};
use crate::errors::Failure;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use std::time::Duration;
use warpstride::run::{Interrupt, Steps};
use warpstride::sas::data::Scattering;
use warpstride::sas::fit::{
    DataSet, Fit, Free, Measured, Method, Options, Problem, Selection, Weighting, largest_values,
};
use warpstride::sas::{Calculation, Engine, JointEngine, Resolution, Tie, Vector, problems};

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
    /// Whether points with I ≤ 0 are left out.
    positive: bool,
    weights: String,
    resolution: bool,
}

/// A parameter to fit: name, bounds, start.
type Fitted = (String, Option<(f64, f64)>, Option<f64>);

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

/// A set of data with what belongs to it alone: data, values and widths of the model's parameters.
type Set<'py> = (Data<'py>, Vec<f64>, Vec<f64>);

/// What is fitted, and what follows from it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Parameters {
    free: Vec<Fitted>,
    /// Names of those that have one value for all sets.
    shared: Vec<String>,
    /// Such as `thickness=2*radius`.
    ties: Vec<String>,
}

/// Data, standard deviations, the model's intensities and residuals of a set.
type Columns<'py> = [Bound<'py, PyAny>; 4];

/// What the sets of data have in common.
struct Common<'a> {
    model: &'a str,
    distributions: Vec<DistributionRow>,
    place: &'a BackendOptions,
    q_range: Option<(f64, f64)>,
    positive: bool,
    weights: Weighting,
    /// Whether the resolution of the data counts.
    resolution: bool,
    free: Vec<Free>,
    ties: Vec<Tie>,
    sets: usize,
}

/// The data of a set, selected, with the calculation at its points; `number` counts from 0.
fn data_set(
    (data, values, widths): Set<'_>,
    number: usize,
    of: &Common<'_>,
) -> Result<(DataSet, Vec<String>), Failure> {
    let selection = Selection {
        q: of.q_range,
        positive: of.positive,
        mask: None,
    };
    let data = selection.of(&scattering(data, of.weights == Weighting::Data)?)?;
    let measured = Measured::new(&data, of.weights)?;
    let q = match &data {
        Scattering::Curve(curve) => (curve.q.clone(), None),
        Scattering::Image(image) => (image.qx.clone(), Some(image.qy.clone())),
    };
    let mut calculation = calculation(of.model, q, of.distributions.clone(), of.place)?;
    let base = Vector { values, widths };
    if of.resolution {
        let place = (number, of.sets);
        let largest = largest_values(&calculation, &base, &of.free, place, &of.ties);
        calculation.resolution = Resolution::of(&data, calculation.definition.diameter(&largest))?;
    }
    let set = DataSet {
        calculation,
        measured,
        base,
    };
    Ok((set, problems(&data)))
}

/// Fits `model` to one or several sets of data. `see` gets the rounds (number, χ²/point) since its
/// last call, at most every so many seconds, and returns whether the search ends. Returns the
/// result as a JSON document, and columns of each set.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's side names them")]
pub(super) fn sas_fit<'py>(
    py: Python<'py>,
    model: &str,
    sets: Vec<Set<'_>>,
    parameters: Parameters,
    distributions: Vec<DistributionRow>,
    place: BackendOptions,
    search: Search,
    see: Py<PyAny>,
    every: f64,
) -> PyResult<(String, Vec<Columns<'py>>)> {
    let (options, weights) = options(&search)?;
    let every = Duration::try_from_secs_f64(every).map_err(Failure::data)?;
    let several = sets.len() > 1;
    let free = parameters.free.into_iter();
    let free = free.map(|(name, bounds, start)| Free {
        name,
        bounds,
        start,
    });
    let ties = parameters.ties.iter().map(|text| Tie::parse(text));
    let common = Common {
        model,
        distributions,
        place: &place,
        q_range: search.q_range,
        positive: search.positive,
        weights,
        resolution: search.resolution,
        free: free.collect(),
        ties: ties.collect::<Result<_, _>>().map_err(Failure::from)?,
        sets: sets.len(),
    };
    let made = sets.into_iter().enumerate().map(|(at, set)| {
        data_set(set, at, &common).map_err(|why| match why {
            Failure::Data(text) if several => Failure::Data(format!("data set {}: {text}", at + 1)),
            why => why,
        })
    });
    let (mut sets, mut doubts) = (Vec::new(), Vec::new());
    for (at, made) in made.enumerate() {
        let (set, found) = made?;
        sets.push(set);
        doubts.extend(found.into_iter().map(|sentence| match several {
            true => format!("data set {}: {sentence}", at + 1),
            false => sentence,
        }));
    }
    let calculations: Vec<Calculation> = sets.iter().map(|set| set.calculation.clone()).collect();
    let problem = Problem::joint(sets, &common.free, &parameters.shared)
        .and_then(|problem| problem.tied(&common.ties))
        .map_err(Failure::from)?;
    let fitted = |interrupt: &Interrupt, observer: &mut Observer<(usize, f64)>| {
        let mut members = Vec::with_capacity(calculations.len());
        for calculation in &calculations {
            members.push((calculation, place.engine(calculation.clone())?));
        }
        let mut engine: Box<dyn Engine> = match members.len() {
            1 => members.remove(0).1,
            _ => Box::new(JointEngine::new(members)),
        };
        let search = Fit::new(problem, engine.as_mut(), options)?;
        let mut search = search.stopped_by(interrupt);
        while !search.finished() && !interrupt.requested() {
            let entries = search.advance()?.into_iter();
            if observer.see(
                entries
                    .map(|of| (of.iteration, of.chi2_per_point))
                    .collect(),
            ) {
                break;
            }
        }
        let (mut result, comparison) = search.result()?;
        result.problems.splice(0..0, doubts);
        let text = result
            .to_json()
            .map_err(|why| Failure::Internal(why.to_string()))?;
        Ok((text, search.problem().comparisons(&comparison)))
    };
    let shown = |py: Python<'_>, entries: Vec<(usize, f64)>| {
        see.call1(py, (entries,))?.bind(py).is_truthy()
    };
    let (text, comparisons) = observed(py, every, fitted, shown)?;
    let columns = comparisons.into_iter().map(|comparison| {
        let residuals = comparison.residuals();
        let measured = comparison.measured;
        [
            measured.intensity,
            measured.sigma,
            comparison.model,
            residuals,
        ]
        .map(|array| array.into_pyarray(py).into_any())
    });
    Ok((text, columns.collect()))
}
