//! Fits of formulas with known minima.

mod joint;
mod parameters;
mod searches;
mod solutions;
mod sums;
mod ties;

use super::{Comparison, Fit, FitResult, Free, Measured, Options, Problem};
use crate::{Calculation, Definition, Engine, Points, SasError, Vector};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use warpstride_core::run::Setup;
use warpstride_core::run::{Interrupt, Run, Schedule, Silent};

/// A formula of a vector's values and q, without scale and background.
type Formula = fn(&Vector, f64) -> f64;

/// An engine that computes a formula and counts its calls and vectors.
struct Analytic {
    formula: Formula,
    q: Vec<f64>,
    calls: usize,
    vectors: usize,
}

impl Analytic {
    fn new(formula: Formula, q: &[f64]) -> Self {
        Self {
            formula,
            q: q.to_vec(),
            calls: 0,
            vectors: 0,
        }
    }
}

impl Engine for Analytic {
    fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
        self.calls += 1;
        self.vectors += vectors.len();
        let one = |v: &Vector| {
            self.q
                .iter()
                .map(|q| v.values[0] * (self.formula)(v, *q) + v.values[1])
                .collect()
        };
        Ok(vectors.iter().map(one).collect())
    }

    fn setup(&self) -> Setup {
        Setup {
            backend: "cpu",
            device: String::new(),
            precision: "f64",
        }
    }

    fn batch(&self) -> usize {
        1 << 20
    }
}

/// A definition with seven unbounded parameters after scale and background: `porod_scale`,
/// `porod_exp`, `peak_scale`, ….
const PLAIN: &str = "broad_peak";

fn measured(q: &[f64], intensity: Vec<f64>, sigma: Vec<f64>) -> Measured {
    Measured {
        points: Points::Curve(q.to_vec()),
        intensity,
        sigma,
        known_sigma: true,
        title: "formula".to_owned(),
        notes: Vec::new(),
    }
}

/// The problem of fitting `free` in `model`, with its default values except those in `set`.
fn problem(
    model: &str,
    data: Measured,
    set: &[(&str, f64)],
    free: &[Free],
) -> Result<Problem, SasError> {
    let calculation = Calculation::new(Definition::parse(model)?, data.points.clone());
    let mut base = calculation.defaults();
    for (name, value) in set {
        base.values[calculation.definition.parameter_index(name)?] = *value;
    }
    Problem::new(calculation, data, base, free)
}

fn run(
    problem: &Problem,
    engine: &mut dyn Engine,
    options: Options,
) -> Result<(FitResult, Comparison), SasError> {
    let fit = Fit::new(problem.clone(), engine, options)?;
    let never = Schedule { every: None };
    let mut run = Run::new(fit);
    run.execute(&mut Silent, &Interrupt::new(), never)?;
    let mut fit = run.into_steps();
    fit.result()
}

fn values(result: &FitResult) -> Vec<f64> {
    result.parameters.iter().map(|p| p.value).collect()
}

/// Evenly spaced values from `low` to `high`.
fn grid(low: f64, high: f64, count: usize) -> Vec<f64> {
    let step = (high - low) / (count - 1) as f64;
    (0..count).map(|i| low + step * i as f64).collect()
}

/// `count` numbers of a normal distribution with σ = 1.
fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..count)
        .map(|_| StandardNormal.sample(&mut random))
        .collect()
}

fn near(a: f64, b: f64, relative: f64) {
    assert!((a - b).abs() <= relative * b.abs(), "{a} is not {b}");
}
