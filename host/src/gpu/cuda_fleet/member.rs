//! A device of the fleet: its kernels, its lanes, and how a lane is ordered with replays.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::super::fleet::Lane;
use super::mark::{CudaMark, NOT_RECORDING};
use crate::cuda::{
    Context, DeviceInfo, Module, Priority, Ptx, Result, Staging, Stream, choose_ptx,
};

/// All lanes, in the order of their numbers.
pub(super) const LANES: [Lane; 4] = [Lane::Default, Lane::Bulk, Lane::Top, Lane::Bottom];

/// A device with its kernels loaded.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) info: DeviceInfo,
    pub(super) context: Arc<Context>,
    pub(super) module: Module,
    queues: [Queue; LANES.len()],
    /// For copies that the host waits for: beside the lanes, so that they wait for nothing else.
    pub(super) copies: Mutex<(Stream, Staging)>,
}

/// A lane.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) stream: Stream,
    /// Work was queued since the last replay, which has to wait for it.
    used: AtomicBool,
    /// The next work has to wait for the last replay.
    behind: AtomicBool,
    /// For the replay to wait for.
    end: CudaMark,
}

impl Member {
    pub(super) fn new(ordinal: usize, kernels: &[Ptx<'_>]) -> Result<Self> {
        let context = Context::new(ordinal)?;
        let info = DeviceInfo::of(ordinal)?;
        let module = Module::load(&context, choose_ptx(kernels, info.compute_capability)?)?;
        let queue = |lane| {
            let stream = match lane {
                Lane::Default => Stream::legacy_default(&context),
                Lane::Bulk => Stream::new(&context, Priority::Normal)?,
                Lane::Top | Lane::Bottom => Stream::new(&context, Priority::High)?,
            };
            Ok(Queue {
                stream,
                used: AtomicBool::new(false),
                behind: AtomicBool::new(false),
                end: CudaMark::new(&context)?,
            })
        };
        let [default, bulk, top, bottom] = LANES;
        let queues = [queue(default)?, queue(bulk)?, queue(top)?, queue(bottom)?];
        let copies = Stream::new(&context, Priority::Normal)?;
        Ok(Self {
            info,
            module,
            queues,
            copies: Mutex::new((copies, Staging::new(&context))),
            context,
        })
    }

    pub(super) fn queue(&self, lane: Lane) -> &Queue {
        let [default, bulk, top, bottom] = &self.queues;
        match lane {
            Lane::Default => default,
            Lane::Bulk => bulk,
            Lane::Top => top,
            Lane::Bottom => bottom,
        }
    }

    pub(super) fn queues(&self) -> &[Queue] {
        &self.queues
    }
}

impl Queue {
    /// Puts what is queued next behind the last replay.
    pub(super) fn follow(&self, replayed: &CudaMark) -> Result<()> {
        if self.behind.load(Ordering::Relaxed) {
            replayed.hold(&self.stream, NOT_RECORDING)?;
            self.behind.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Notes that something is queued, which the next replay has to wait for.
    pub(super) fn note_use(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// Lets `replaying` wait for what was queued here since the last replay.
    pub(super) fn hold_back(&self, replaying: &Stream) -> Result<()> {
        if self.used.load(Ordering::Relaxed) {
            self.end.record(&self.stream, NOT_RECORDING)?;
            self.end.hold(replaying, NOT_RECORDING)?;
            self.used.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Notes that a replay was queued.
    pub(super) fn note_replay(&self) {
        self.behind.store(true, Ordering::Relaxed);
    }

    /// Lets `recorder` wait for what was queued here while it recorded.
    pub(super) fn join(&self, recorder: &Stream, recording: u64) -> Result<()> {
        self.end.record(&self.stream, recording)?;
        self.end.hold(recorder, recording)
    }
}
