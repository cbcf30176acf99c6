//! The ask-and-tell interface of all searches.

use super::linear::{Projection, Trial};
use super::problem::Problem;
use super::run::Differences;
use serde::Serialize;

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// Neither the actual nor the predicted relative decrease of χ² exceeded 1e-10.
    ChiSquared,
    /// The last step changed no parameter by more than 1e-8 of its size.
    Step,
    /// The gradient of χ² vanishes, to rounding, in every direction that the bounds leave.
    Gradient,
    /// Data and model agree to rounding.
    Exact,
    /// Only scale and background were fitted, which are solved for directly.
    Solved,
    /// No step lowers χ².
    Stuck,
    /// The population has converged.
    Population,
    /// The maximum number of iterations was reached.
    Iterations,
    /// The fit was interrupted.
    Interrupted,
    /// The model has no finite intensities at the start.
    NotFinite,
    /// No search parameter has an effect at the start: the best scale there is 0, or the parameters
    /// have no effect at all.
    Flat,
}

impl Stop {
    /// A description.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::ChiSquared => "chi-squared no longer decreases",
            Self::Step => "the parameters no longer change",
            Self::Gradient => "the gradient of chi-squared vanishes",
            Self::Exact => "data and model agree",
            Self::Solved => "solved directly",
            Self::Stuck => "no step decreases chi-squared",
            Self::Population => "the population has converged",
            Self::Iterations => "the maximum number of iterations was reached",
            Self::Interrupted => "interrupted",
            Self::Flat => "no search parameter has an effect at the start",
            Self::NotFinite => "the model has no finite intensities at the start",
        }
    }

    /// Whether the search ended in a minimum.
    #[must_use]
    pub fn converged(self) -> bool {
        !matches!(
            self,
            Self::Iterations | Self::Interrupted | Self::NotFinite | Self::Flat
        )
    }
}

/// A search over the parameters that are not solved for.
pub(super) trait Search {
    /// Vectors to evaluate next, in one batch; none if the search has ended.
    fn ask(&mut self, space: &Space<'_>) -> Vec<Vec<f64>>;
    /// Takes the trials of these vectors, in their order.
    fn tell(&mut self, space: &Space<'_>, trials: Vec<Trial>);
    /// Why the search ended, if it has.
    fn stopped(&self) -> Option<Stop>;
}

/// The search space.
pub(super) struct Space<'a> {
    pub(super) problem: &'a Problem,
    pub(super) projection: &'a Projection,
    /// Steps of differences.
    pub(super) differences: Differences,
}

impl Space<'_> {
    /// Number of search parameters.
    pub(super) fn len(&self) -> usize {
        self.projection.searched.len()
    }

    /// Step of one-sided differences at these values of the search parameters, relative to a
    /// parameter's size.
    pub(super) fn step(&self, searched: &[f64]) -> f64 {
        let values = self.projection.all(self.problem, searched);
        self.differences.at(self.problem, &values).one_sided
    }

    /// The parameter with index `at` among the search parameters.
    pub(super) fn parameter(&self, at: usize) -> &super::Parameter {
        &self.problem.parameters()[self.projection.searched[at]]
    }

    /// Bounds of a search parameter.
    pub(super) fn bounds(&self, at: usize) -> (f64, f64) {
        self.parameter(at).bounds
    }
}
