//! Notes that accompany the result of a fit.

use super::Fit;
use crate::sas::fit::multi_start::Minimum;
use crate::sas::fit::{Bound, Statistics, Stop};

/// Least absolute correlation that is reported.
const CORRELATED: f64 = 0.98;

impl Fit<'_> {
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
            .filter(|i| at_bound[*i].is_some())
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
        if !statistics.undetermined.is_empty() {
            let names: Vec<&str> = statistics.undetermined.iter().map(|i| name(*i)).collect();
            notes.push(format!(
                "the data do not determine {}: fit fewer parameters, or set one of these",
                names.join(", ")
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
