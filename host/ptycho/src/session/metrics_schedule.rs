//! The iterations of a run that have all metrics.
//!
//! err_phot, R and R_free of an iteration are computed by the next one, which transforms their
//! model anyway, or by an extra transform at the end of a run. The choice depends on the number of
//! the iteration in the run and in its engine only, so a resumed run has the same history as an
//! uninterrupted one.

use crate::engines::step::StepMetrics;
use crate::{EngineSpec, Recipe, StopRule};

/// Number of iterations of an engine from one check of its stopping rules to the next; they average
/// over as many.
pub(crate) const STOP_WINDOW: usize = 10;

/// When all metrics are computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MetricsSchedule {
    /// All iterations whose number in the run is a multiple of this have them.
    every: usize,
    stop: StopRule,
}

impl MetricsSchedule {
    pub(crate) fn new(recipe: &Recipe) -> Self {
        Self {
            every: recipe.metrics_every.max(1),
            stop: recipe.stop,
        }
    }

    /// The metrics that the next step computes: in iteration `iteration` of the engine `spec`,
    /// which is iteration `total` of the run, both from 1.
    pub(crate) fn of_step(self, spec: &EngineSpec, iteration: usize, total: usize) -> StepMetrics {
        let start = match iteration {
            // The last iteration of the engine before has all metrics.
            0 | 1 => total > 1,
            _ => self.has_all(spec, iteration - 1, total - 1),
        };
        StepMetrics {
            exit: self.has_all(spec, iteration, total),
            start,
        }
    }

    /// Whether iteration `iteration` of the engine `spec`, which is iteration `total` of the run,
    /// has all metrics.
    fn has_all(self, spec: &EngineSpec, iteration: usize, total: usize) -> bool {
        // Batches and conjugate gradients compare the model with the counts to update it.
        let at_no_cost = !spec.name.projects();
        // The engine may end with any iteration in which its rules are checked.
        let may_end = spec.stop_below_change.is_some() && iteration.is_multiple_of(STOP_WINDOW);
        at_no_cost
            || self.stop == StopRule::Auto
            || may_end
            || iteration == 1
            || iteration == spec.iterations
            || total.is_multiple_of(self.every)
    }
}

#[cfg(test)]
mod tests;
