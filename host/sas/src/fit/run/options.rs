//! Options of the search.

use crate::Precision;
use crate::fit::Problem;
use serde::Serialize;

/// Search method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum Method {
    /// Levenberg–Marquardt from one or several starts.
    #[default]
    #[serde(rename = "lm")]
    LevenbergMarquardt,
    /// Differential evolution, then Levenberg–Marquardt from its best member.
    #[serde(rename = "de")]
    Evolution,
}

/// Options of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Search method.
    pub method: Method,
    /// Number of starts of Levenberg–Marquardt: the problem's own start, and others spread over the
    /// bounds. Evolution has one.
    pub starts: usize,
    /// Maximum number of iterations per start.
    pub iterations: usize,
    /// Members of the population; `None`: twelve per search parameter.
    pub population: Option<usize>,
    /// Maximum number of generations.
    pub generations: usize,
    /// Seed of the starts and of the population.
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

/// Steps of one-sided and of central differences relative to the size of a parameter, and the
/// relative size of singular values that are noise: about the roots of the precision of the
/// intensities.
#[derive(Debug, Clone, Copy)]
pub(in crate::fit) struct Differences {
    pub(in crate::fit) one_sided: f64,
    pub(in crate::fit) central: f64,
    pub(in crate::fit) noise: f64,
}

impl Differences {
    pub(in crate::fit) fn of(precision: Precision) -> Self {
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

    /// Those at these values of the fitted parameters. The mesh of a wide distribution does not
    /// resolve all fringes of its large particles: the intensities have an error that is small but
    /// changes fast, which larger steps keep out of the derivatives.
    pub(in crate::fit) fn at(self, problem: &Problem, values: &[f64]) -> Self {
        if !problem.has_wide_distribution(values) {
            return self;
        }
        let coarse = Self::of(Precision::F32);
        Self {
            one_sided: self.one_sided.max(coarse.one_sided),
            central: self.central.max(coarse.central),
            ..self
        }
    }
}
