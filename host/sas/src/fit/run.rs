//! A fit as it runs: the steps of a [`Run`](warpstride_core::run::Run) are its rounds.

mod final_result;
mod notes;
mod options;
mod rounds;
mod tied;

pub(super) use options::Differences;
pub use options::{Method, Options};

use super::Problem;
use super::evolution::{Evolution, default_members};
use super::fit_result::Entry;
use super::linear::{Projection, Trial};
use super::multi_start::MultiStart;
use super::search::Space;
use crate::{Engine, SasError};
use std::time::{Duration, Instant};
use warpstride_core::run::{Interrupt, Steps};

/// Numbers that the descents keep at most: 1 GB.
const MOST_KEPT: usize = 1 << 27;

enum Phase {
    Population(Evolution),
    Descents(MultiStart),
}

/// A fit as it runs.
///
/// ```
/// use warpstride_sas::data::{Curve, Scattering};
/// use warpstride_core::run::{Interrupt, Run, Schedule, Silent};
/// use warpstride_sas::fit::{Fit, Free, Measured, Options, Problem, Weighting};
/// use warpstride_sas::{Calculation, Definition, Engine};
/// # use warpstride_core::run::Setup;
/// # use warpstride_sas::{SasError, Vector};
/// # struct Plain(Calculation);
/// # impl Engine for Plain {
/// #     fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
/// #         let warpstride_sas::Points::Curve(q) = &self.0.points else { return Ok(Vec::new()) };
/// #         let one = |v: &Vector, q: f64| {
/// #             let x = q * v.values[4];
/// #             let f = 3.0 * (x.sin() - x * x.cos()) / x.powi(3) * (v.values[2] - v.values[3]);
/// #             v.values[0] * 1e-4 * f * f * 4.0 / 3.0 * std::f64::consts::PI * v.values[4].powi(3) + v.values[1]
/// #         };
/// #         Ok(vectors.iter().map(|v| q.iter().map(|q| one(v, *q)).collect()).collect())
/// #     }
/// #     fn setup(&self) -> Setup { Setup { backend: "cpu", ..Setup::default() } }
/// #     fn batch(&self) -> usize { 1 }
/// # }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let q: Vec<f64> = (1..60).map(|i| 0.005 * f64::from(i)).collect();
/// # let calculation = Calculation::new(Definition::parse("sphere")?, warpstride_sas::Points::Curve(q.clone()));
/// # let truth = warpstride_sas::Vector { values: vec![0.02, 0.1, 1.0, 6.0, 47.0], widths: vec![] };
/// # let intensity = Plain(calculation).evaluate(&[truth])?.remove(0);
/// # let sigma = intensity.iter().map(|i| 0.01 * i).collect();
/// # let curve = Curve { q, intensity, sigma: Some(sigma), smearing: None, title: "spheres".into(), notes: vec![] };
///
/// // `curve` from a file.
/// let measured = Measured::new(&Scattering::Curve(curve), Weighting::Data)?;
/// let calculation = Calculation::new(Definition::parse("sphere")?, measured.points.clone());
/// # let mut engine = Plain(calculation.clone());
/// let base = calculation.defaults();
/// let free = [Free::within("radius", 20.0, 100.0), Free::anywhere("scale"), Free::anywhere("background")];
/// let problem = Problem::new(calculation, measured, base, &free)?;
/// let options = Options { starts: 4, ..Options::default() };
/// let mut run = Run::new(Fit::new(problem, &mut engine, options)?);
/// run.execute(&mut Silent, &Interrupt::new(), Schedule { every: None })?;
/// let (result, _) = run.steps_mut().result()?;
/// assert!((result.parameters[0].value - 47.0).abs() < 1e-6);
/// assert!((result.parameters[2].value - 0.1).abs() < 1e-9);
/// # Ok(())
/// # }
/// ```
pub struct Fit<'a> {
    problem: Problem,
    engine: &'a mut dyn Engine,
    options: Options,
    projection: Projection,
    differences: Differences,
    phase: Phase,
    flat_known: bool,
    population: Option<(usize, usize)>,
    entries: Vec<Entry>,
    evaluations: usize,
    batches: usize,
    rounds: usize,
    searching: Duration,
    idle: Option<Vec<usize>>,
    /// The best of the population, which a descent goes on from.
    carried: Option<Trial>,
    /// What the model said of the last vector that it refused.
    refused: Option<String>,
    /// A request to stop, which is also obeyed in the middle of a batch.
    interrupt: Interrupt,
    /// Vectors of a call; small enough that a request to stop is seen soon.
    part: usize,
}

