//! What every search has in common: it asks for values, and is told what they gave.

use super::linear::{Projection, Trial};
use super::problem::Problem;
use serde::Serialize;

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// χ² neither fell nor could have fallen by more than a share of 1e-10.
    ChiSquared,
    /// The last step changed no parameter by more than a share of 1e-8.
    Step,
    /// χ² is as level as arithmetic allows in every direction that the bounds leave.
    Gradient,
    /// Data and model agree to the last digits.
    Exact,
    /// Scale and background alone were fitted: solved at once.
    Solved,
    /// No step lowers χ².
    Stuck,
    /// The population has drawn together.
    Population,
    /// As many iterations as allowed.
    Iterations,
    /// Somebody stopped it.
    Interrupted,
    /// The model has no finite intensities where the search began.
    NotFinite,
    /// Nothing that is searched changes the intensities where the search began: the best scale there is 0, or the
    /// parameters do nothing.
    Flat,
}

impl Stop {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::ChiSquared => "chi-squared no longer falls",
            Self::Step => "the parameters no longer change",
            Self::Gradient => "chi-squared is level",
            Self::Exact => "data and model agree",
            Self::Solved => "solved at once",
            Self::Stuck => "no step lowers chi-squared",
            Self::Population => "the population has drawn together",
            Self::Iterations => "the iterations were used up",
            Self::Interrupted => "interrupted",
            Self::Flat => "nothing that is searched changes the intensities at the start",
            Self::NotFinite => "the model has no finite intensities at the start",
        }
    }

    /// Whether it is a minimum.
    #[must_use]
    pub fn converged(self) -> bool {
        !matches!(
            self,
            Self::Iterations | Self::Interrupted | Self::NotFinite | Self::Flat
        )
    }
}

/// A search in the parameters that are not solved for.
pub(super) trait Search {
    /// Values whose intensities it needs next, all to be computed at once; none when it has ended.
    fn wanted(&mut self, space: &Space<'_>) -> Vec<Vec<f64>>;
    /// What they gave, in their order.
    fn told(&mut self, space: &Space<'_>, trials: Vec<Trial>);
    /// Why it ended.
    fn stopped(&self) -> Option<Stop>;
}

/// Where a search goes.
pub(super) struct Space<'a> {
    pub(super) problem: &'a Problem,
    pub(super) projection: &'a Projection,
    /// Share of a parameter's size by which derivatives step.
    pub(super) step: f64,
}

impl Space<'_> {
    /// Numbers searched.
    pub(super) fn len(&self) -> usize {
        self.projection.searched.len()
    }

    /// The parameter behind a number searched.
    pub(super) fn parameter(&self, at: usize) -> &super::Parameter {
        &self.problem.parameters()[self.projection.searched[at]]
    }

    /// Least and greatest of a number searched.
    pub(super) fn bounds(&self, at: usize) -> (f64, f64) {
        self.parameter(at).bounds
    }
}
