//! Queues of work on a device.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use super::context::{Context, lock};
use super::error::{CudaError, Result, check};
use super::event::Event;
use super::ffi::driver;

/// Which stream's blocks go first when several wait for room on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// The driver's usual.
    #[default]
    Normal,
    /// The highest that the device has.
    High,
}

/// A queue: what is put in happens in that order, beside the work of other streams. Not ordered
/// with the legacy default stream.
pub struct Stream {
    context: Arc<Context>,
    handle: driver::Handle,
    /// Held while a recording begins, and while work is queued that must not be recorded.
    recording: Mutex<()>,
}

// SAFETY: the driver allows any thread to use a stream, several at a time.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("device", &self.context.ordinal())
            .finish_non_exhaustive()
    }
}

impl Stream {
    /// A new stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(context: &Arc<Context>, priority: Priority) -> Result<Self> {
        context.enter()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both addresses are of live variables.
        let answer =
            unsafe { driver::cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest) };
        check(answer, "cuCtxGetStreamPriorityRange")?;
        let number = match priority {
            Priority::Normal => least,
            Priority::High => greatest,
        };
        let mut handle = std::ptr::null_mut();
        // SAFETY: the address is of a live variable; the context is current.
        let answer = unsafe {
            driver::cuStreamCreateWithPriority(&raw mut handle, driver::STREAM_NON_BLOCKING, number)
        };
        check(answer, "cuStreamCreateWithPriority")?;
        Ok(Self {
            context: Arc::clone(context),
            handle,
            recording: Mutex::default(),
        })
    }

    /// The device's legacy default stream, which no recording takes in. Streams made by
    /// [`Stream::new`] are not ordered with it.
    #[must_use]
    pub fn legacy_default(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            handle: std::ptr::null_mut(),
            recording: Mutex::default(),
        }
    }

    /// Whether it is the legacy default stream: the null handle, which means that of the current
    /// context. Everything of the fence enters the stream's context first.
    pub(crate) fn is_legacy_default(&self) -> bool {
        self.handle.is_null()
    }

    /// The context that it belongs to.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn raw(&self) -> driver::Handle {
        self.handle
    }

    /// Lets what is queued from now on wait for the event, without the host waiting.
    ///
    /// # Errors
    /// The driver's.
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        self.context.enter()?;
        // Waiting for a mark of a recorded stream makes this one recorded too.
        let _begins = self.recording();
        // SAFETY: both handles are alive.
        let answer = unsafe { driver::cuStreamWaitEvent(self.handle, event.raw(), 0) };
        check(answer, "cuStreamWaitEvent")
    }

    /// Waits for everything queued so far.
    ///
    /// # Errors
    /// What went wrong in it.
    pub fn synchronize(&self) -> Result<()> {
        self.context.enter()?;
        // SAFETY: the handle is alive.
        check(
            unsafe { driver::cuStreamSynchronize(self.handle) },
            "cuStreamSynchronize",
        )
    }

    /// Whether everything queued so far is done.
    ///
    /// # Errors
    /// What went wrong in it.
    pub fn is_idle(&self) -> Result<bool> {
        self.context.enter()?;
        // SAFETY: the handle is alive.
        match unsafe { driver::cuStreamQuery(self.handle) } {
            driver::NOT_READY => Ok(false),
            code => check(code, "cuStreamQuery").map(|()| true),
        }
    }

    /// Keeps every other thread from beginning a recording of this stream.
    pub(crate) fn recording(&self) -> MutexGuard<'_, ()> {
        lock(&self.recording)
    }

    /// Refuses what a graph could not hold: host memory, which its owner may drop after capture, and
    /// memory of other devices. While the guard lives no recording begins. The context is then
    /// current.
    pub(crate) fn refuse_capture(&self, what: &'static str) -> Result<MutexGuard<'_, ()>> {
        self.context.enter()?;
        let guard = self.recording();
        if self.is_legacy_default() {
            return Ok(guard);
        }
        let mut status = 0;
        // SAFETY: the handle is alive, the address is of a live variable.
        let answer = unsafe { driver::cuStreamIsCapturing(self.handle, &raw mut status) };
        check(answer, "cuStreamIsCapturing")?;
        if status == 0 {
            Ok(guard)
        } else {
            Err(CudaError::Captured { what })
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let done = self.synchronize();
        self.context.record_drop(done);
        if self.is_legacy_default() {
            return;
        }
        // SAFETY: the handle is alive and not used afterwards.
        let answer = unsafe { driver::cuStreamDestroy_v2(self.handle) };
        self.context.record_drop(check(answer, "cuStreamDestroy"));
    }
}
