//! A reconstruction as steps of a [`Run`](warpstride_core::run::Run); it writes checkpoints, and
//! stops when its metrics are not finite.

use super::checkpointing::{CheckpointError, SavedRun, fingerprint};
use crate::data::{HistoryEntry, Scan};
use crate::{EngineError, EngineState, Origin, Profile, Reconstructor};
use std::path::{Path, PathBuf};
use warpstride_core::run::Steps;

/// Why a reconstruction ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A checkpoint cannot be read or written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// NaN or infinity.
    #[error(
        "the reconstruction diverged: {metric} of iteration {iteration} ({engine}) is {found}; nothing was written (weaker values of alpha or beta, clip_object or another start probe may help)"
    )]
    Diverged {
        /// Name of the metric or array.
        metric: String,
        /// Number of the iteration in the run, from 1.
        iteration: usize,
        /// Name of the engine.
        engine: String,
        /// NaN or infinity.
        found: f64,
    },
}

/// The iterations of a [`Reconstructor`], and its checkpoint file.
pub struct ReconstructionSteps<'a> {
    reconstructor: Reconstructor,
    profile: Profile,
    scan: &'a Scan,
    origin: Origin,
    path: PathBuf,
    fingerprint: Option<String>,
    saved: bool,
    /// Entries of the history that were returned.
    returned: usize,
}

/// A reconstruction with its history.
pub type Run<'a> = warpstride_core::run::Run<ReconstructionSteps<'a>>;

impl<'a> ReconstructionSteps<'a> {
    /// A run from the beginning; checkpoints go to `path`.
    #[must_use]
    pub fn new(reconstructor: Reconstructor, scan: &'a Scan, origin: Origin, path: &Path) -> Self {
        let path = path.to_owned();
        Self {
            reconstructor,
            profile: Profile::default(),
            scan,
            origin,
            path,
            fingerprint: None,
            saved: false,
            returned: 0,
        }
    }

    /// Times what the device does in the first `iterations`; an engine without a device has no
    /// times.
    #[must_use]
    pub fn with_profile(mut self, iterations: usize) -> Self {
        self.profile = Profile::of_next(iterations);
        self
    }

    /// What was profiled: the iterations that were asked for, or those done so far, after which no
    /// more are profiled.
    ///
    /// # Errors
    /// The engine's error.
    pub fn profile(&mut self) -> Result<&Profile, EngineError> {
        self.profile.end(&mut self.reconstructor)?;
        Ok(&self.profile)
    }

    /// Resumes from a saved run, which was read from `from`.
    ///
    /// # Errors
    /// The state is of another scan, shape or precision.
    pub fn resume(&mut self, saved: &SavedRun, from: &Path) -> Result<(), RunError> {
        saved.check_scan(from, self.scan)?;
        self.returned = saved.progress.history.len();
        self.fingerprint = Some(saved.fingerprint.clone());
        let progress = saved.progress.clone();
        Ok(self.reconstructor.resume(progress, &saved.state)?)
    }

    /// The reconstructor, for its results.
    pub fn reconstructor(&mut self) -> &mut Reconstructor {
        &mut self.reconstructor
    }

    /// Whether a checkpoint was written, on rank 0.
    #[must_use]
    pub fn saved(&self) -> bool {
        self.saved
    }

    /// The new entries of the history. Metrics that are not finite end the run before they reach a
    /// checkpoint or a result.
    fn check_finite(&mut self) -> Result<Vec<HistoryEntry>, RunError> {
        let progress = self.reconstructor.progress();
        let returned = self.returned.min(progress.history.len());
        let new = &progress.history[returned..];
        for entry in new.iter().chain(&progress.incomplete) {
            let metrics = [
                ("err_fourier", Some(entry.err_fourier)),
                ("err_exit", entry.err_exit),
                ("err_phot", entry.err_phot),
                ("R", entry.r_factor),
                ("R_free", entry.r_free),
            ];
            for (metric, found) in metrics {
                if let Some(found) = found.filter(|v| !v.is_finite()) {
                    return Err(RunError::Diverged {
                        metric: metric.to_owned(),
                        iteration: entry.iteration,
                        engine: entry.engine.clone(),
                        found,
                    });
                }
            }
        }
        self.returned = progress.history.len();
        Ok(new.to_vec())
    }

