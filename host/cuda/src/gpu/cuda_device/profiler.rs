//! The timeline of a device, from events before and after every operation.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::profile::MAX_PROFILE_SPANS;
use super::super::{ProfileSpan, Result};
use crate::cuda::{Context, Event, Stream, Timing};

/// How many operations may be pending before their times are read while others are queued. A stream
/// does not hold many more, so the number of events has a bound.
const MAX_PENDING: usize = 1024;

/// How many times are read together: the host does nothing else meanwhile.
const READ_TOGETHER: usize = 64;

/// Milliseconds after which a later event becomes the origin. Times are measured in single
/// precision: over a second they are exact to 0.06 µs.
const MAX_FROM_ORIGIN_MS: f64 = 1000.0;

/// An operation that has been queued.
#[derive(Debug)]
struct TimedOperation {
    stream: &'static str,
    name: &'static str,
    bytes: Option<usize>,
    start: Event,
    end: Event,
}

/// Times the operations of a device while it is on; otherwise each of them costs a load of `on`.
#[derive(Debug, Default)]
pub(super) struct Profiler {
    on: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// An event and its time in microseconds.
    origin: Option<(Event, f64)>,
    /// Events that can be reused.
    free: Vec<Event>,
    /// Operations whose times have not been read yet, the oldest first.
    pending: VecDeque<TimedOperation>,
    spans: Vec<ProfileSpan>,
    /// When the last operation of each stream ended, microseconds.
    ends: BTreeMap<&'static str, f64>,
}

/// While it exists, nothing is timed.
pub(super) struct Paused<'a> {
    profiler: &'a Profiler,
    was_on: bool,
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.profiler.on.store(self.was_on, Ordering::Relaxed);
    }
}

impl Profiler {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Times all operations from now on, when the work of `stream` is done.
    pub(super) fn start(&self, stream: &Stream) -> Result<()> {
        stream.synchronize()?;
        let origin = Event::new(stream.context(), Timing::On)?;
        origin.record(stream)?;
        // An operation in another stream must not begin before it.
        origin.synchronize()?;
        *self.state() = State {
            origin: Some((origin, 0.0)),
            ..State::default()
        };
        self.on.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Calls `work`, which queues an operation in the stream, and times the operation if the device
    /// is profiled. The stream's name is its row in the timeline; `bytes` are those of a copy or a
    /// fill.
    pub(super) fn time<R>(
        &self,
        (stream_name, stream): (&'static str, &Stream),
        name: &'static str,
        bytes: Option<usize>,
        work: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        if !self.on.load(Ordering::Relaxed) {
            return work();
        }
        let Some([start, end]) = self.events(stream.context())? else {
            return work();
        };
        start.record(stream)?;
        let done = work()?;
        end.record(stream)?;
        self.state().pending.push_back(TimedOperation {
            stream: stream_name,
            name,
            bytes,
            start,
            end,
        });
        Ok(done)
    }

    /// Times nothing until the returned value is dropped: no event may be recorded while a stream
    /// is captured.
    pub(super) fn pause(&self) -> Paused<'_> {
        Paused {
            profiler: self,
            was_on: self.on.swap(false, Ordering::Relaxed),
        }
    }

    /// The times of all operations since the start.
    pub(super) fn take(&self) -> Result<Vec<ProfileSpan>> {
        self.on.store(false, Ordering::Relaxed);
        let mut state = std::mem::take(&mut *self.state());
        while let Some(operation) = state.pending.pop_front() {
            operation.end.synchronize()?;
            state.read(operation)?;
        }
        Ok(state.spans)
    }

    /// Two events for an operation; `None` if no more are timed.
    fn events(&self, context: &Arc<Context>) -> Result<Option<[Event; 2]>> {
        let mut state = self.state();
        if state.spans.len() + state.pending.len() >= MAX_PROFILE_SPANS {
            return Ok(None);
        }
        if state.free.len() < 2 && state.pending.len() >= MAX_PENDING {
            state.read_finished(READ_TOGETHER)?;
        }
        let mut event = || match state.free.pop() {
            Some(event) => Ok(event),
            None => Event::new(context, Timing::On),
        };
        Ok(Some([event()?, event()?]))
    }
}

impl State {
    /// Reads the times of the oldest operations that are done, of at most `most`.
    fn read_finished(&mut self, most: usize) -> Result<()> {
        for _ in 0..most {
            let Some(operation) = self.pending.pop_front() else {
                break;
            };
            if !operation.end.is_passed()? {
                self.pending.push_front(operation);
                break;
            }
            self.read(operation)?;
        }
        Ok(())
    }

    /// Reads the times of an operation that is done.
    fn read(&mut self, operation: TimedOperation) -> Result<()> {
        let TimedOperation {
            stream,
            name,
            bytes,
            start,
            end,
        } = operation;
        let Some((origin, origin_us)) = &self.origin else {
            return Ok(());
        };
        let after_ms = f64::from(start.elapsed_ms(origin)?);
        let measured_us = origin_us + 1e3 * after_ms;
        let duration_us = 1e3 * f64::from(end.elapsed_ms(&start)?);
        // The operations of a stream follow each other, but each time is rounded.
        let last_us = self.ends.entry(stream).or_insert(0.0);
        let start_us = measured_us.max(*last_us);
        let end_us = (measured_us + duration_us).max(start_us);
        *last_us = end_us;
        self.spans.push(ProfileSpan {
            device: 0,
            stream,
            name,
            bytes,
            start_us,
            end_us,
        });
        self.free.push(end);
        if after_ms > MAX_FROM_ORIGIN_MS {
            let before = self.origin.replace((start, measured_us));
            self.free.extend(before.map(|(event, _)| event));
        } else {
            self.free.push(start);
        }
        Ok(())
    }
}
