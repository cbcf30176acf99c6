//! Graphs of a device group: work of all devices, captured once and launched with one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::device_group::StreamId;
use super::super::{GpuError, Result};
use super::event::{CaptureId, NOT_CAPTURING, next_capture};
use super::group::CudaDeviceGroup;
use super::member::OrderedStream;
use super::profiler::TimedWork;
use crate::cuda::{CudaError, Graph, Stream};

/// A captured graph of a [`CudaDeviceGroup`].
#[derive(Debug)]
pub struct CudaGroupGraph {
    graph: Graph,
    timed: Arc<[TimedWork]>,
}

/// The error of a capture.
enum CaptureError {
    /// An error of the captured work, which already names its device.
    Work(GpuError),
    /// An error of the first device, which leads the capture.
    Leader(CudaError),
}

impl From<CudaError> for CaptureError {
    fn from(error: CudaError) -> Self {
        Self::Leader(error)
    }
}

/// Sets the current capture of the group until it is dropped, even if the work panics.
struct CaptureGuard<'a>(&'a AtomicU64);

impl<'a> CaptureGuard<'a> {
    fn new(current: &'a AtomicU64, capture: CaptureId) -> Self {
        current.store(capture, Ordering::Relaxed);
        Self(current)
    }
}

impl Drop for CaptureGuard<'_> {
    fn drop(&mut self) {
        self.0.store(NOT_CAPTURING, Ordering::Relaxed);
    }
}

impl CudaDeviceGroup {
    /// The stream that begins and ends captures, and in which graphs are launched.
    fn leader(&self) -> &Stream {
        &self.members[0].stream(StreamId::Bulk).stream
    }

    /// All streams that take part in captures, except the leader.
    fn followers(&self) -> impl Iterator<Item = (usize, &OrderedStream)> {
        self.members
            .iter()
            .enumerate()
            .flat_map(|(device, member)| {
                [StreamId::Bulk, StreamId::Top, StreamId::Bottom]
                    .into_iter()
                    .filter(move |stream_id| device > 0 || *stream_id != StreamId::Bulk)
                    .map(move |stream_id| (member.info.ordinal, member.stream(stream_id)))
            })
    }

    pub(super) fn capture_all(
        &self,
        work: &mut dyn FnMut() -> Result<()>,
    ) -> Result<CudaGroupGraph> {
        self.expect_no_capture("a capture within a capture")?;
        // Earlier sends are not part of the capture; graph launches wait for them.
        self.wait_for_pending_sends(self.leader(), NOT_CAPTURING)?;
        let capture = next_capture();
        let graph = Graph::capture::<CaptureError>(self.leader(), || {
            let _guard = CaptureGuard::new(&self.capture, capture);
            let done = self.begin_on_all_streams(capture).and_then(|()| work());
            // Even if the work failed, so that no stream stays in an unfinished capture.
            let joined = self.join_all_streams(capture);
            done.and(joined).map_err(CaptureError::Work)
        });
        // Taken even if the capture failed, because its events will never be recorded.
        let timed = self.profiler.take_captured();
        let ordinal = self.members[0].info.ordinal;
        Ok(CudaGroupGraph {
            graph: graph.map_err(|failure| match failure {
                CaptureError::Work(error) => error,
                CaptureError::Leader(error) => GpuError::from(error).on(ordinal),
            })?,
            timed,
        })
    }

    /// Makes every stream part of the capture.
    fn begin_on_all_streams(&self, capture: CaptureId) -> Result<()> {
        let leader_ordinal = self.members[0].info.ordinal;
        self.capture_begun
            .record(self.leader(), capture)
            .map_err(|error| GpuError::from(error).on(leader_ordinal))?;
        for (ordinal, follower) in self.followers() {
            self.capture_begun
                .wait_in(&follower.stream, capture)
                .map_err(|error| GpuError::from(error).on(ordinal))?;
        }
        Ok(())
    }

    /// Makes the leader wait for every other stream and every pending send, as the driver requires
    /// at the end of a capture. Continues after an error.
    fn join_all_streams(&self, capture: CaptureId) -> Result<()> {
        let leader_ordinal = self.members[0].info.ordinal;
        let sends = self.wait_for_pending_sends(self.leader(), capture);
        let mut all = sends.map_err(|error| error.on(leader_ordinal));
        for (ordinal, follower) in self.followers() {
            let joined = follower.join(self.leader(), capture);
            all = all.and(joined.map_err(|error| GpuError::from(error).on(ordinal)));
        }
        all
    }

    /// Launches a graph after the work queued in all streams and before the work queued later.
    pub(super) fn replay_all(&self, graph: &mut CudaGroupGraph) -> Result<()> {
        self.expect_no_capture("a graph launch")?;
        let leader = self.leader();
        for member in &self.members {
            for other in member.streams() {
                if std::ptr::eq(&raw const other.stream, leader) {
                    continue;
                }
                other
                    .let_leader_wait(leader)
                    .map_err(|error| GpuError::from(error).on(member.info.ordinal))?;
            }
        }
        self.wait_for_pending_sends(leader, NOT_CAPTURING)?;
        graph.graph.launch(leader)?;
        self.replayed.record(leader, NOT_CAPTURING)?;
        for other in self.members.iter().flat_map(|member| member.streams()) {
            if !std::ptr::eq(&raw const other.stream, leader) {
                other.set_replay_pending();
            }
        }
        self.profiler.add_replay(&graph.timed);
        Ok(())
    }
}
