//! Marks in a stream: waited for by the host or by other streams, and the device's own clock.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::context::Context;
use super::error::{Result, check};
use super::ffi::driver;
use super::stream::Stream;

/// Whether an event takes the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// For [`Event::elapsed_ms`].
    On,
    /// For order only; cheaper.
    Off,
}

/// A mark that may be set again and again. One that was never set counts as passed.
pub struct Event {
    context: Arc<Context>,
    handle: driver::Handle,
    /// Whether a graph may hold the handle.
    in_graph: AtomicBool,
}

// SAFETY: the driver allows any thread to use an event, several at a time.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("device", &self.context.ordinal())
            .finish_non_exhaustive()
    }
}

impl Event {
    /// A new event.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(context: &Arc<Context>, timing: Timing) -> Result<Self> {
        context.enter()?;
        let flags = match timing {
            Timing::On => 0,
            Timing::Off => driver::EVENT_DISABLE_TIMING,
        };
        let mut handle = std::ptr::null_mut();
        // SAFETY: the address is of a live variable; the context is current.
        let answer = unsafe { driver::cuEventCreate(&raw mut handle, flags) };
        check(answer, "cuEventCreate")?;
        Ok(Self {
            context: Arc::clone(context),
            handle,
            in_graph: AtomicBool::new(false),
        })
    }

    pub(crate) fn raw(&self) -> driver::Handle {
        self.handle
    }

    /// Sets the mark after what is queued in `stream` so far.
    ///
    /// # Errors
    /// The stream is of another device, or the driver's.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        stream.context().expect_same(&self.context, "the event")?;
        self.context.enter()?;
        // SAFETY: both handles are alive and of one context.
        let answer = unsafe { driver::cuEventRecord(self.handle, stream.raw()) };
        check(answer, "cuEventRecord")
    }

    /// The same in a stream that is being recorded, as a part of the graph: every replay sets the
    /// mark. ([`Event::record`] there sets a mark that other recorded streams can wait for, and
    /// leaves nothing in the graph.)
    ///
    /// # Errors
    /// The stream is of another device or not being recorded, or the driver's.
    pub fn record_in_graph(&self, stream: &Stream) -> Result<()> {
        stream.context().expect_same(&self.context, "the event")?;
        self.context.enter()?;
        self.in_graph.store(true, Ordering::Relaxed);
        // SAFETY: both handles are alive and of one context; from now on the event is destroyed
        // only when no graph is alive.
        let answer = unsafe {
            driver::cuEventRecordWithFlags(self.handle, stream.raw(), driver::EVENT_RECORD_EXTERNAL)
        };
        check(answer, "cuEventRecordWithFlags")
    }

    /// Whether the mark is passed.
    ///
    /// # Errors
    /// What went wrong in the work before it.
    pub fn is_passed(&self) -> Result<bool> {
        self.context.enter()?;
        // SAFETY: the handle is alive.
        match unsafe { driver::cuEventQuery(self.handle) } {
            driver::NOT_READY => Ok(false),
            code => check(code, "cuEventQuery").map(|()| true),
        }
    }

    /// Waits until the mark is passed.
    ///
    /// # Errors
    /// What went wrong in the work before it.
    pub fn synchronize(&self) -> Result<()> {
        self.context.enter()?;
        // SAFETY: the handle is alive.
        let answer = unsafe { driver::cuEventSynchronize(self.handle) };
        check(answer, "cuEventSynchronize")
    }

    /// Milliseconds from `start` to this mark, by the device's clock (resolution about 0.5 µs).
    ///
    /// # Errors
    /// One of them takes no time, was never set, or is not passed yet.
    pub fn elapsed_ms(&self, start: &Self) -> Result<f32> {
        self.context.enter()?;
        let mut milliseconds = 0.0;
        // SAFETY: both handles are alive, the address is of a live variable.
        let answer =
            unsafe { driver::cuEventElapsedTime(&raw mut milliseconds, start.handle, self.handle) };
        check(answer, "cuEventElapsedTime")?;
        Ok(milliseconds)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let handle = DestroyLater(self.handle);
        if self.in_graph.load(Ordering::Relaxed) {
            self.context.retire(move |context| handle.destroy(context));
        } else {
            handle.destroy(&self.context);
        }
    }
}

struct DestroyLater(driver::Handle);

// SAFETY: an event may be destroyed on any thread.
unsafe impl Send for DestroyLater {}

impl DestroyLater {
    fn destroy(self, context: &Context) {
        context.record_drop(context.enter());
        // SAFETY: made once, destroyed once; no graph holds it any more, and the driver keeps an
        // event that is not passed yet until it is.
        let answer = unsafe { driver::cuEventDestroy_v2(self.0) };
        context.record_drop(check(answer, "cuEventDestroy"));
    }
}
