//! How a fit searches, in words and in numbers.

use crate::sas::Precision;
use serde::Serialize;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum Method {
    /// Levenberg–Marquardt, from one start or several.
    #[default]
    #[serde(rename = "lm")]
    LevenbergMarquardt,
    /// Differential evolution, then Levenberg–Marquardt from its best.
    #[serde(rename = "de")]
    Evolution,
}

/// How to search, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The method.
    pub method: Method,
    /// Starts of descents: the problem's own, the others spread over the bounds. Evolution has one.
    pub starts: usize,
    /// Iterations of a descent at most.
    pub iterations: usize,
    /// Members of a population; `None`: twelve for each parameter searched.
    pub population: Option<usize>,
    /// Generations of a population at most.
    pub generations: usize,
    /// Of starts and population.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            method: Method::default(),
            starts: 1,
            iterations: 200,
            population: None,
            generations: 300,
            seed: 1,
        }
    }
}

/// Steps of one-sided and of central differences, as shares of a parameter's size, and what of singular values is
/// noise: about the roots of the intensities' own precision.
pub(super) struct Differences {
    pub(super) one_sided: f64,
    pub(super) central: f64,
    pub(super) noise: f64,
}

impl Differences {
    pub(super) fn of(precision: Precision) -> Self {
        match precision {
            Precision::F64 => Self {
                one_sided: 1e-6,
                central: 1e-4,
                noise: 1e-7,
            },
            Precision::F32 => Self {
                one_sided: 1e-3,
                central: 5e-3,
                noise: 1e-4,
            },
        }
    }
}
