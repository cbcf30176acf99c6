//! A fit as it runs: what [`crate::run::execute`] turns round by round.

use super::evolution::{Evolution, default_members};
use super::linear::{Projection, Trial};
use super::multi_start::{Minimum, MultiStart};
use super::outcome::{Comparison, Entry, Fitted, Fixed, Outcome};
use super::search::{Search, Space};
use super::{Bound, Problem, Statistics, Stop};
use crate::run::{Interrupt, Iterate};
use crate::sas::{Engine, Precision, SasError, Vector};
use nalgebra::DMatrix;
use serde::Serialize;
use std::time::{Duration, Instant};

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
struct Differences {
    one_sided: f64,
    central: f64,
    noise: f64,
}

impl Differences {
    fn of(precision: Precision) -> Self {
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

/// Intensities of one call of the engine at most: 256 MB.
const MOST_AT_ONCE: usize = 1 << 25;
/// A call of the engine is to be over by then: in between a wish to stop is seen.
const SOON: Duration = Duration::from_millis(500);
/// Numbers that the descents keep at most: 1 GB.
const MOST_KEPT: usize = 1 << 27;
/// Correlations from here on are told.
const CORRELATED: f64 = 0.98;

enum Phase {
    Population(Evolution),
    Descents(MultiStart),
}

/// A fit as it runs.
///
/// ```
/// use warpstride::data::{Curve, Scattering};
/// use warpstride::run::{Interrupt, Schedule, Silent, execute};
/// use warpstride::sas::fit::{Fit, Free, Measured, Options, Problem, Weighting};
/// use warpstride::sas::{Calculation, Definition, Engine};
/// # use warpstride::sas::{SasError, Setup, Vector};
/// # struct Plain(Calculation);
/// # impl Engine for Plain {
/// #     fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
/// #         let warpstride::sas::Points::Curve(q) = &self.0.points else { return Ok(Vec::new()) };
/// #         let one = |v: &Vector, q: f64| {
/// #             let x = q * v.values[4];
/// #             let f = 3.0 * (x.sin() - x * x.cos()) / x.powi(3) * (v.values[2] - v.values[3]);
/// #             v.values[0] * 1e-4 * f * f * 4.0 / 3.0 * std::f64::consts::PI * v.values[4].powi(3) + v.values[1]
/// #         };
/// #         Ok(vectors.iter().map(|v| q.iter().map(|q| one(v, *q)).collect()).collect())
/// #     }
/// #     fn setup(&self) -> Setup { Setup { backend: "cpu", device: None, precision: "f64" } }
/// #     fn batch(&self) -> usize { 1 }
/// # }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let q: Vec<f64> = (1..60).map(|i| 0.005 * f64::from(i)).collect();
/// # let calculation = Calculation::new(Definition::parse("sphere")?, warpstride::sas::Points::Curve(q.clone()));
/// # let truth = warpstride::sas::Vector { values: vec![0.02, 0.1, 1.0, 6.0, 47.0], widths: vec![] };
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
/// let mut fit = Fit::new(problem, &mut engine, options)?;
/// execute(&mut fit, &mut Silent, &Interrupt::new(), Schedule { every: None })?;
/// let (outcome, _) = fit.outcome()?;
/// assert!((outcome.parameters[0].value - 47.0).abs() < 1e-6);
/// assert!((outcome.parameters[2].value - 0.1).abs() < 1e-9);
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
    /// A wish to stop, which counts in the middle of a batch too.
    interrupt: Interrupt,
    /// Vectors of a call, so that a wish to stop is soon seen.
    part: usize,
}

impl<'a> Fit<'a> {
    /// Makes it ready; nothing is computed yet.
    ///
    /// # Errors
    /// No start or no iteration, several starts or a population without finite bounds, more of them than memory
    /// should take.
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
                "{name} has no finite bounds, between which a population or several starts could be spread: give --fit {name}=LEAST:GREATEST"
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
            step: differences.one_sided,
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

