//! What the device does in the first iterations of a run.

use crate::{EngineError, Reconstructor};
use warpstride_cuda::gpu::ProfileSpan;

/// The times of the device's operations in the first iterations of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    /// Iterations that are still to be profiled.
    left: usize,
    started: bool,
    /// Number in the run of the first profiled iteration, from 1.
    pub first_iteration: usize,
    /// Number of profiled iterations.
    pub iterations: usize,
    /// The operations, in the order in which they were queued.
    pub spans: Vec<ProfileSpan>,
}

impl Profile {
    /// A profile of the next `iterations`, which have not been done yet.
    pub(crate) fn of_next(iterations: usize) -> Self {
        Self {
            left: iterations,
            ..Self::default()
        }
    }

    /// Does an iteration, and profiles it if it is one of the first.
    pub(crate) fn advance(&mut self, run: &mut Reconstructor) -> Result<(), EngineError> {
        if self.left == 0 {
            return run.advance();
        }
        if !self.started {
            run.engine().start_profile()?;
            self.started = true;
            self.first_iteration = run.progress().total + 1;
        }
        run.advance()?;
        self.iterations += 1;
        self.left -= 1;
        if self.left == 0 {
            self.end(run)?;
        }
        Ok(())
    }

    /// Ends profiling, if it was started and has not ended yet.
    pub(crate) fn end(&mut self, run: &mut Reconstructor) -> Result<(), EngineError> {
        if std::mem::take(&mut self.started) {
            self.left = 0;
            // The run waits for its work here, so that the wait counts as computing time.
            run.flush()?;
            self.spans = run.engine().take_profile()?;
        }
        Ok(())
    }
}
