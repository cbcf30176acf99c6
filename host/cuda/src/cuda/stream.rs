//! Streams: queues of work on a device.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use super::context::Context;
use super::error::{CudaError, Result, check};
use super::ffi::driver;
use super::lock::lock;

/// The priority of a stream: the order in which waiting blocks of several streams start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// The default of the driver.
    #[default]
    Normal,
    /// The highest priority of the device.
    High,
}

/// A CUDA stream: its work runs in the order of queueing, concurrently with other streams. It is
/// not ordered with the legacy default stream.
pub struct Stream {
    context: Arc<Context>,
    handle: driver::Handle,
    /// Held while a capture begins, and while work is queued that must not be captured.
    capture: Mutex<()>,
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
    /// Creates a stream.
    ///
    /// # Errors
    /// An error of the driver.
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
            capture: Mutex::default(),
        })
    }

    /// The legacy default stream of the device, which cannot be captured. Streams from
    /// [`Stream::new`] are not ordered with it.
    #[must_use]
    pub fn legacy_default(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            handle: std::ptr::null_mut(),
            capture: Mutex::default(),
        }
    }

    /// Whether this is the legacy default stream: the null handle, which stands for that of the
    /// current context. Every function of the CUDA layer makes the stream's context current first.
    pub(crate) fn is_legacy_default(&self) -> bool {
        self.handle.is_null()
    }

    /// The context that the stream belongs to.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn raw(&self) -> driver::Handle {
        self.handle
    }

    /// Waits for all work queued so far.
    ///
    /// # Errors
    /// The error of that work.
    pub fn synchronize(&self) -> Result<()> {
        self.context.expect_waitable()?;
        self.context.enter()?;
        // SAFETY: the handle is alive.
        check(
            unsafe { driver::cuStreamSynchronize(self.handle) },
            "cuStreamSynchronize",
        )
    }

    /// Whether all work queued so far is done.
    ///
    /// # Errors
    /// The error of that work.
    pub fn is_idle(&self) -> Result<bool> {
        self.context.enter()?;
        // SAFETY: the handle is alive.
        match unsafe { driver::cuStreamQuery(self.handle) } {
            driver::NOT_READY => Ok(false),
            code => check(code, "cuStreamQuery").map(|()| true),
        }
    }

    /// Keeps other threads from beginning a capture of this stream.
    pub(crate) fn lock_capture(&self) -> MutexGuard<'_, ()> {
        lock(&self.capture)
    }

    /// Refuses an operation that a graph cannot contain if the stream is being captured, such as a
    /// copy with host memory, which its owner may drop after the capture. No capture begins while
    /// the guard exists. Makes the stream's context current.
    pub(crate) fn refuse_capture(&self, what: &'static str) -> Result<MutexGuard<'_, ()>> {
        self.context.enter()?;
        let guard = self.lock_capture();
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
        if self.is_legacy_default() || self.context.is_abandoned() {
            return;
        }
        // SAFETY: the handle is alive and not used afterwards.
        let answer = unsafe { driver::cuStreamDestroy_v2(self.handle) };
        self.context.record_drop(check(answer, "cuStreamDestroy"));
    }
}
