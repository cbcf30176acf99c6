//! Events that can be used both in captures and outside of them.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::cuda::{Context, Event, Result, Stream, Timing};
use std::sync::Arc;

/// The number of a capture, unique in the process.
pub(super) type CaptureId = u64;

/// Work is queued to run, not captured.
pub(super) const NOT_CAPTURING: CaptureId = 0;

pub(super) fn next_capture() -> CaptureId {
    static NEXT: AtomicU64 = AtomicU64::new(NOT_CAPTURING + 1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// An event of a [`CudaDeviceGroup`](super::CudaDeviceGroup).
///
/// The driver does not allow a captured stream to wait for an event recorded outside of the
/// capture, or vice versa. Neither is needed, because a graph launch is ordered with all work
/// around it. So there is one event for captures and one for other work, and only a wait of the
/// same kind as the record is passed to the driver.
#[derive(Debug)]
pub struct CudaEvent {
    outside: Event,
    captured: Event,
    /// The last capture in which `captured` was recorded.
    capture: AtomicU64,
}

impl CudaEvent {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self> {
        Ok(Self {
            outside: Event::new(context, Timing::Off)?,
            captured: Event::new(context, Timing::Off)?,
            capture: AtomicU64::new(NOT_CAPTURING),
        })
    }

    pub(super) fn record(&self, stream: &Stream, capture: CaptureId) -> Result<()> {
        if capture == NOT_CAPTURING {
            return self.outside.record(stream);
        }
        self.captured.record(stream)?;
        self.capture.store(capture, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the work before the last record outside of captures is done.
    pub(super) fn is_passed(&self) -> Result<bool> {
        self.outside.is_passed()
    }

    /// Makes the work queued from now on in `stream` wait for the event.
    pub(super) fn wait_in(&self, stream: &Stream, capture: CaptureId) -> Result<()> {
        if capture == NOT_CAPTURING {
            stream.wait_event(&self.outside)
        } else if self.capture.load(Ordering::Relaxed) == capture {
            stream.wait_event(&self.captured)
        } else {
            Ok(())
        }
    }
}
