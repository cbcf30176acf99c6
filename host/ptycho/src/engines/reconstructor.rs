//! The loop of a reconstruction: runs the engines in order, collects metrics, decides when to stop.

use super::step::ScanSizes;
use crate::data::HistoryEntry;
use crate::session::metrics_schedule::{MetricsSchedule, STOP_WINDOW};
use crate::{
    Engine, EngineError, EngineSpec, EngineState, ModelErrors, Problem, Recipe, Step, StopRule,
    Values,
};
use ndarray::Array3;
use num_complex::Complex;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Instant;

/// Positions and intensity scales of the frames from which a run starts.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameStart {
    /// Positions (row, column), object pixels.
    pub positions: Vec<[f64; 2]>,
    /// Factors on the model intensities.
    pub scales: Vec<f64>,
}

/// By which part the mean of R_free must fall from one window to the next, or it no longer falls.
const LEVEL: f64 = 0.005;

/// Progress of a run; together with an [`EngineState`] it is all that is needed to resume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Progress {
    /// Index of the current engine in the recipe.
    pub engine: usize,
    /// Finished iterations of this engine.
    pub iteration: usize,
    /// Finished iterations of the whole run.
    pub total: usize,
    /// Seconds spent in iterations and in waiting for their metrics: without set-up and saving.
    pub seconds: f64,
    /// Metrics of the iterations so far.
    pub history: Vec<HistoryEntry>,
    /// Entry of the last iteration, still without err_phot and R: the next iteration computes them,
    /// if they are wanted, for the model that it starts from.
    #[serde(rename = "open")]
    pub incomplete: Option<HistoryEntry>,
}

/// Runs the engines of a recipe one step at a time.
pub struct Reconstructor {
    engine: Box<dyn Engine>,
    specs: Vec<EngineSpec>,
    stop: StopRule,
    metrics: MetricsSchedule,
    sizes: ScanSizes,
    progress: Progress,
    /// (iteration of the run, engine) of steps whose metrics have not arrived yet.
    pending: VecDeque<(usize, &'static str)>,
    /// When the iteration that is being done, or waited for, began.
    clock: Instant,
    /// Seconds before that.
    before: f64,
}

impl Reconstructor {
    /// Starts a run from the beginning.
    #[must_use]
    pub fn new(engine: Box<dyn Engine>, problem: &Problem, recipe: &Recipe) -> Self {
        let mut new = Self {
            engine,
            specs: recipe.engines.clone(),
            stop: recipe.stop,
            metrics: MetricsSchedule::new(recipe),
            sizes: ScanSizes::new(problem),
            progress: Progress::default(),
            pending: VecDeque::new(),
            clock: Instant::now(),
            before: 0.0,
        };
        new.skip_finished();
        new
    }

    /// Resumes from a saved state.
    ///
    /// # Errors
    /// Returns an error if the state belongs to another run.
    pub fn resume(&mut self, progress: Progress, state: &EngineState) -> Result<(), EngineError> {
        let done = match progress.iteration {
            0 => progress.engine,
            _ => progress.engine + 1,
        };
        let done = &self.specs[..done.min(self.specs.len())];
        if let (Some(last), 1..) = (done.iter().rfind(|s| s.iterations > 0), progress.total) {
            let step = Step::resolve(last, &self.sizes, progress.total);
            self.engine.set_exact(step.subpixel);
        }
        self.engine.restore(state)?;
        self.pending.clear();
        self.before = progress.seconds;
        self.progress = progress;
        self.skip_finished();
        Ok(())
    }

