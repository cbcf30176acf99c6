//! A device of the group: its kernels, its streams, and the order of its streams with graph
//! launches.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::super::device_group::StreamId;
use super::event::{CudaEvent, NOT_CAPTURING};
use crate::cuda::{Context, DeviceInfo, Kernels, Module, Priority, Result, Staging, Stream};

/// All streams of a device.
pub(super) const STREAMS: [StreamId; 4] = [
    StreamId::Default,
    StreamId::Bulk,
    StreamId::Top,
    StreamId::Bottom,
];

/// A device with its kernels loaded.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) info: DeviceInfo,
    pub(super) context: Arc<Context>,
    pub(super) module: Module,
    streams: [OrderedStream; STREAMS.len()],
    /// For copies that the host waits for, in a stream of their own so that they wait for nothing
    /// else.
    pub(super) copies: Mutex<(Stream, Staging)>,
}

/// A stream that is ordered with graph launches.
#[derive(Debug)]
pub(super) struct OrderedStream {
    pub(super) stream: Stream,
    /// Work was queued since the last graph launch; the next launch has to wait for it.
    used: AtomicBool,
    /// The next work has to wait for the last graph launch.
    replay_pending: AtomicBool,
    /// Recorded when a graph launch or the end of a capture has to wait for this stream.
    end: CudaEvent,
}

impl Member {
    pub(super) fn new(ordinal: usize, kernels: &Kernels) -> Result<Self> {
        let context = Context::new(ordinal)?;
        let info = DeviceInfo::of(ordinal)?;
        let module = Module::load(&context, kernels)?;
        let ordered = |stream_id| {
            let stream = match stream_id {
                StreamId::Default => Stream::legacy_default(&context),
                StreamId::Bulk => Stream::new(&context, Priority::Normal)?,
                StreamId::Top | StreamId::Bottom => Stream::new(&context, Priority::High)?,
            };
            Ok(OrderedStream {
                stream,
                used: AtomicBool::new(false),
                replay_pending: AtomicBool::new(false),
                end: CudaEvent::new(&context)?,
            })
        };
        let [default, bulk, top, bottom] = STREAMS;
        let streams = [
            ordered(default)?,
            ordered(bulk)?,
            ordered(top)?,
            ordered(bottom)?,
        ];
        let copies = Stream::new(&context, Priority::Normal)?;
        Ok(Self {
            info,
            module,
            streams,
            copies: Mutex::new((copies, Staging::new(&context))),
            context,
        })
    }

    pub(super) fn stream(&self, stream_id: StreamId) -> &OrderedStream {
        let [default, bulk, top, bottom] = &self.streams;
        match stream_id {
            StreamId::Default => default,
            StreamId::Bulk => bulk,
            StreamId::Top => top,
            StreamId::Bottom => bottom,
        }
    }

    pub(super) fn streams(&self) -> &[OrderedStream] {
        &self.streams
    }
}

impl OrderedStream {
    /// Makes the next work wait for the last graph launch, if it does not yet.
    pub(super) fn wait_for_replay(&self, replayed: &CudaEvent) -> Result<()> {
        if self.replay_pending.load(Ordering::Relaxed) {
            replayed.wait_in(&self.stream, NOT_CAPTURING)?;
            self.replay_pending.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Notes that work is queued, which the next graph launch has to wait for.
    pub(super) fn set_used(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// Makes `leader` wait for the work queued here since the last graph launch.
    pub(super) fn let_leader_wait(&self, leader: &Stream) -> Result<()> {
        if self.used.load(Ordering::Relaxed) {
            self.end.record(&self.stream, NOT_CAPTURING)?;
            self.end.wait_in(leader, NOT_CAPTURING)?;
            self.used.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Notes that a graph launch was queued, which the next work has to wait for.
    pub(super) fn set_replay_pending(&self) {
        self.replay_pending.store(true, Ordering::Relaxed);
    }

    /// Makes `leader` wait for the work captured here.
    pub(super) fn join(&self, leader: &Stream, capture: u64) -> Result<()> {
        self.end.record(&self.stream, capture)?;
        self.end.wait_in(leader, capture)
    }
}
