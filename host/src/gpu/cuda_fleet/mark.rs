//! Marks that can be used in recordings and outside of them.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::cuda::{Context, Event, Result, Stream, Timing};
use std::sync::Arc;

/// Number of a recording that is being made; all numbers of the process differ.
pub(super) type RecordingId = u64;

/// What is queued is done, not recorded.
pub(super) const NOT_RECORDING: RecordingId = 0;

pub(super) fn next_recording() -> RecordingId {
    static NEXT: AtomicU64 = AtomicU64::new(NOT_RECORDING + 1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A mark of a [`CudaFleet`](super::CudaFleet).
///
/// The driver refuses to wait in a recording for an event set outside of it, and the reverse. Neither
/// is needed, because a replay is ordered with everything around it; so the two worlds have an event
/// each, and only a wait within one of them reaches the driver.
#[derive(Debug)]
pub struct CudaMark {
    outside: Event,
    within: Event,
    /// The recording that set `within` last.
    recording: AtomicU64,
}

impl CudaMark {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self> {
        Ok(Self {
            outside: Event::new(context, Timing::Off)?,
            within: Event::new(context, Timing::Off)?,
            recording: AtomicU64::new(NOT_RECORDING),
        })
    }

    pub(super) fn record(&self, stream: &Stream, recording: RecordingId) -> Result<()> {
        if recording == NOT_RECORDING {
            return self.outside.record(stream);
        }
        self.within.record(stream)?;
        self.recording.store(recording, Ordering::Relaxed);
        Ok(())
    }

    /// Lets what is queued from now on in `stream` wait.
    pub(super) fn hold(&self, stream: &Stream, recording: RecordingId) -> Result<()> {
        if recording == NOT_RECORDING {
            stream.wait_event(&self.outside)
        } else if self.recording.load(Ordering::Relaxed) == recording {
            stream.wait_event(&self.within)
        } else {
            Ok(())
        }
    }
}