    /// Starts from other positions and intensity scales of the frames than those of the scan.
    /// Before the first iteration.
    ///
    /// # Errors
    /// They are of other frames, or further from those of the scan than the bound of the recipe.
    pub fn start_frames(&mut self, start: &FrameStart) -> Result<(), EngineError> {
        let mut state = self.engine.save()?;
        // Made again from object and probe at the new positions.
        state.drop_exit_waves();
        let complex = |[re, im]: [f64; 2]| Complex::new(re, im);
        state.positions = Values::F64(start.positions.iter().copied().map(complex).collect());
        let scales = start.scales.iter().map(|scale| Complex::from(*scale));
        state.scales = Values::F64(scales.collect());
        self.engine.restore(&state)
    }

    /// Total number of planned iterations.
    #[must_use]
    pub fn planned(&self) -> usize {
        self.specs.iter().map(|s| s.iterations).sum()
    }

    /// Progress so far.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The engine, for reading its results.
    pub fn engine(&mut self) -> &mut dyn Engine {
        self.engine.as_mut()
    }

    /// Whether all iterations are done.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.progress.engine >= self.specs.len()
    }

    /// Runs one iteration and appends finished iterations to the history; does nothing once the run
    /// is finished.
    ///
    /// # Errors
    /// Returns the engine's error.
    pub fn advance(&mut self) -> Result<(), EngineError> {
        self.timed(Self::iterate)
    }

    /// Does `work`, which counts as computing time.
    fn timed(&mut self, work: fn(&mut Self) -> Result<(), EngineError>) -> Result<(), EngineError> {
        self.clock = Instant::now();
        let done = work(self);
        self.before += self.clock.elapsed().as_secs_f64();
        self.progress.seconds = self.before;
        done
    }

    fn iterate(&mut self) -> Result<(), EngineError> {
        let Some(spec) = self.specs.get(self.progress.engine) else {
            return Ok(());
        };
        let iteration = self.progress.iteration + 1;
        let last = iteration >= spec.iterations;
        let total = self.progress.total + 1;
        let step = Step {
            metrics: self.metrics.of_step(spec, iteration, total),
            ..Step::resolve(spec, &self.sizes, total)
        };
        let name = spec.name.as_str();
        let may_stop = spec.stop_below_change.is_some() || self.stop != StopRule::Off;
        let checks_stopping = may_stop && iteration.is_multiple_of(STOP_WINDOW);
        self.engine.step(&step)?;
        self.progress.iteration = iteration;
        self.progress.total = total;
        self.pending.push_back((total, name));
        self.collect(checks_stopping)?;
        if last || (checks_stopping && (self.stalled() || self.risen() || self.levelled())) {
            self.progress.engine += 1;
            self.progress.iteration = 0;
            self.skip_finished();
        }
        if self.finished() {
            self.complete_all()?;
        }
        Ok(())
    }

    /// Waits for every queued iteration; the entry of the last one stays incomplete.
    ///
    /// # Errors
    /// Returns the engine's error.
    pub fn flush(&mut self) -> Result<(), EngineError> {
        self.timed(|run| run.collect(true))
    }

    /// Waits for every queued iteration and computes err_phot and R of the last one with an extra
    /// transform, so that the history ends with those of the present object and probe.
    ///
    /// # Errors
    /// Returns the engine's error.
    pub fn complete(&mut self) -> Result<(), EngineError> {
        self.timed(Self::complete_all)
    }

    fn complete_all(&mut self) -> Result<(), EngineError> {
        self.collect(true)?;
        if self.progress.incomplete.is_some() {
            let model = self.engine.metrics()?;
            self.complete_entry(Some(model));
        }
        Ok(())
    }

    /// Metrics of another object (layer, row, column), probe and scales in the present frames; the
    /// engine stays as it is.
    pub(crate) fn metrics_of(
        &mut self,
        object: &Array3<Complex<f64>>,
        probe: &Array3<Complex<f64>>,
        scales: &[f64],
    ) -> Result<ModelErrors, EngineError> {
        let mut state = self.engine.save()?;
        let own = state.replace(object, probe, scales);
        let found = self
            .engine
            .restore(&state)
            .and_then(|()| self.engine.metrics());
        state.exchange(own);
        self.engine.restore(&state)?;
        found
    }

