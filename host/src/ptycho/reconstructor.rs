//! The course of a whole reconstruction: engines in order, when figures are due, when to stop.

use super::{Engine, EngineError, EngineSpec, EngineState, Problem, Recipe, Step, StepErrors};
use crate::data::HistoryEntry;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Instant;

/// The stopping rule compares means over so many iterations.
const STOP_WINDOW: usize = 10;

/// Where a run is; with an [`EngineState`] all that is needed to go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Place {
    /// Index into the recipe's engines.
    pub engine: usize,
    /// Iterations of this engine that are done.
    pub iteration: usize,
    /// Iterations of the whole run that are done.
    pub total: usize,
    /// Seconds spent.
    pub seconds: f64,
    /// Figures so far.
    pub history: Vec<HistoryEntry>,
}

/// Runs the engines of a recipe one step at a time.
pub struct Reconstructor {
    engine: Box<dyn Engine>,
    specs: Vec<EngineSpec>,
    poisson_bound: f64,
    mean_power: f64,
    frames: usize,
    place: Place,
    /// (iteration of the run, engine) of steps whose figures are not here yet.
    pending: VecDeque<(usize, &'static str)>,
    clock: Instant,
    before: f64,
}

impl Reconstructor {
    /// Starts at the beginning.
    #[must_use]
    pub fn new(engine: Box<dyn Engine>, problem: &Problem, recipe: &Recipe) -> Self {
        let mut new = Self {
            engine,
            specs: recipe.engines.clone(),
            poisson_bound: problem.poisson_bound,
            mean_power: problem.mean_power,
            frames: problem.shape()[0],
            place: Place::default(),
            pending: VecDeque::new(),
            clock: Instant::now(),
            before: 0.0,
        };
        new.skip_finished();
        new
    }

    /// Goes on from a checkpoint.
    ///
    /// # Errors
    /// The state is of another run.
    pub fn resume(&mut self, place: Place, state: &EngineState) -> Result<(), EngineError> {
        self.engine.restore(state)?;
        self.before = place.seconds;
        self.place = place;
        self.clock = Instant::now();
        self.skip_finished();
        Ok(())
    }

    /// Iterations planned in all.
    #[must_use]
    pub fn planned(&self) -> usize {
        self.specs.iter().map(|s| s.iterations).sum()
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The engine, for its results.
    pub fn engine(&mut self) -> &mut dyn Engine {
        self.engine.as_mut()
    }

    /// Whether nothing is left to do.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.place.engine >= self.specs.len()
    }

    /// One iteration; the history grows by what is finished. Does nothing at the end.
    ///
    /// # Errors
    /// The engine's.
    pub fn advance(&mut self) -> Result<(), EngineError> {
        let Some(spec) = self.specs.get(self.place.engine) else { return Ok(()) };
        let iteration = self.place.iteration + 1;
        let last = iteration == spec.iterations;
        let due = spec.metrics_every > 0 && iteration.is_multiple_of(spec.metrics_every);
        let step = self.resolve(spec, self.place.total + 1, due || last);
        let name = spec.name.as_str();
        let judged = spec.stop_below_change.is_some() && iteration.is_multiple_of(STOP_WINDOW);
        self.engine.step(&step)?;
        self.place.iteration = iteration;
        self.place.total += 1;
        self.pending.push_back((self.place.total, name));
        self.collect(last || judged)?;
        if last || (judged && self.stalled()) {
            if !last && !step.metrics {
                self.measure_end()?;
            }
            self.place.engine += 1;
            self.place.iteration = 0;
            self.skip_finished();
        }
        Ok(())
    }

    /// Waits for every queued iteration, so that the history is complete.
    ///
    /// # Errors
    /// The engine's.
    pub fn settle(&mut self) -> Result<(), EngineError> {
        self.collect(true)
    }

    fn resolve(&self, spec: &EngineSpec, run_iteration: usize, metrics: bool) -> Step {
        Step {
            coefficients: spec.coefficients(),
            bound: spec.bound(self.poisson_bound),
            update_object: spec.update_object,
            update_probe: spec.update_probe && run_iteration >= spec.probe_from,
            overlap_loops: spec.overlap_loops,
            overlap_tolerance: spec.overlap_tolerance,
            object_weight: spec.object_inertia * self.mean_power,
            probe_weight: spec.probe_inertia * self.frames as f64,
            clip_object: spec.clip_object,
            probe_support: spec.probe_support,
            probe_fourier_support: spec.probe_fourier_support,
            centre_tolerance: spec.probe_centre_tolerance,
            metrics,
        }
    }

    fn collect(&mut self, all: bool) -> Result<(), EngineError> {
        let finished = self.engine.errors(all)?;
        self.place.seconds = self.before + self.clock.elapsed().as_secs_f64();
        for StepErrors { fourier, exit, metrics } in finished {
            let Some((iteration, engine)) = self.pending.pop_front() else { break };
            self.place.history.push(HistoryEntry {
                iteration,
                engine: engine.into(),
                err_fourier: fourier,
                err_exit: exit,
                err_phot: metrics.map(|m| m.0),
                r_factor: metrics.map(|m| m.1),
                seconds: self.place.seconds,
            });
        }
        Ok(())
    }

    /// Gives the last entry its err_phot and R when an engine stopped between two measurements.
    fn measure_end(&mut self) -> Result<(), EngineError> {
        let (photon, r) = self.engine.metrics()?;
        if let Some(entry) = self.place.history.last_mut() {
            (entry.err_phot, entry.r_factor) = (Some(photon), Some(r));
        }
        Ok(())
    }

    fn stalled(&self) -> bool {
        let Some(limit) = self.specs[self.place.engine].stop_below_change else { return false };
        let done = self.place.iteration;
        let history = &self.place.history;
        if done < 2 * STOP_WINDOW || history.len() < 2 * STOP_WINDOW {
            return false;
        }
        let mean = |entries: &[HistoryEntry]| {
            entries.iter().map(|e| e.err_fourier).sum::<f64>() / entries.len() as f64
        };
        let recent = history.len() - STOP_WINDOW;
        let (before, now) = (mean(&history[recent - STOP_WINDOW..recent]), mean(&history[recent..]));
        before - now < limit * before
    }

    fn skip_finished(&mut self) {
        while self.specs.get(self.place.engine).is_some_and(|s| s.iterations == 0) {
            self.place.engine += 1;
        }
    }
}
