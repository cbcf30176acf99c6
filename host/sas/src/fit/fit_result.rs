//! The result of a fit.

use super::{Bound, Method, Minimum, Stop};
use serde::Serialize;
use warpstride_core::run::RunRecord;

/// A fitted parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fitted {
    /// As in `--fit`.
    pub name: String,
    /// As in the model's table.
    pub units: &'static str,
    /// At the minimum.
    pub value: f64,
    /// Its standard uncertainty; none at a bound and where the data do not determine it.
    pub uncertainty: Option<f64>,
    /// Least value allowed; none: −∞.
    pub low: Option<f64>,
    /// Greatest value allowed; none: ∞.
    pub high: Option<f64>,
    /// Where the (first) search began.
    pub start: f64,
    /// The bound where it stopped.
    pub at_bound: Option<Bound>,
}

/// A number that was not fitted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fixed {
    /// As in `--set`, or `NAME_pd` of a width.
    pub name: String,
    /// Its value.
    pub value: f64,
}

/// A parameter that follows from others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tied {
    /// As in `--tie`.
    pub name: String,
    /// As in the model's table.
    pub units: &'static str,
    /// At the minimum.
    pub value: f64,
    /// Its standard uncertainty, propagated linearly from those of the fitted parameters.
    pub uncertainty: Option<f64>,
    /// The expression of other parameters.
    pub expression: String,
}

/// A set of data of a fit of several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataSetResult {
    /// Title of the data.
    pub data: String,
    /// Points that took part.
    pub points: usize,
    /// Σ ((data − model)/σ)² over them.
    pub chi2: f64,
    /// The same over points.
    pub chi2_per_point: f64,
}

/// What `--summary` writes of a fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitResult {
    /// What the summaries of all sciences have: where it was computed, files, times, notes. The
    /// seconds are those of the search.
    #[serde(flatten)]
    pub record: RunRecord,
    /// Doubtful properties of the data and of the fit: the result may be meaningless.
    pub problems: Vec<String>,
    /// The model.
    pub model: String,
    /// Title of the data.
    pub data: String,
    /// How it was searched.
    pub method: Method,
    /// Why it ended.
    pub stop: Stop,
    /// Whether that is a minimum.
    pub converged: bool,
    /// What was fitted.
    pub parameters: Vec<Fitted>,
    /// What follows from other parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tied: Vec<Tied>,
    /// What was not fitted.
    pub fixed: Vec<Fixed>,
    /// χ² of each set of data, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_sets: Vec<DataSetResult>,
    /// Σ ((data − model)/σ)².
    pub chi2: f64,
    /// The same over points.
    pub chi2_per_point: f64,
    /// The same over degrees of freedom.
    pub reduced_chi2: Option<f64>,
    /// Points that took part.
    pub points: usize,
    /// Points less parameters.
    pub degrees_of_freedom: usize,
    /// Whether the weights are the data's own; otherwise χ² has no absolute meaning.
    pub known_sigma: bool,
    /// In the order of the parameters.
    pub covariance: Vec<Vec<Option<f64>>>,
    /// In the order of the parameters.
    pub correlation: Vec<Vec<Option<f64>>>,
    /// Distinct minima that the starts found, best first.
    pub minima: Vec<Minimum>,
    /// Starts.
    pub starts: usize,
    /// Members of the population; none for descents alone.
    pub population: Option<usize>,
    /// Seed of the starts and the population.
    pub seed: u64,
    /// Iterations of the longest descent.
    pub iterations: usize,
    /// Generations of the population.
    pub generations: usize,
    /// Parameter vectors computed.
    pub evaluations: usize,
    /// Calls of the engine that computed them.
    pub batches: usize,
    /// χ² after each round of the search.
    pub history: Vec<Entry>,
}

/// A round of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its number, from 1.
    pub iteration: usize,
    /// The best χ² so far.
    pub chi2: f64,
    /// The same over points.
    pub chi2_per_point: f64,
    /// Descents (or members) that go on.
    pub running: usize,
    /// Parameter vectors computed so far.
    pub evaluations: usize,
}

impl FitResult {
    /// As JSON, indented, with a newline at the end. Numbers that are not finite are `null`.
    ///
    /// # Errors
    /// The encoder's.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
