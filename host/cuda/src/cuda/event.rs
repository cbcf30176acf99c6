//! Events: points in a stream that the host or other streams can wait for, and the clock of the
//! device.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::context::Context;
use super::error::{Result, check};
use super::ffi::driver;
use super::stream::Stream;

/// Whether an event records the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// For [`Event::elapsed_ms`].
    On,
    /// For ordering only, which is cheaper.
    Off,
}

/// A CUDA event. It can be recorded any number of times; one that was never recorded counts as
/// passed.
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
    /// Creates an event.
    ///
    /// # Errors
    /// An error of the driver.
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

    /// Records the event after the work queued in `stream` so far.
    ///
    /// # Errors
    /// The stream belongs to another device, or an error of the driver.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        stream.context().expect_same(&self.context, "the event")?;
        self.context.enter()?;
        // SAFETY: both handles are alive and of one context.
        let answer = unsafe { driver::cuEventRecord(self.handle, stream.raw()) };
        check(answer, "cuEventRecord")
    }

    /// Adds recording the event to the graph that is being captured in `stream`, so that every
    /// launch of the graph records it. ([`Event::record`] during a capture only orders the captured
    /// streams and adds nothing to the graph.)
    ///
    /// # Errors
    /// The stream belongs to another device or is not being captured, or an error of the driver.
    pub fn record_in_graph(&self, stream: &Stream) -> Result<()> {
        stream.context().expect_same(&self.context, "the event")?;
        self.context.enter()?;
        self.in_graph.store(true, Ordering::Relaxed);
        // SAFETY: both handles are alive and of one context; from now on the event is destroyed
        // only when no graph exists.
        let answer = unsafe {
            driver::cuEventRecordWithFlags(self.handle, stream.raw(), driver::EVENT_RECORD_EXTERNAL)
        };
        check(answer, "cuEventRecordWithFlags")
    }

    /// Whether the work before the event is done.
    ///
    /// # Errors
    /// The error of that work.
    pub fn is_passed(&self) -> Result<bool> {
        self.context.enter()?;
        // SAFETY: the handle is alive.
        match unsafe { driver::cuEventQuery(self.handle) } {
            driver::NOT_READY => Ok(false),
            code => check(code, "cuEventQuery").map(|()| true),
        }
    }

    /// Waits until the work before the event is done.
    ///
    /// # Errors
    /// The error of that work.
    pub fn synchronize(&self) -> Result<()> {
        self.context.expect_waitable()?;
        self.context.enter()?;
        // SAFETY: the handle is alive.
        let answer = unsafe { driver::cuEventSynchronize(self.handle) };
        check(answer, "cuEventSynchronize")
    }

    /// Milliseconds from `start` to this event, by the clock of the device (resolution about 0.5
    /// µs).
    ///
    /// # Errors
    /// One of the two events records no time, was never recorded, or is not passed yet.
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

impl Stream {
    /// Makes the work queued from now on wait for the event; the host does not wait.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        self.context().enter()?;
        // Waiting for an event of a captured stream makes this stream part of the capture.
        let _begins = self.lock_capture();
        // SAFETY: both handles are alive.
        let answer = unsafe { driver::cuStreamWaitEvent(self.raw(), event.raw(), 0) };
        check(answer, "cuStreamWaitEvent")
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let handle = DestroyLater(self.handle);
        if self.in_graph.load(Ordering::Relaxed) {
            self.context
                .defer_free(move |context| handle.destroy(context));
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
        // SAFETY: created once, destroyed once; no graph holds it any more, and the driver keeps an
        // event until it is passed.
        let answer = unsafe { driver::cuEventDestroy_v2(self.0) };
        context.record_drop(check(answer, "cuEventDestroy"));
    }
}
