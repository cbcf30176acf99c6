//! A reconstruction that saves itself and stops when its figures are no numbers: what
//! [`crate::run::execute`] runs.

use super::checkpointing::{CheckpointError, SavedRun, fingerprint};
use super::{EngineError, Origin, Reconstructor};
use crate::data::{HistoryEntry, Scan};
use crate::run::Iterate;
use std::path::{Path, PathBuf};

/// Why a reconstruction ended early.
#[derive(Debug, thiserror::Error)]
pub enum CourseError {
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// NaN or infinity.
    #[error(
        "the reconstruction diverged: {figure} of iteration {iteration} ({engine}) is {found}; nothing was written (weaker values of alpha or beta, clip_object or another start probe may help)"
    )]
    Diverged {
        /// Which figure.
        figure: &'static str,
        /// Of the run, from 1.
        iteration: usize,
        /// Which engine.
        engine: String,
        /// NaN or infinity.
        found: f64,
    },
}

/// A [`Reconstructor`] with its checkpoint file.
pub struct Course<'a> {
    run: Reconstructor,
    scan: &'a Scan,
    origin: Origin,
    path: PathBuf,
    fingerprint: Option<String>,
    saved: bool,
    /// Entries of the history that were looked at.
    judged: usize,
}

impl<'a> Course<'a> {
    /// A run from the beginning; checkpoints go to `path`.
    #[must_use]
    pub fn new(run: Reconstructor, scan: &'a Scan, origin: Origin, path: &Path) -> Self {
        let path = path.to_owned();
        Self {
            run,
            scan,
            origin,
            path,
            fingerprint: None,
            saved: false,
            judged: 0,
        }
    }

    /// Goes on from a saved run, which was read from `from`.
    ///
    /// # Errors
    /// The state is of another scan, shape or precision.
    pub fn resume(&mut self, saved: SavedRun, from: &Path) -> Result<(), CourseError> {
        saved.check_scan(from, self.scan)?;
        self.judged = saved.place.history.len();
        self.fingerprint = Some(saved.fingerprint);
        Ok(self.run.resume(saved.place, &saved.state)?)
    }

    /// The run inside, for its results.
    pub fn run(&mut self) -> &mut Reconstructor {
        &mut self.run
    }

    /// Whether a checkpoint was written.
    #[must_use]
    pub fn saved(&self) -> bool {
        self.saved
    }

    /// Figures that are no numbers end the run before they reach a checkpoint or a result.
    fn judge(&mut self) -> Result<(), CourseError> {
        let place = self.run.place();
        let known = self.judged.min(place.history.len());
        for entry in place.history[known..].iter().chain(&place.open) {
            let figures = [
                ("err_fourier", Some(entry.err_fourier)),
                ("err_exit", Some(entry.err_exit)),
                ("err_phot", entry.err_phot),
                ("R", entry.r_factor),
            ];
            for (figure, found) in figures {
                if let Some(found) = found.filter(|v| !v.is_finite()) {
                    return Err(CourseError::Diverged {
                        figure,
                        iteration: entry.iteration,
                        engine: entry.engine.clone(),
                        found,
                    });
                }
            }
        }
        self.judged = place.history.len();
        Ok(())
    }
}

impl Iterate for Course<'_> {
    type Entry = HistoryEntry;
    type Error = CourseError;

    fn planned(&self) -> usize {
        self.run.planned()
    }

    fn done(&self) -> usize {
        self.run.place().total
    }

    fn finished(&self) -> bool {
        self.run.finished()
    }

    fn advance(&mut self) -> Result<(), CourseError> {
        self.run.advance()?;
        self.judge()
    }

    fn settle(&mut self) -> Result<(), CourseError> {
        self.run.settle()?;
        self.judge()
    }

    fn entries(&self) -> &[HistoryEntry] {
        &self.run.place().history
    }

    fn checkpoint(&mut self) -> Result<(), CourseError> {
        let scan = self.scan;
        let fingerprint = self
            .fingerprint
            .get_or_insert_with(|| fingerprint(scan))
            .clone();
        let saved = SavedRun {
            source: self.origin.source.clone(),
            backend: self.run.engine().backend().to_owned(),
            fingerprint,
            recipe: self.origin.recipe.clone(),
            place: self.run.place().clone(),
            state: self.run.engine().save()?,
        };
        saved.write(&self.path)?;
        self.saved = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptycho::cpu::CpuEngine;
    use crate::ptycho::{EngineSpec, Problem, Recipe, SimulateOptions, simulate};

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
        let mut problem = Problem::new(&scan, &recipe).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("saved");
        let origin = Origin {
            source: "memory".into(),
            recipe: recipe.to_toml().unwrap(),
        };
        let course = |problem: &Problem| {
            let engine = Box::new(CpuEngine::<f32>::new(problem));
            let run = Reconstructor::new(engine, problem, &recipe);
            Course::new(run, &scan, origin.clone(), &path)
        };
        let mut good = course(&problem);
        good.advance().unwrap();
        good.settle().unwrap();
        good.checkpoint().unwrap();
        let saved = std::fs::read(&path).unwrap();

        problem
            .object
            .fill(num_complex::Complex::new(f64::NAN, 0.0));
        let mut bad = course(&problem);
        let ended = bad.advance().and_then(|()| bad.settle());
        assert!(matches!(ended, Err(CourseError::Diverged { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), saved);
    }
}
