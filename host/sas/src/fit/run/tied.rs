//! Values of tied parameters at the minimum, with uncertainties by linear error propagation.

use super::Fit;
use crate::fit::Statistics;
use crate::fit::fit_result::Tied;
use crate::{Target, Vector};

impl Fit<'_> {
    /// Tied values at `values`. The variance of t is Σ ∂t/∂a ∂t/∂b cov(a, b) over the fitted
    /// parameters that are not `held` at a bound; t has no uncertainty if one of them has none, or
    /// if it depends on none.
    pub(super) fn tied(&self, values: &[f64], statistics: &Statistics, held: &[bool]) -> Vec<Tied> {
        let problem = &self.problem;
        if problem.ties().is_empty() {
            return Vec::new();
        }
        let ends: Vec<([Vector; 2], f64)> = (0..values.len())
            .map(|i| {
                let parameter = &problem.parameters()[i];
                let step = self.differences.central * parameter.size(values[i]);
                let (low, high) = parameter.bounds;
                let ends = [(values[i] - step).max(low), (values[i] + step).min(high)];
                let moved = ends.map(|end| {
                    let mut moved = values.to_vec();
                    moved[i] = end;
                    problem.vector(&moved)
                });
                (moved, ends[1] - ends[0])
            })
            .collect();
        let best = problem.vector(values);
        let uncertainty = |target: Target| {
            let slopes: Vec<(usize, f64)> = ends
                .iter()
                .enumerate()
                .filter(|(i, _)| !held[*i])
                .map(|(i, ([less, more], step))| (i, (more.get(target) - less.get(target)) / step))
                .filter(|(_, slope)| *slope != 0.0)
                .collect();
            if slopes.is_empty() {
                return None;
            }
            let mut variance = 0.0;
            for (a, of_a) in &slopes {
                for (b, of_b) in &slopes {
                    variance += of_a * of_b * statistics.covariance[*a][*b]?;
                }
            }
            Some(variance.max(0.0).sqrt()).filter(|sigma| sigma.is_finite())
        };
        let ties = problem.ties().iter();
        ties.map(|(tie, target)| Tied {
            name: problem.name_of(target),
            units: problem.units_of(target),
            value: best.get(target),
            uncertainty: uncertainty(target),
            expression: tie.expression.text().to_owned(),
        })
        .collect()
    }
}