    /// Refuses a state that is not finite: the iteration that it is from may have no metric that
    /// shows it.
    fn check_state(&self, state: &EngineState) -> Result<(), RunError> {
        let Some((metric, found)) = state.not_finite() else {
            return Ok(());
        };
        let progress = self.reconstructor.progress();
        let last = progress.incomplete.as_ref().or(progress.history.last());
        Err(RunError::Diverged {
            metric: metric.to_owned(),
            iteration: progress.total,
            engine: last.map_or_else(String::new, |entry| entry.engine.clone()),
            found,
        })
    }
}

impl Steps for ReconstructionSteps<'_> {
    type Entry = HistoryEntry;
    type Error = RunError;

    fn planned(&self) -> usize {
        self.reconstructor.planned()
    }

    fn done(&self) -> usize {
        self.reconstructor.progress().total
    }

    fn finished(&self) -> bool {
        self.reconstructor.finished()
    }

    fn advance(&mut self) -> Result<Vec<HistoryEntry>, RunError> {
        self.profile.advance(&mut self.reconstructor)?;
        self.check_finite()
    }

    fn flush(&mut self) -> Result<Vec<HistoryEntry>, RunError> {
        self.reconstructor.flush()?;
        self.check_finite()
    }

    fn checkpoint(&mut self) -> Result<(), RunError> {
        let state = self.reconstructor.engine().save()?;
        self.check_state(&state)?;
        if !self.reconstructor.engine().ranks().is_first() {
            return Ok(());
        }
        let scan = self.scan;
        let fingerprint = match &self.fingerprint {
            Some(known) => known.clone(),
            None => fingerprint(scan).map_err(CheckpointError::from)?,
        };
        self.fingerprint = Some(fingerprint.clone());
        let saved = SavedRun {
            source: self.origin.source.clone(),
            backend: self.reconstructor.engine().setup().backend.to_owned(),
            fingerprint,
            recipe: self.origin.recipe.clone(),
            trials: self.origin.trials.clone(),
            progress: self.reconstructor.progress().clone(),
            state,
        };
        saved.write(&self.path)?;
        self.saved = true;
        Ok(())
    }

    fn agreed(&mut self, wanted: bool) -> Result<bool, RunError> {
        let ranks = self.reconstructor.engine().ranks();
        Ok(ranks.any(wanted).map_err(EngineError::Ranks)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::cpu::CpuEngine;
    use crate::{EngineSpec, Problem, Recipe, SimulateOptions, simulate};

    #[test]
    fn a_diverged_run_does_not_replace_its_last_good_checkpoint() {
        let options = SimulateOptions {
            frame: 16,
            positions: 6,
            ..SimulateOptions::default()
        };
        let scan = simulate(&options).unwrap();
        let recipe = Recipe {
            engines: vec![EngineSpec::parse("dm:4").unwrap()],
            ..Recipe::default()
        };
        let mut problem = Problem::prepare(&scan, &recipe).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("saved");
        let origin = Origin {
            source: "memory".into(),
            recipe: recipe.to_toml().unwrap(),
            trials: String::new(),
        };
        let steps = |problem: &Problem| {
            let engine = Box::new(CpuEngine::<f32>::new(problem));
            let reconstructor = Reconstructor::new(engine, problem, &recipe);
            ReconstructionSteps::new(reconstructor, &scan, origin.clone(), &path)
        };
        let mut good = steps(&problem);
        good.advance().unwrap();
        good.flush().unwrap();
        good.checkpoint().unwrap();
        let saved = std::fs::read(&path).unwrap();

        problem
            .object
            .fill(num_complex::Complex::new(f64::NAN, 0.0));
        let mut bad = steps(&problem);
        let ended = bad.advance().and_then(|_| bad.flush());
        assert!(matches!(ended, Err(RunError::Diverged { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), saved);

        // No metric has shown it yet.
        let mut unseen = steps(&problem);
        let text = unseen.checkpoint().unwrap_err().to_string();
        assert!(
            text.contains("diverged: the object of iteration 0"),
            "{text}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), saved);
    }
}
