//! The course of a whole reconstruction: engines in order, when figures are due, when to stop.

use super::{Engine, EngineError, EngineSpec, EngineState, ModelErrors, Problem, Recipe, Step};
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
    /// The last iteration's figures, which lack err_phot and R: the next iteration computes those
    /// of the model that it starts from, at no cost.
    pub open: Option<HistoryEntry>,
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
        self.pending.clear();
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
        let Some(spec) = self.specs.get(self.place.engine) else {
            return Ok(());
        };
        let iteration = self.place.iteration + 1;
        let last = iteration >= spec.iterations;
        let sizes = (self.poisson_bound, self.mean_power, self.frames);
        let step = Step::resolve(spec, sizes, self.place.total + 1);
        let name = spec.name.as_str();
        let judged = spec.stop_below_change.is_some() && iteration.is_multiple_of(STOP_WINDOW);
        self.engine.step(&step)?;
        self.place.iteration = iteration;
        self.place.total += 1;
        self.pending.push_back((self.place.total, name));
        self.collect(judged)?;
        if last || (judged && self.stalled()) {
            self.place.engine += 1;
            self.place.iteration = 0;
            self.skip_finished();
        }
        if self.finished() {
            self.complete()?;
        }
        Ok(())
    }

    /// Waits for every queued iteration; the last one's figures stay open.
    ///
    /// # Errors
    /// The engine's.
    pub fn settle(&mut self) -> Result<(), EngineError> {
        self.collect(true)
    }

    /// Waits, and gives the last iteration its err_phot and R by a transform of their own, so that
    /// the history is whole.
    ///
    /// # Errors
    /// The engine's.
    pub fn complete(&mut self) -> Result<(), EngineError> {
        self.collect(true)?;
        if self.place.open.is_some() {
            let model = self.engine.metrics()?;
            self.close(model);
        }
        Ok(())
    }

    fn collect(&mut self, all: bool) -> Result<(), EngineError> {
        let finished = self.engine.errors(all)?;
        self.place.seconds = self.before + self.clock.elapsed().as_secs_f64();
        for errors in finished {
            let Some((iteration, engine)) = self.pending.pop_front() else {
                break;
            };
            self.close(errors.start);
            self.place.open = Some(HistoryEntry {
                iteration,
                engine: engine.into(),
                err_fourier: errors.fourier,
                err_exit: errors.exit,
                err_phot: None,
                r_factor: None,
                seconds: self.place.seconds,
            });
        }
        Ok(())
    }

    /// Completes the open entry with the figures of the model that it left.
    fn close(&mut self, model: ModelErrors) {
        if let Some(mut entry) = self.place.open.take() {
            (entry.err_phot, entry.r_factor) = (Some(model.photon), Some(model.r_factor));
            self.place.history.push(entry);
        }
    }

    fn stalled(&self) -> bool {
        let Some(limit) = self.specs[self.place.engine].stop_below_change else {
            return false;
        };
        if self.place.iteration < 2 * STOP_WINDOW {
            return false;
        }
        let entries = self.place.history.iter().chain(&self.place.open);
        let errors: Vec<f64> = entries.map(|entry| entry.err_fourier).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let recent = errors.len().saturating_sub(STOP_WINDOW);
        let earlier = recent.saturating_sub(STOP_WINDOW);
        let (before, now) = (mean(&errors[earlier..recent]), mean(&errors[recent..]));
        before - now < limit * before
    }

    fn skip_finished(&mut self) {
        while self
            .specs
            .get(self.place.engine)
            .is_some_and(|s| s.iterations == 0)
        {
            self.place.engine += 1;
        }
    }
}