impl<'a> Fit<'a> {
    /// Makes it ready; nothing is computed yet.
    ///
    /// # Errors
    /// No start or no iteration, several starts or a population without finite bounds, more of them
    /// than memory should take.
    pub fn new(
        problem: Problem,
        engine: &'a mut dyn Engine,
        options: Options,
    ) -> Result<Self, SasError> {
        let projection = Projection::new(&problem);
        let part = engine.batch().max(1);
        let differences = Differences::of(problem.calculation().precision);
        let refused = |why: String| Err(SasError::Refused(why));
        if options.starts == 0 || options.iterations == 0 || options.generations == 0 {
            return refused(
                "a fit needs at least one start, one iteration and one generation".to_owned(),
            );
        }
        let spread = options.starts > 1 || options.method == Method::Evolution;
        let unbounded = projection.searched.iter().find(|i| {
            let (low, high) = problem.parameters()[**i].bounds;
            !(low.is_finite() && high.is_finite())
        });
        if let Some(i) = unbounded
            && spread
        {
            let name = &problem.parameters()[*i].name;
            return refused(format!(
                "{name} has no finite bounds, between which a population or several starts could be spread: give --fit {name}=LOW:HIGH"
            ));
        }
        let searched = projection.searched.len();
        let members = options.population.unwrap_or(default_members(searched));
        let points = problem.measured().intensity.len();
        let kept = match options.method {
            Method::LevenbergMarquardt => options.starts.saturating_mul(searched + 6),
            Method::Evolution => members.saturating_mul(2),
        };
        if kept.saturating_mul(points) > MOST_KEPT {
            return refused(format!(
                "{} starts or {members} members at {points} points need more than {} MB: ask for fewer",
                options.starts,
                (MOST_KEPT * size_of::<f64>()) >> 20
            ));
        }
        let space = Space {
            problem: &problem,
            projection: &projection,
            differences,
        };
        let first = projection.of(&problem.start());
        let phase = if options.method == Method::Evolution && searched > 0 {
            let shares = (0..searched).map(|j| share(space.parameter(j), first[j]));
            Phase::Population(Evolution::new(
                shares.collect(),
                members,
                options.seed,
                options.generations,
            ))
        } else {
            let starts = if searched == 0 { 1 } else { options.starts };
            Phase::Descents(MultiStart::new(
                &space,
                first,
                starts,
                options.seed,
                options.iterations,
            ))
        };
        Ok(Self {
            problem,
            engine,
            options,
            projection,
            differences,
            phase,
            flat_known: false,
            interrupt: Interrupt::new(),
            part,
            population: None,
            entries: Vec::new(),
            evaluations: 0,
            batches: 0,
            rounds: 0,
            searching: Duration::ZERO,
            idle: None,
            carried: None,
            refused: None,
        })
    }

    /// What is fitted to what.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The best values so far, in the order of the parameters.
    #[must_use]
    pub fn best(&self) -> Option<&[f64]> {
        self.best_trial().map(|trial| trial.values.as_slice())
    }

    /// Stops soon after a request, also in the middle of a batch; the results of that batch are
    /// lost.
    #[must_use]
    pub fn stopped_by(self, interrupt: &Interrupt) -> Self {
        Self {
            interrupt: interrupt.clone(),
            ..self
        }
    }

    fn best_trial(&self) -> Option<&Trial> {
        match &self.phase {
            Phase::Population(evolution) => evolution.best(),
            Phase::Descents(descents) => {
                let found = descents.best().map(|(_, trial)| trial);
                let all = found.into_iter().chain(&self.carried);
                all.min_by(|a, b| a.chi2.total_cmp(&b.chi2))
            }
        }
    }

    fn space(&self) -> Space<'_> {
        Space {
            problem: &self.problem,
            projection: &self.projection,
            differences: self.differences,
        }
    }
}

/// Where a value lies between its bounds, 0…1.
fn share(parameter: &super::Parameter, value: f64) -> f64 {
    let (low, high) = parameter.bounds;
    let share = if parameter.logarithmic() {
        (value / low).ln() / (high / low).ln()
    } else {
        (value - low) / (high - low)
    };
    share.clamp(0.0, 1.0)
}

impl Steps for Fit<'_> {
    type Entry = Entry;
    type Error = SasError;

    /// Rounds at most: a descent's iteration is two, its derivatives and its trials.
    fn planned(&self) -> usize {
        let generations = match self.options.method {
            Method::Evolution => self.options.generations,
            Method::LevenbergMarquardt => 0,
        };
        generations.saturating_add(self.options.iterations.saturating_mul(2))
    }

    fn done(&self) -> usize {
        self.rounds
    }

    fn finished(&self) -> bool {
        match &self.phase {
            Phase::Population(_) => false,
            Phase::Descents(descents) => descents.running() == 0,
        }
    }

    fn advance(&mut self) -> Result<Vec<Entry>, SasError> {
        let begun = Instant::now();
        if !self.round()? {
            return Ok(Vec::new());
        }
        self.rounds += 1;
        self.searching += begun.elapsed();
        let chi2 = self.best_trial().map_or(f64::INFINITY, |best| best.chi2);
        let running = match &self.phase {
            Phase::Population(evolution) => evolution.len(),
            Phase::Descents(descents) => descents.running(),
        };
        let entry = Entry {
            iteration: self.rounds,
            chi2,
            chi2_per_point: chi2 / self.problem.measured().intensity.len() as f64,
            running,
            evaluations: self.evaluations,
        };
        self.entries.push(entry.clone());
        Ok(vec![entry])
    }
}
