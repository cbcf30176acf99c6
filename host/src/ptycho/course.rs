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
        "the reconstruction diverged: err_fourier of iteration {iteration} ({engine}) is {found}; nothing was written (weaker values of alpha or beta, clip_object or another start probe may help)"
    )]
    Diverged {
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
        let history = &self.run.place().history;
        for entry in &history[self.judged.min(history.len())..] {
            for found in [entry.err_fourier, entry.err_exit] {
                if !found.is_finite() {
                    let (iteration, engine) = (entry.iteration, entry.engine.clone());
                    return Err(CourseError::Diverged {
                        iteration,
                        engine,
                        found,
                    });
                }
            }
        }
        self.judged = history.len();
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
