//! What the devices did and when, by events around every piece of work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::fleet::Stretch;
use super::super::{GpuError, Result};
use super::mark::{NOT_RECORDING, RecordingId};
use super::member::Member;
use crate::cuda::{Event, Stream, Timing};

/// Two marks around a piece of work.
#[derive(Debug)]
pub(super) struct Timed {
    device: usize,
    lane: &'static str,
    name: &'static str,
    start: Event,
    end: Event,
}

/// What is to be read.
#[derive(Debug)]
enum Pending {
    Once(Timed),
    /// Work of a recording, whose marks are set again by every replay.
    Recorded(Arc<[Timed]>),
}

/// Events of all devices. Costs nothing until it is started.
#[derive(Debug, Default)]
pub(super) struct Clock {
    started: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The same moment on every device.
    origins: Vec<Event>,
    /// Events to be used again, per device.
    free: Vec<Vec<Event>>,
    pending: Vec<Pending>,
    /// Of the recording that is being made.
    recorded: Vec<Timed>,
}

impl Clock {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts, with idle devices. The first one sets a mark, and each of the others one behind it as
    /// soon as it learns of it, which takes some microseconds.
    pub(super) fn start(
        &self,
        members: &[Member],
        stream: impl Fn(&Member) -> &Stream,
    ) -> Result<()> {
        let mut origins: Vec<Event> = Vec::with_capacity(members.len());
        for member in members {
            let set = || {
                let event = Event::new(&member.context, Timing::On)?;
                if let Some(first) = origins.first() {
                    stream(member).wait_event(first)?;
                }
                event.record(stream(member))?;
                Ok(event)
            };
            let event = set().map_err(|error: crate::cuda::CudaError| {
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

    /// Does `work`, which queues something in `stream`, between two marks, if the clock was started.
    pub(super) fn around(
        &self,
        place: (usize, &Member, &Stream),
        (lane, name): (&'static str, &'static str),
        recording: RecordingId,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if !self.started.load(Ordering::Relaxed) {
            return work();
        }
        let (device, member, stream) = place;
        let record = |event: &Event| {
            if recording == NOT_RECORDING {
                event.record(stream)
            } else {
                event.record_in_graph(stream)
            }
        };
        let (start, end) = (self.event(device, member)?, self.event(device, member)?);
        record(&start)?;
        work()?;
        record(&end)?;
        let timed = Timed {
            device,
            lane,
            name,
            start,
            end,
        };
        let mut state = self.state();
        if recording == NOT_RECORDING {
            state.pending.push(Pending::Once(timed));
        } else {
            state.recorded.push(timed);
        }
        Ok(())
    }

    fn event(&self, device: usize, member: &Member) -> Result<Event> {
        let known = self.state().free.get_mut(device).and_then(Vec::pop);
        match known {
            Some(event) => Ok(event),
            None => Ok(Event::new(&member.context, Timing::On)?),
        }
    }

    /// What was timed in the recording that has just ended.
    pub(super) fn take_recorded(&self) -> Arc<[Timed]> {
        std::mem::take(&mut self.state().recorded).into()
    }

    /// Notes that a recording is done once more; its times of before are lost.
    pub(super) fn note_replay(&self, timed: &Arc<[Timed]>) {
        if timed.is_empty() || !self.started.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state();
        let same = |known: &Pending| matches!(known, Pending::Recorded(known) if Arc::ptr_eq(known, timed));
        state.pending.retain(|known| !same(known));
        state.pending.push(Pending::Recorded(Arc::clone(timed)));
    }

    /// What was timed since the last call.
    pub(super) fn stretches(&self, members: &[Member]) -> Result<Vec<Stretch>> {
        let mut guard = self.state();
        let state = &mut *guard;
        let mut stretches = Vec::with_capacity(state.pending.len());
        for pending in std::mem::take(&mut state.pending) {
            match pending {
                Pending::Once(timed) => {
                    stretches.push(timed.read(&state.origins, members)?);
                    if let Some(free) = state.free.get_mut(timed.device) {
                        free.extend([timed.start, timed.end]);
                    }
                }
                Pending::Recorded(recorded) => {
                    for timed in &*recorded {
                        stretches.push(timed.read(&state.origins, members)?);
                    }
                }
            }
        }
        Ok(stretches)
    }
}

impl Timed {
    fn read(&self, origins: &[Event], members: &[Member]) -> Result<Stretch> {
        let read = || -> crate::cuda::Result<_> {
            let start = f64::from(self.start.elapsed_ms(&origins[self.device])?);
            // Not from the origin: in single precision a long run would swallow a short kernel.
            let duration = f64::from(self.end.elapsed_ms(&self.start)?);
            Ok((1e3 * start, 1e3 * (start + duration)))
        };
        let (start_us, end_us) =
            read().map_err(|error| GpuError::from(error).on(members[self.device].info.ordinal))?;
        Ok(Stretch {
            device: self.device,
            lane: self.lane,
            name: self.name,
            start_us,
            end_us,
        })
    }
}
