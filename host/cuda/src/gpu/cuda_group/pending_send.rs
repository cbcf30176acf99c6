//! The completion of a send through the host.

use std::sync::atomic::{AtomicBool, Ordering};

use super::event::{CaptureId, CudaEvent};
use crate::cuda::{Result, Stream};

/// The last send of a peer channel, which ends on the receiver.
#[derive(Debug)]
pub(super) struct PendingSend {
    pub(super) event: CudaEvent,
    /// Index of the receiving device in the group.
    receiver: usize,
    /// Whether the group has it on the list of sends that the next graph launch, or the end of the
    /// capture, must wait for.
    listed: AtomicBool,
}

impl PendingSend {
    pub(super) fn new(event: CudaEvent, receiver: usize) -> Self {
        Self {
            event,
            receiver,
            listed: AtomicBool::new(false),
        }
    }

    pub(super) fn receiver(&self) -> usize {
        self.receiver
    }

    /// Whether the last send outside of captures has arrived.
    pub(super) fn is_passed(&self) -> Result<bool> {
        self.event.is_passed()
    }

    /// Marks the send as listed, and returns whether it was listed already.
    pub(super) fn set_listed(&self) -> bool {
        self.listed.swap(true, Ordering::Relaxed)
    }

    /// Makes `stream` wait for a send that was taken off the list.
    pub(super) fn wait_after_listing(&self, stream: &Stream, capture: CaptureId) -> Result<()> {
        self.listed.store(false, Ordering::Relaxed);
        self.event.wait_in(stream, capture)
    }
}
