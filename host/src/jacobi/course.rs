//! A relaxation that saves its field as it goes: what [`crate::run::execute`] runs.

use super::{Engine, JacobiError, Norm, Real, Span, Stopping};
use crate::io::IoError;
use crate::io::npy::{self, Element};
use crate::run::Iterate;
use ndarray::Array2;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Why a relaxation ended early.
#[derive(Debug, thiserror::Error)]
pub enum CourseError {
    /// The engine.
    #[error(transparent)]
    Engine(#[from] JacobiError),
    /// The saved field.
    #[error(transparent)]
    Save(#[from] IoError),
}

/// An engine with its norms, its clock and the file of its field.
pub struct Course<'a, T> {
    engine: Box<dyn Engine<T> + 'a>,
    iterations: usize,
    path: Option<PathBuf>,
    timeline: bool,
    norms: Vec<Norm>,
    spans: Vec<Span>,
    converged: bool,
    sweeping: Duration,
}

impl<'a, T: Real + Element> Course<'a, T> {
    /// `stopping` as the engine was told; the field is saved to `path` where there is one.
    #[must_use]
    pub fn new(engine: Box<dyn Engine<T> + 'a>, stopping: Stopping, path: Option<&Path>) -> Self {
        Self {
            engine,
            iterations: stopping.iterations,
            path: path.map(Path::to_owned),
            timeline: false,
            norms: Vec::new(),
            spans: Vec::new(),
            converged: false,
            sweeping: Duration::ZERO,
        }
    }

    /// Keeps what the devices did, where the engine was made to record it.
    #[must_use]
    pub fn with_timeline(mut self) -> Self {
        self.timeline = true;
        self
    }

    /// How it computes.
    #[must_use]
    pub fn engine(&self) -> &dyn Engine<T> {
        self.engine.as_ref()
    }

    /// Norms of the checked sweeps so far.
    #[must_use]
    pub fn norms(&self) -> &[Norm] {
        &self.norms
    }

    /// Work of the devices so far.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Whether the tolerance was met.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// Seconds of the sweeps alone: neither set-up nor saving.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.sweeping.as_secs_f64()
    }

    /// The field after the last sweep, (row, column).
    ///
    /// # Errors
    /// The engine's.
    pub fn field(&mut self) -> Result<Array2<T>, JacobiError> {
        self.engine.field()
    }
}

impl<T: Real + Element> Iterate for Course<'_, T> {
    type Entry = Norm;
    type Error = CourseError;

    fn planned(&self) -> usize {
        self.iterations
    }

    fn done(&self) -> usize {
        self.engine.sweeps()
    }

    fn finished(&self) -> bool {
        self.engine.finished()
    }

    fn advance(&mut self) -> Result<(), CourseError> {
        let begun = Instant::now();
        let advance = self.engine.advance()?;
        self.sweeping += begun.elapsed();
        self.norms.extend(advance.norms);
        self.converged = advance.converged;
        if self.timeline {
            self.spans.extend(self.engine.take_spans()?);
        }
        Ok(())
    }

    /// An engine waits for its sweeps: nothing is under way.
    fn settle(&mut self) -> Result<(), CourseError> {
        Ok(())
    }

    fn entries(&self) -> &[Norm] {
        &self.norms
    }

    fn checkpoint(&mut self) -> Result<(), CourseError> {
        if let Some(path) = &self.path {
            npy::write(path, self.engine.field()?.view())?;
        }
        Ok(())
    }
}
