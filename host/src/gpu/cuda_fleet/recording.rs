//! Work of all devices recorded once and replayed with one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::fleet::Lane;
use super::super::{GpuError, Result};
use super::CudaFleet;
use super::clock::Timed;
use super::mark::{NOT_RECORDING, RecordingId, next_recording};
use super::member::Queue;
use crate::cuda::{CudaError, Graph, Stream};

/// What a [`CudaFleet`] recorded.
#[derive(Debug)]
pub struct CudaRecording {
    graph: Graph,
    timed: Arc<[Timed]>,
}

/// Why there is no recording.
enum Failure {
    /// What was to be recorded failed, which knows its device by itself.
    Work(GpuError),
    /// The first device, which records, failed.
    Recorder(CudaError),
}

impl From<CudaError> for Failure {
    fn from(error: CudaError) -> Self {
        Self::Recorder(error)
    }
}

/// A recording is being made; until this is dropped, also when the work panics.
struct Begun<'a>(&'a AtomicU64);

impl<'a> Begun<'a> {
    fn new(current: &'a AtomicU64, recording: RecordingId) -> Self {
        current.store(recording, Ordering::Relaxed);
        Self(current)
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.store(NOT_RECORDING, Ordering::Relaxed);
    }
}

impl CudaFleet {
    /// The stream that begins and ends recordings, and that replays are queued in.
    fn leader(&self) -> &Stream {
        &self.members[0].queue(Lane::Bulk).stream
    }

    /// All lanes that take part in recordings, but the leader.
    fn followers(&self) -> impl Iterator<Item = (usize, &Queue)> {
        self.members
            .iter()
            .enumerate()
            .flat_map(|(device, member)| {
                [Lane::Bulk, Lane::Top, Lane::Bottom]
                    .into_iter()
                    .filter(move |lane| device > 0 || *lane != Lane::Bulk)
                    .map(move |lane| (member.info.ordinal, member.queue(lane)))
            })
    }

    pub(super) fn record_all(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<CudaRecording> {
        self.expect_not_recording("a recording within a recording")?;
        // What was pushed before belongs to the world outside; replays wait for it.
        self.settle_arrivals(self.leader(), NOT_RECORDING)?;
        let recording = next_recording();
        let graph = Graph::capture::<Failure>(self.leader(), || {
            let _ends = Begun::new(&self.recording, recording);
            let done = self.fork(recording).and_then(|()| work());
            // Also where the work failed, so that no stream is left in a recording without an end.
            let joined = self.join(recording);
            done.and(joined).map_err(Failure::Work)
        });
        // Taken also where the recording failed: its marks will never be set.
        let timed = self.clock.take_recorded();
        let ordinal = self.members[0].info.ordinal;
        Ok(CudaRecording {
            graph: graph.map_err(|failure| match failure {
                Failure::Work(error) => error,
                Failure::Recorder(error) => GpuError::from(error).on(ordinal),
            })?,
            timed,
        })
    }

    /// Makes every lane a part of the recording.
    fn fork(&self, recording: RecordingId) -> Result<()> {
        let recorder = self.members[0].info.ordinal;
        self.forked
            .record(self.leader(), recording)
            .map_err(|error| GpuError::from(error).on(recorder))?;
        for (ordinal, queue) in self.followers() {
            self.forked
                .hold(&queue.stream, recording)
                .map_err(|error| GpuError::from(error).on(ordinal))?;
        }
        Ok(())
    }

    /// Lets the leader wait for every lane and every relay, as the driver asks of the end of a
    /// recording. Goes on after an error.
    fn join(&self, recording: RecordingId) -> Result<()> {
        let recorder = self.members[0].info.ordinal;
        let settled = self.settle_arrivals(self.leader(), recording);
        let mut all = settled.map_err(|error| error.on(recorder));
        for (ordinal, queue) in self.followers() {
            let joined = queue.join(self.leader(), recording);
            all = all.and(joined.map_err(|error| GpuError::from(error).on(ordinal)));
        }
        all
    }

    /// Between what is queued in all lanes and what will be.
    pub(super) fn replay_all(&self, recording: &mut CudaRecording) -> Result<()> {
        self.expect_not_recording("a replay")?;
        let leader = self.leader();
        for member in &self.members {
            for queue in member.queues() {
                if std::ptr::eq(&raw const queue.stream, leader) {
                    continue;
                }
                queue
                    .hold_back(leader)
                    .map_err(|error| GpuError::from(error).on(member.info.ordinal))?;
            }
        }
        self.settle_arrivals(leader, NOT_RECORDING)?;
        recording.graph.launch(leader)?;
        self.replayed.record(leader, NOT_RECORDING)?;
        for queue in self.members.iter().flat_map(|member| member.queues()) {
            if !std::ptr::eq(&raw const queue.stream, leader) {
                queue.note_replay();
            }
        }
        self.clock.note_replay(&recording.timed);
        Ok(())
    }
}
