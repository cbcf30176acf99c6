//! Notes that accompany the result of a fit.

use super::Fit;
use crate::fit::multi_start::Minimum;
use crate::fit::{Bound, Statistics, Stop};
use crate::{Vector, is_unsolved, unsolved};
use warpstride_core::text::{shortest, significant};

/// Least absolute correlation that is reported.
const CORRELATED: f64 = 0.98;

/// A reduced χ² above this value means that the model does not describe the data.
const POOR: f64 = 10.0;

/// A note that a model is negative at some points.
pub(super) fn negative(model: &[f64]) -> Option<String> {
    let negative = model.iter().filter(|v| **v < 0.0).count();
    (negative > 0).then(|| {
        format!(
            "{negative} of {} intensities of the model are negative",
            model.len()
        )
    })
}

impl Fit<'_> {
    /// Reasons why the result may be meaningless; `reduced`: the reduced χ² if the uncertainties of
    /// the data are known.
    pub(super) fn problems(&self, reduced: Option<f64>, best: &Vector) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(reduced) = reduced.filter(|reduced| *reduced > POOR) {
            problems.push(format!(
                "the model does not describe the data: χ² per degree of freedom: expected about 1, found {}; the uncertainties of the parameters mean nothing",
                significant(reduced, 4)
            ));
        }
        let sets = self.problem.sets().iter();
        let mut unsolvable = sets.filter(|set| is_unsolved(&set.calculation, &set.part(best)));
        if let Some(set) = unsolvable.next() {
            problems.push(unsolved(&set.calculation));
        }
        problems
    }

    pub(super) fn notes(
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
            notes.push(format!("not converged: {}", stop.description()));
        }
        if stop == Stop::Flat {
            notes.push(
                "the best scale at the start may be 0, where no parameter has an effect: choose another start, or several starts"
                    .to_owned(),
            );
        }
        let stopped: Vec<&str> = (0..parameters.len())
            .filter(|i| at_bound[*i].is_some() && !statistics.undetermined.contains(i))
            .map(name)
            .collect();
        if !stopped.is_empty() {
            notes.push(format!(
                "{} stopped at a bound and counts as known in the uncertainties of the others",
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
                "{} had no effect on the intensities at the start of the search",
                idle.join(", ")
            ));
        }
        let beyond = |i: usize| statistics.beyond_bounds.iter().any(|(at, _)| *at == i);
        let undetermined = statistics.undetermined.iter();
        let names: Vec<&str> = undetermined
            .filter(|i| !beyond(**i))
            .map(|i| name(*i))
            .collect();
        if !names.is_empty() {
            notes.push(format!(
                "the data do not determine {}: fit fewer parameters, or set one of these",
                names.join(", ")
            ));
        }
        for (i, uncertainty) in &statistics.beyond_bounds {
            let (low, high) = parameters[*i].bounds;
            notes.push(format!(
                "the uncertainty of {}, {}, exceeds the distance of its bounds, {} to {}: the data do not determine it between them; give wider bounds, or set it with --set",
                name(*i),
                significant(*uncertainty, 2),
                shortest(low),
                shortest(high)
            ));
        }
        for (a, row) in statistics.correlation.iter().enumerate() {
            for (b, value) in row.iter().enumerate().skip(a + 1) {
                if let Some(value) = value
                    && value.abs() >= CORRELATED
                {
                    notes.push(format!(
                        "{} and {} are correlated ({value:.3}): the data hardly distinguish them",
                        name(a),
                        name(b)
                    ));
                }
            }
        }
        if minima.len() > 1 {
            notes.push(format!(
                "the starts found {} distinct minima; the best one is reported",
                minima.len()
            ));
        }
        notes
    }
}
