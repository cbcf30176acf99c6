//! The timeline of the devices, from events before and after every operation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::ProfileSpan;
use super::super::{GpuError, Result};
use super::event::{CaptureId, NOT_CAPTURING};
use super::member::Member;
use crate::cuda::{Event, Stream, Timing};

/// The events before and after an operation.
#[derive(Debug)]
pub(super) struct TimedWork {
    device: usize,
    stream_id: &'static str,
    name: &'static str,
    start: Event,
    end: Event,
}

/// Operations whose times have not been read yet.
#[derive(Debug)]
enum Pending {
    Once(TimedWork),
    /// Operations of a graph, whose events are recorded again by every launch.
    Captured(Arc<[TimedWork]>),
}

/// Times the operations of all devices once it has been started; until then it costs nothing.
#[derive(Debug, Default)]
pub(super) struct Profiler {
    started: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// One event per device, recorded at the same time.
    origins: Vec<Event>,
    /// Events that can be reused, per device.
    free: Vec<Vec<Event>>,
    pending: Vec<Pending>,
    /// Operations of the current capture.
    captured: Vec<TimedWork>,
}

impl Profiler {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the profiler while all devices are idle. The first device records its origin, and the
    /// others record theirs when they see that event, a few microseconds later.
    pub(super) fn start(
        &self,
        members: &[Member],
        stream: impl Fn(&Member) -> &Stream,
    ) -> Result<()> {
        let mut origins: Vec<Event> = Vec::with_capacity(members.len());
        for member in members {
            let record = || {
                let event = Event::new(&member.context, Timing::On)?;
                if let Some(first) = origins.first() {
                    stream(member).wait_event(first)?;
                }
                event.record(stream(member))?;
                Ok(event)
            };
            let event = record().map_err(|error: crate::cuda::CudaError| {
                GpuError::from(error).on(member.info.ordinal)
            })?;
            origins.push(event);
        }
        let mut state = self.state();
        state.origins = origins;
        state.free.resize_with(members.len(), Vec::new);
        state.pending.clear();
        self.started.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Calls `work`, which queues an operation in the stream, and times the operation if the
    /// profiler was started.
    pub(super) fn time(
        &self,
        (device, member, stream): (usize, &Member, &Stream),
        (stream_id, name): (&'static str, &'static str),
        capture: CaptureId,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if !self.started.load(Ordering::Relaxed) {
            return work();
        }
        let record = |event: &Event| {
            if capture == NOT_CAPTURING {
                event.record(stream)
            } else {
                event.record_in_graph(stream)
            }
        };
        let (start, end) = (self.event(device, member)?, self.event(device, member)?);
        record(&start)?;
        work()?;
        record(&end)?;
        let timed = TimedWork {
            device,
            stream_id,
            name,
            start,
            end,
        };
        let mut state = self.state();
        if capture == NOT_CAPTURING {
            state.pending.push(Pending::Once(timed));
        } else {
            state.captured.push(timed);
        }
        Ok(())
    }

    fn event(&self, device: usize, member: &Member) -> Result<Event> {
        let free = self.state().free.get_mut(device).and_then(Vec::pop);
        match free {
            Some(event) => Ok(event),
            None => Ok(Event::new(&member.context, Timing::On)?),
        }
    }

    /// The operations timed in the capture that has just ended.
    pub(super) fn take_captured(&self) -> Arc<[TimedWork]> {
        std::mem::take(&mut self.state().captured).into()
    }

    /// Notes that a graph was launched again; the times of its previous launch are lost.
    pub(super) fn add_replay(&self, timed: &Arc<[TimedWork]>) {
        if timed.is_empty() || !self.started.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state();
        let same = |pending: &Pending| matches!(pending, Pending::Captured(other) if Arc::ptr_eq(other, timed));
        state.pending.retain(|pending| !same(pending));
        state.pending.push(Pending::Captured(Arc::clone(timed)));
    }

    /// The spans of all operations since the last call.
    pub(super) fn profile_spans(&self, members: &[Member]) -> Result<Vec<ProfileSpan>> {
        let mut guard = self.state();
        let state = &mut *guard;
        let mut profile_spans = Vec::with_capacity(state.pending.len());
        for pending in std::mem::take(&mut state.pending) {
            match pending {
                Pending::Once(timed) => {
                    profile_spans.push(timed.read(&state.origins, members)?);
                    if let Some(free) = state.free.get_mut(timed.device) {
                        free.extend([timed.start, timed.end]);
                    }
                }
                Pending::Captured(captured) => {
                    for timed in &*captured {
                        profile_spans.push(timed.read(&state.origins, members)?);
                    }
                }
            }
        }
        Ok(profile_spans)
    }
}

impl TimedWork {
    fn read(&self, origins: &[Event], members: &[Member]) -> Result<ProfileSpan> {
        let read = || -> crate::cuda::Result<_> {
            let start = f64::from(self.start.elapsed_ms(&origins[self.device])?);
            // Not measured from the origin: in single precision the duration of a short kernel
            // would be lost after a long run.
            let duration = f64::from(self.end.elapsed_ms(&self.start)?);
            Ok((1e3 * start, 1e3 * (start + duration)))
        };
        let (start_us, end_us) =
            read().map_err(|error| GpuError::from(error).on(members[self.device].info.ordinal))?;
        Ok(ProfileSpan {
            device: self.device,
            stream: self.stream_id,
            name: self.name,
            bytes: None,
            start_us,
            end_us,
        })
    }
}