    /// Stops soon after somebody asks, in the middle of a batch too; what that batch would have told is lost.
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
            step: self.differences.one_sided,
        }
    }

    /// Intensities of all, in calls that memory allows and that are over soon; `None` when `stops` and somebody asks
    /// to stop.
    fn evaluate(
        &mut self,
        vectors: &[Vector],
        stops: bool,
    ) -> Result<Option<Vec<Vec<f64>>>, SasError> {
        let points = self.problem.measured().intensity.len();
        let most = (MOST_AT_ONCE / points.max(1)).max(1);
        let mut intensities = Vec::with_capacity(vectors.len());
        self.batches += 1;
        let mut rest = vectors;
        while !rest.is_empty() {
            if stops && self.interrupt.requested() {
                return Ok(None);
            }
            let (part, after) = rest.split_at(self.part.min(most).min(rest.len()));
            rest = after;
            let begun = Instant::now();
            self.evaluate_part(part, points, &mut intensities)?;
            let took = begun.elapsed();
            if took < SOON / 4 {
                self.part = self.part.saturating_mul(4);
            } else if took > SOON {
                self.part = (self.part / 2).max(1);
            }
        }
        Ok(Some(intensities))
    }

    /// A vector that the model refuses (a distribution that has no sizes left, …) is a place without intensities, not
    /// the end of the search: the batch is halved until it is found.
    fn evaluate_part(
        &mut self,
        part: &[Vector],
        points: usize,
        intensities: &mut Vec<Vec<f64>>,
    ) -> Result<(), SasError> {
        match self.engine.evaluate(part) {
            Ok(found) => {
                if found.len() != part.len() || found.iter().any(|of| of.len() != points) {
                    return Err(SasError::Refused(format!(
                        "the engine computes other points than the {points} of the data"
                    )));
                }
                self.evaluations += part.len();
                intensities.extend(found);
                Ok(())
            }
            Err(SasError::Gpu(failed)) => Err(SasError::Gpu(failed)),
            Err(refused) if part.len() == 1 => {
                self.refused = Some(refused.to_string());
                intensities.push(vec![f64::NAN; points]);
                Ok(())
            }
            Err(_) => {
                let (first, second) = part.split_at(part.len() / 2);
                self.evaluate_part(first, points, intensities)?;
                self.evaluate_part(second, points, intensities)
            }
        }
    }

    /// Whether it came to its end.
    fn round(&mut self) -> Result<bool, SasError> {
        let space = Space {
            problem: &self.problem,
            projection: &self.projection,
            step: self.differences.one_sided,
        };
        let wanted = match &mut self.phase {
            Phase::Population(evolution) => evolution.wanted(&space),
            Phase::Descents(descents) => descents.wanted(&space),
        };
        let wanted: Vec<Vec<f64>> = wanted
            .iter()
            .map(|searched| self.projection.all(&self.problem, searched))
            .collect();
        let mut vectors: Vec<Vector> = wanted
            .iter()
            .map(|values| self.projection.bare(&self.problem, values))
            .collect();
        let flat_wanted = !self.flat_known;
        if flat_wanted {
            vectors.push(self.projection.background_alone(&self.problem));
        }
        let Some(mut intensities) = self.evaluate(&vectors, true)? else {
            return Ok(false);
        };
        if flat_wanted {
            if let Some(flat) = intensities.pop()
                && flat.iter().all(|v| v.is_finite())
            {
                self.projection.flat = flat;
            }
            self.flat_known = true;
        }
        let trials: Vec<Trial> = wanted
            .into_iter()
            .zip(&intensities)
            .map(|(values, bare)| self.projection.trial(&self.problem, values, bare))
            .collect();
        let space = Space {
            problem: &self.problem,
            projection: &self.projection,
            step: self.differences.one_sided,
        };
        let polish = match &mut self.phase {
            Phase::Population(evolution) => {
                evolution.told(&space, trials);
                let best = evolution.best().filter(|_| evolution.stopped().is_some());
                let figures = (evolution.len(), evolution.generations());
                best.cloned().map(|best| (best, figures))
            }
            Phase::Descents(descents) => {
                descents.told(&space, trials);
                if self.idle.is_none() {
                    self.idle = Some(descents.idle());
                }
                None
            }
        };
        if let Some((best, figures)) = polish {
            self.population = Some(figures);
            let descents = MultiStart::new(
                &self.space(),
                self.projection.of(&best.values),
                1,
                self.options.seed,
                self.options.iterations,
            );
            self.phase = Phase::Descents(descents);
            self.carried = Some(best);
        }
        Ok(true)
    }

    /// Figures so far, also of a fit that somebody stopped, and its intensities beside the data's. Computes the
    /// derivatives at the best values: central differences, all in one batch.
    ///
    /// # Errors
    /// The engine's; nothing was computed yet, or nothing finite.
    pub fn outcome(&mut self) -> Result<(Outcome, Comparison), SasError> {
        let begun = Instant::now();
        let model = self.problem.calculation().definition.name().to_owned();
        let why = match &self.refused {
            Some(refused) => format!(" ({refused})"),
            None => String::new(),
        };
        let not_finite = || {
            SasError::Refused(format!(
                "{model}: no finite intensities were found{why}; other bounds or a start elsewhere may help"
            ))
        };
        let values = self.best().ok_or_else(not_finite)?.to_vec();
        let (plan, vectors) = self.central(&values);
        let intensities = self.evaluate(&vectors, false)?.unwrap_or_default();
        let at = self
            .projection
            .trial(&self.problem, values, &intensities[0]);
        if !at.chi2.is_finite() {
            return Err(not_finite());
        }
        let jacobian = self.jacobian(&at, &plan, &intensities);
        let parameters = self.problem.parameters();
        let at_bound: Vec<Option<Bound>> = parameters
            .iter()
            .zip(&at.values)
            .map(|(parameter, value)| {
                let near = |bound: f64| (value - bound).abs() <= 1e-9 * parameter.size(*value);
                match parameter.bounds {
                    (low, _) if near(low) => Some(Bound::Least),
                    (_, high) if near(high) => Some(Bound::Greatest),
                    _ => None,
                }
            })
            .collect();
        let held: Vec<bool> = at_bound.iter().map(Option::is_some).collect();
        let points = self.problem.measured().intensity.len();
        let degrees_of_freedom = self.problem.degrees_of_freedom();
        let reduced = (degrees_of_freedom > 0).then(|| at.chi2 / degrees_of_freedom as f64);
        let factor = match reduced {
            Some(reduced) if !self.problem.measured().known_sigma => reduced,
            _ => 1.0,
        };
        let statistics = Statistics::new(&jacobian, &held, factor, self.differences.noise);
        self.searching += begun.elapsed();
        let fitted = (0..parameters.len())
            .map(|i| {
                let parameter = &parameters[i];
                let finite = |bound: f64| bound.is_finite().then_some(bound);
                Fitted {
                    name: parameter.name.clone(),
                    units: parameter.units,
                    value: at.values[i],
                    uncertainty: statistics.uncertainty[i],
                    low: finite(parameter.bounds.0),
                    high: finite(parameter.bounds.1),
                    start: parameter.start,
                    at_bound: at_bound[i],
                }
            })
            .collect();
        let (stop, minima, iterations) = self.course();
        let notes = self.notes(&statistics, &at_bound, stop, &minima);
        let fixed = self.problem.fixed().into_iter();
        let outcome = Outcome {
            model,
            data: self.problem.measured().title.clone(),
            method: self.options.method,
            stop,
            converged: stop.converged(),
            parameters: fitted,
            fixed: fixed.map(|(name, value)| Fixed { name, value }).collect(),
            chi2: at.chi2,
            chi2_per_point: at.chi2 / points as f64,
            reduced_chi2: reduced,
            points,
            degrees_of_freedom,
            known_sigma: self.problem.measured().known_sigma,
            covariance: statistics.covariance,
            correlation: statistics.correlation,
            minima,
            starts: match self.options.method {
                Method::LevenbergMarquardt => self.options.starts,
                Method::Evolution => 1,
            },
            population: self.population().map(|(members, _)| members),
            seed: self.options.seed,
            iterations,
            generations: self.population().map_or(0, |(_, generations)| generations),
            evaluations: self.evaluations,
            batches: self.batches,
            seconds: self.searching.as_secs_f64(),
            setup: self.engine.setup(),
            notes,
            version: env!("CARGO_PKG_VERSION"),
            history: self.entries.clone(),
        };
        let measured = self.problem.measured();
        let pairs = measured.intensity.iter().zip(&measured.sigma);
        let model = pairs
            .zip(&at.residuals)
            .map(|((intensity, sigma), residual)| intensity - residual * sigma)
            .collect();
        let comparison = Comparison {
            measured: measured.clone(),
            model,
        };
        Ok((outcome, comparison))
    }

    /// Members and generations.
    fn population(&self) -> Option<(usize, usize)> {
        match &self.phase {
            Phase::Population(evolution) => Some((evolution.len(), evolution.generations())),
            Phase::Descents(_) => self.population,
        }
    }

    fn course(&self) -> (Stop, Vec<Minimum>, usize) {
        match &self.phase {
            Phase::Population(_) => (Stop::Interrupted, Vec::new(), 0),
            Phase::Descents(descents) => (
                descents.stopped().unwrap_or(Stop::Interrupted),
                descents.minima(&self.space()),
                descents.iterations(),
            ),
        }
    }

    /// The values themselves, then each number searched a little less and a little more, as far as bounds allow;
    /// and these (less, more).
    fn central(&self, values: &[f64]) -> (Vec<(f64, f64)>, Vec<Vector>) {
        let mut vectors = vec![self.projection.bare(&self.problem, values)];
        let mut plan = Vec::new();
        for i in &self.projection.searched {
            let parameter = &self.problem.parameters()[*i];
            let step = self.differences.central * parameter.size(values[*i]);
            let (low, high) = parameter.bounds;
            let ends = ((values[*i] - step).max(low), (values[*i] + step).min(high));
            for end in [ends.0, ends.1] {
                let mut moved = values.to_vec();
                moved[*i] = end;
                vectors.push(self.projection.bare(&self.problem, &moved));
            }
            plan.push(ends);
        }
        (plan, vectors)
    }

    /// Derivatives of the model over σ, (point, parameter), scale and background included.
    fn jacobian(&self, at: &Trial, plan: &[(f64, f64)], intensities: &[Vec<f64>]) -> DMatrix<f64> {
        let measured = self.problem.measured();
        let scale = self.projection.scale(&at.values);
        let points = measured.intensity.len();
        let mut jacobian = DMatrix::zeros(points, at.values.len());
        let mut fill = |column: usize, slope: &dyn Fn(usize) -> f64| {
            for (point, place) in jacobian.column_mut(column).iter_mut().enumerate() {
                *place = slope(point) / measured.sigma[point];
            }
        };
        for (k, (i, (low, high))) in self.projection.searched.iter().zip(plan).enumerate() {
            let (less, more) = (&intensities[1 + 2 * k], &intensities[2 + 2 * k]);
            fill(*i, &|point| {
                scale * (more[point] - less[point]) / (high - low)
            });
        }
        let [of_scale, of_background] = self.projection.solved();
        for (column, basis) in [
            (of_scale, &intensities[0]),
            (of_background, &self.projection.flat),
        ] {
            if let Some(column) = column {
                fill(column, &|point| basis[point]);
            }
        }
        jacobian
    }

    fn notes(
        &self,
        statistics: &Statistics,
        at_bound: &[Option<Bound>],
        stop: Stop,
        minima: &[Minimum],
    ) -> Vec<String> {
        let mut notes = self.problem.measured().notes.clone();
        let parameters = self.problem.parameters();
        let name = |i: usize| parameters[i].name.as_str();
        if !stop.converged() {
            notes.push(format!("not converged: {}", stop.words()));
        }
        if stop == Stop::Flat {
            notes.push(
                "the best scale at the start may be 0, where no parameter matters: begin elsewhere, or with several starts"
                    .to_owned(),
            );
        }
        let stopped: Vec<&str> = (0..parameters.len())
            .filter(|i| at_bound[*i].is_some())
            .map(name)
            .collect();
        if !stopped.is_empty() {
            notes.push(format!(
                "{} stopped at a bound: uncertainties of the others take it for known",
                stopped.join(", ")
            ));
        }
        let idle = self.idle.iter().flatten();
        let idle: Vec<&str> = idle
            .filter_map(|j| self.projection.searched.get(*j))
            .map(|i| name(*i))
            .collect();
        if !idle.is_empty() {
            notes.push(format!(
                "{} had no effect on the intensities where the search began",
                idle.join(", ")
            ));
        }
        if !statistics.undetermined.is_empty() {
            let names: Vec<&str> = statistics.undetermined.iter().map(|i| name(*i)).collect();
            notes.push(format!(
                "the data do not determine {}: fit fewer, or set one of them",
                names.join(", ")
            ));
        }
        for (a, row) in statistics.correlation.iter().enumerate() {
            for (b, value) in row.iter().enumerate().skip(a + 1) {
                if let Some(value) = value
                    && value.abs() >= CORRELATED
                {
                    notes.push(format!(
                        "{} and {} are correlated ({value:.3}): the data hardly tell them apart",
                        name(a),
                        name(b)
                    ));
                }
            }
        }
        if minima.len() > 1 {
            notes.push(format!(
                "the starts found {} distinct minima; the best is told",
                minima.len()
            ));
        }
        notes
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

impl Iterate for Fit<'_> {
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

    fn advance(&mut self) -> Result<(), SasError> {
        let begun = Instant::now();
        if !self.round()? {
            return Ok(());
        }
        self.rounds += 1;
        self.searching += begun.elapsed();
        let chi2 = self.best_trial().map_or(f64::INFINITY, |best| best.chi2);
        let running = match &self.phase {
            Phase::Population(evolution) => evolution.len(),
            Phase::Descents(descents) => descents.running(),
        };
        self.entries.push(Entry {
            iteration: self.rounds,
            chi2,
            chi2_per_point: chi2 / self.problem.measured().intensity.len() as f64,
            running,
            evaluations: self.evaluations,
        });
        Ok(())
    }

    /// An engine answers when it is done: nothing is under way.
    fn settle(&mut self) -> Result<(), SasError> {
        Ok(())
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// A fit is short, and its best values are all that a new one needs to go on from.
    fn checkpoint(&mut self) -> Result<(), SasError> {
        Ok(())
    }
}
