//! A relaxation as steps of a [`Run`](warpstride_core::run::Run); it saves its field as it goes.

use super::{Engine, JacobiError, Norm, Real, Span, Stopping};
use ndarray::Array2;
use std::path::{Path, PathBuf};
use warpstride_core::run::Steps;
use warpstride_files::IoError;
use warpstride_files::npy::{self, Element};

/// Why a relaxation ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The engine.
    #[error(transparent)]
    Engine(#[from] JacobiError),
    /// The saved field.
    #[error(transparent)]
    Save(#[from] IoError),
}

/// The sweeps of an engine, and the file of its field.
pub struct RelaxationSteps<'a, T> {
    engine: Box<dyn Engine<T> + 'a>,
    iterations: usize,
    path: Option<PathBuf>,
    timeline: bool,
    spans: Vec<Span>,
    converged: bool,
}

/// A relaxation with the norms of its checked sweeps.
pub type Run<'a, T> = warpstride_core::run::Run<RelaxationSteps<'a, T>>;

impl<'a, T: Real + Element> RelaxationSteps<'a, T> {
    /// The steps of an engine that was made with the same `stopping`; checkpoints of the field go
    /// to `path`, if given.
    #[must_use]
    pub fn new(engine: Box<dyn Engine<T> + 'a>, stopping: Stopping, path: Option<&Path>) -> Self {
        Self {
            engine,
            iterations: stopping.iterations,
            path: path.map(Path::to_owned),
            timeline: false,
            spans: Vec::new(),
            converged: false,
        }
    }

    /// Collects the timeline of the devices, if the engine was made to profile.
    #[must_use]
    pub fn with_timeline(mut self) -> Self {
        self.timeline = true;
        self
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &dyn Engine<T> {
        self.engine.as_ref()
    }

    /// The timeline so far.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Whether the tolerance was met.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// The field after the last sweep, (row, column).
    ///
    /// # Errors
    /// Those of the engine.
    pub fn field(&mut self) -> Result<Array2<T>, JacobiError> {
        self.engine.field()
    }
}

impl<T: Real + Element> Steps for RelaxationSteps<'_, T> {
    type Entry = Norm;
    type Error = RunError;

    fn planned(&self) -> usize {
        self.iterations
    }

    fn done(&self) -> usize {
        self.engine.sweeps()
    }

    fn finished(&self) -> bool {
        self.engine.finished()
    }

    fn advance(&mut self) -> Result<Vec<Norm>, RunError> {
        let advance = self.engine.advance()?;
        self.converged = advance.converged;
        if self.timeline {
            self.spans.extend(self.engine.take_spans()?);
        }
        Ok(advance.norms)
    }

    fn checkpoint(&mut self) -> Result<(), RunError> {
        if let Some(path) = &self.path {
            npy::write(path, self.engine.field()?.view())?;
        }
        Ok(())
    }
}