    fn collect(&mut self, all: bool) -> Result<(), EngineError> {
        let finished = self.engine.errors(all)?;
        self.progress.seconds = self.before + self.clock.elapsed().as_secs_f64();
        for errors in finished {
            let Some((iteration, engine)) = self.pending.pop_front() else {
                break;
            };
            self.complete_entry(errors.start);
            self.progress.incomplete = Some(HistoryEntry {
                iteration,
                engine: engine.into(),
                err_fourier: errors.fourier,
                err_exit: errors.exit,
                err_phot: None,
                r_factor: None,
                r_free: None,
                seconds: self.progress.seconds,
            });
        }
        Ok(())
    }

    /// Completes the last entry with the errors of the model that its iteration produced, if they
    /// were computed.
    fn complete_entry(&mut self, model: Option<ModelErrors>) {
        if let Some(mut entry) = self.progress.incomplete.take() {
            if let Some(model) = model {
                (entry.err_phot, entry.r_factor) = (Some(model.photon), Some(model.r_factor));
                entry.r_free = model.r_free;
            }
            self.progress.history.push(entry);
        }
    }

    fn stalled(&self) -> bool {
        let Some(limit) = self.specs[self.progress.engine].stop_below_change else {
            return false;
        };
        if self.progress.iteration < 2 * STOP_WINDOW {
            return false;
        }
        let entries = self
            .progress
            .history
            .iter()
            .chain(&self.progress.incomplete);
        let errors: Vec<f64> = entries.map(|entry| entry.err_fourier).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let recent = errors.len().saturating_sub(STOP_WINDOW);
        let earlier = recent.saturating_sub(STOP_WINDOW);
        let (before, now) = (mean(&errors[earlier..recent]), mean(&errors[recent..]));
        before - now < limit * before
    }

    /// Whether R_free of this engine has risen twice, from one window to the next. With this rule
    /// every iteration has R_free, but the last one's is not known yet.
    fn risen(&self) -> bool {
        let known = self.progress.iteration.saturating_sub(1);
        let history = &self.progress.history;
        if self.stop != StopRule::Auto || known < 3 * STOP_WINDOW || history.len() < known {
            return false;
        }
        let recent = &history[history.len() - 3 * STOP_WINDOW..];
        let means: Vec<Option<f64>> = recent.chunks(STOP_WINDOW).map(mean_r_free).collect();
        means.windows(2).all(|pair| match pair {
            [Some(before), Some(now)] => now > before,
            _ => false,
        })
    }

    /// Whether R_free of this engine no longer falls, from one window to the next; engines with
    /// exit waves do all their iterations.
    fn levelled(&self) -> bool {
        let known = self.progress.iteration.saturating_sub(1);
        let history = &self.progress.history;
        let applies =
            self.stop == StopRule::Plateau && !self.specs[self.progress.engine].name.projects();
        if !applies || known < 2 * STOP_WINDOW || history.len() < known {
            return false;
        }
        let recent = &history[history.len() - 2 * STOP_WINDOW..];
        let [Some(before), Some(now)] =
            [0, STOP_WINDOW].map(|first| mean_r_free(&recent[first..first + STOP_WINDOW]))
        else {
            return false;
        };
        // Not numbers end it too.
        let falls = now < before * (1.0 - LEVEL);
        !falls
    }

    fn skip_finished(&mut self) {
        while self
            .specs
            .get(self.progress.engine)
            .is_some_and(|s| s.iterations == 0)
        {
            self.progress.engine += 1;
        }
    }
}

/// The mean of R_free, if all entries have it.
fn mean_r_free(entries: &[HistoryEntry]) -> Option<f64> {
    let values = entries.iter().map(|entry| entry.r_free);
    let sum = values.sum::<Option<f64>>()?;
    Some(sum / entries.len() as f64)
}

#[cfg(test)]
mod tests;
