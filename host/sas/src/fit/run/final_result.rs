//! The result of a fit: values, derivatives, uncertainties, and the intensities of model and data.

use super::{Fit, Method, Phase};
use crate::fit::Comparison;
use crate::fit::data_set::Member;
use crate::fit::fit_result::{DataSetResult, FitResult, Fitted, Fixed};
use crate::fit::linear::Trial;
use crate::fit::multi_start::Minimum;
use crate::fit::search::Search as _;
use crate::fit::{Bound, Statistics, Stop};
use crate::{SasError, Vector};
use nalgebra::DMatrix;
use std::time::Instant;
use warpstride_core::run::RunRecord;

use super::notes::negative;

impl Fit<'_> {
    /// The result so far, also of an interrupted fit, and the intensities of model and data.
    /// Computes the derivatives at the best values by central differences, all in one batch.
    ///
    /// # Errors
    /// An error of the engine, or no finite intensities were computed.
    pub fn result(&mut self) -> Result<(FitResult, Comparison), SasError> {
        let begun = Instant::now();
        let model = self.problem.calculation().definition.name().to_owned();
        let why = match &self.refused {
            Some(refused) => format!(" ({refused})"),
            None => String::new(),
        };
        let not_finite = || {
            SasError::Refused(format!(
                "{model}: no finite intensities were found{why}; try other bounds or another start"
            ))
        };
        let values = self.best().ok_or_else(not_finite)?.to_vec();
        let (plan, vectors) = self.central(&values);
        let intensities = self.evaluate(&vectors, false)?.unwrap_or_default();
        let at = self.projection.trial(
            &self.problem,
            values,
            &intensities[..self.projection.vectors()],
        );
        if !at.chi2.is_finite() {
            return Err(not_finite());
        }
        let jacobian = self.jacobian(&at, &plan, &intensities);
        let parameters = self.problem.parameters();
        let points = self.problem.measured().intensity.len();
        let degrees_of_freedom = self.problem.degrees_of_freedom();
        let reduced = (degrees_of_freedom > 0).then(|| at.chi2 / degrees_of_freedom as f64);
        let factor = match reduced {
            Some(reduced) if !self.problem.measured().known_sigma => reduced,
            _ => 1.0,
        };
        let noise = self.differences.noise;
        // With no parameter held, to know how near to a bound each one is.
        let all_free = Statistics::new(&jacobian, &vec![false; parameters.len()], factor, noise);
        let at_bound: Vec<Option<Bound>> = (0..parameters.len())
            .map(|i| parameters[i].at_bound(at.values[i], all_free.uncertainty[i]))
            .collect();
        let held: Vec<bool> = at_bound.iter().map(Option::is_some).collect();
        let bounds: Vec<(f64, f64)> = parameters
            .iter()
            .map(|parameter| parameter.bounds)
            .collect();
        let statistics = Statistics::new(&jacobian, &held, factor, noise)
            .without(&all_free.undetermined)
            .within(&bounds);
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
        let (stop, minima, iterations) = self.stop_minima_and_iterations();
        let notes = self.notes(&statistics, &at_bound, stop, &minima);
        let fixed = self.problem.fixed().into_iter();
        let mut record = RunRecord::new(self.engine.setup(), self.searching.as_secs_f64());
        record.notes = notes;
        let tied = self.tied(&at.values, &statistics, &held);
        let known_sigma = self.problem.measured().known_sigma;
        let vector = self.problem.vector(&at.values);
        let mut result = FitResult {
            record,
            problems: self.problems(reduced.filter(|_| known_sigma), &vector),
            model,
            data: self.problem.measured().title.clone(),
            method: self.options.method,
            stop,
            converged: stop.converged(),
            parameters: fitted,
            tied,
            fixed: fixed.map(|(name, value)| Fixed { name, value }).collect(),
            data_sets: self.data_sets(&at.residuals),
            chi2: at.chi2,
            chi2_per_point: at.chi2 / points as f64,
            reduced_chi2: reduced,
            points,
            degrees_of_freedom,
            known_sigma,
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
            history: self.entries.clone(),
        };
        let measured = self.problem.measured();
        let pairs = measured.intensity.iter().zip(&measured.sigma);
        let model = pairs
            .zip(&at.residuals)
            .map(|((intensity, sigma), residual)| intensity - residual * sigma)
            .collect::<Vec<f64>>();
        result.record.notes.extend(negative(&model));
        for set in self.problem.sets() {
            let cut = set.calculation.notes_on_distributions(&set.part(&vector));
            result.record.notes.extend(cut);
        }
        let comparison = Comparison {
            measured: measured.clone(),
            model,
        };
        Ok((result, comparison))
    }

    /// χ² of each set of data, if there are several.
    fn data_sets(&self, residuals: &[f64]) -> Vec<DataSetResult> {
        let sets = self.problem.sets();
        if sets.len() == 1 {
            return Vec::new();
        }
        let of_set = |set: &Member| {
            let residuals = residuals.get(set.points.clone()).unwrap_or_default();
            let chi2 = residuals.iter().map(|r| r * r).sum::<f64>();
            DataSetResult {
                data: set.measured.title.clone(),
                points: residuals.len(),
                chi2,
                chi2_per_point: chi2 / residuals.len() as f64,
            }
        };
        sets.iter().map(of_set).collect()
    }

    /// Numbers of members and of generations of the population.
    fn population(&self) -> Option<(usize, usize)> {
        match &self.phase {
            Phase::Population(evolution) => Some((evolution.len(), evolution.generations())),
            Phase::Descents(_) => self.population,
        }
    }

    fn stop_minima_and_iterations(&self) -> (Stop, Vec<Minimum>, usize) {
        match &self.phase {
            Phase::Population(_) => (Stop::Interrupted, Vec::new(), 0),
            Phase::Descents(descents) => (
                descents.stopped().unwrap_or(Stop::Interrupted),
                descents.minima(&self.space()),
                descents.iterations(),
            ),
        }
    }

    /// Vectors for central differences: the values themselves, then each search parameter decreased
    /// and increased by a step, within its bounds. Returns the ends (decreased, increased) and the
    /// vectors.
    fn central(&self, values: &[f64]) -> (Vec<(f64, f64)>, Vec<Vector>) {
        let mut vectors = self.projection.bare(&self.problem, values);
        let mut plan = Vec::new();
        let relative = self.differences.at(&self.problem, values).central;
        for i in &self.projection.searched {
            let parameter = &self.problem.parameters()[*i];
            let step = relative * parameter.size(values[*i]);
            let (low, high) = parameter.bounds;
            let ends = ((values[*i] - step).max(low), (values[*i] + step).min(high));
            for end in [ends.0, ends.1] {
                let mut moved = values.to_vec();
                moved[*i] = end;
                vectors.extend(self.projection.bare(&self.problem, &moved));
            }
            plan.push(ends);
        }
        (plan, vectors)
    }

    /// Derivatives of the model divided by σ, (point, parameter), including scale and background.
    fn jacobian(&self, at: &Trial, plan: &[(f64, f64)], intensities: &[Vec<f64>]) -> DMatrix<f64> {
        let measured = self.problem.measured();
        let points = measured.intensity.len();
        let mut jacobian = DMatrix::zeros(points, at.values.len());
        let mut fill = |column: usize, slopes: &[f64]| {
            let entries = jacobian.column_mut(column);
            for ((entry, slope), sigma) in entries.into_iter().zip(slopes).zip(&measured.sigma) {
                *entry = slope / sigma;
            }
        };
        let mut of_vectors = intensities.chunks(self.projection.vectors());
        let bare = of_vectors.next().unwrap_or_default();
        for (i, ends) in self.projection.searched.iter().zip(plan) {
            let less = of_vectors.next().unwrap_or_default();
            let more = of_vectors.next().unwrap_or_default();
            let projection = &self.projection;
            let slopes = projection.slopes(&self.problem, &at.values, *i, *ends, (less, more));
            fill(*i, &slopes);
        }
        let solved = self
            .projection
            .solved_slopes(&self.problem, &at.values, bare);
        for (column, slopes) in solved {
            fill(column, &slopes);
        }
        jacobian
    }
}
