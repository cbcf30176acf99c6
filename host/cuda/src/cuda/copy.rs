//! Asynchronous copies: page-locked memory to device, device to page-locked memory, device to
//! device.
//!
//! A copy from or to the host owns the page-locked buffer until it is done, so that the buffer
//! cannot be read, changed or freed meanwhile. A copy to the device can also share a buffer that is
//! only read. The device buffer need not be held, because freeing it waits.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::error::{CudaError, Result, check};
use super::event::{Event, Timing};
use super::ffi::driver;
use super::pinned::PinnedBuffer;
use super::stream::Stream;

/// A pending copy from or to a page-locked buffer. Dropping it waits for the copy; leaking it leaks
/// the buffer, which is harmless otherwise.
#[derive(Debug)]
#[must_use = "dropping a transfer waits for it"]
pub struct Transfer<T: Pod> {
    /// The buffer, and an event after the copy; `None` after they were returned.
    parts: Option<(PinnedBuffer<T>, Event)>,
}

impl<T: Pod> Transfer<T> {
    /// Whether [`Transfer::wait`] would return immediately.
    #[must_use]
    pub fn ready(&self) -> bool {
        self.parts
            .as_ref()
            .is_none_or(|(_, done)| !matches!(done.is_passed(), Ok(false)))
    }

    /// Waits for the copy and returns the buffer.
    ///
    /// # Errors
    /// The error of the copy or of earlier work in the stream. The buffer is then leaked, because
    /// the device may still use it.
    pub fn wait(self) -> Result<PinnedBuffer<T>> {
        self.wait_with_event().map(|(buffer, _)| buffer)
    }

    /// Like [`Transfer::wait`], but also returns the event, for the next copy.
    ///
    /// # Errors
    /// As [`Transfer::wait`].
    pub(crate) fn wait_with_event(mut self) -> Result<(PinnedBuffer<T>, Event)> {
        let Some((buffer, done)) = self.parts.take() else {
            unreachable!(
                "only this function and drop take the parts, and both consume the transfer"
            )
        };
        match done.synchronize() {
            Ok(()) => Ok((buffer, done)),
            Err(error) => {
                std::mem::forget(buffer);
                Err(error)
            }
        }
    }
}

impl<T: Pod> Drop for Transfer<T> {
    fn drop(&mut self) {
        if let Some((buffer, done)) = self.parts.take()
            && done.synchronize().is_err()
        {
            std::mem::forget(buffer);
        }
    }
}

/// A pending copy from page-locked memory that may be read meanwhile. Dropping it waits for the
/// copy; leaking it leaks the memory, which is harmless otherwise.
#[must_use = "dropping a copy waits for it"]
pub struct SharedUpload {
    /// The memory, and an event after the copy; `None` after the copy was waited for.
    parts: Option<(Arc<dyn Any + Send + Sync>, Event)>,
}

impl std::fmt::Debug for SharedUpload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedUpload").finish_non_exhaustive()
    }
}

impl SharedUpload {
    /// Whether [`SharedUpload::wait`] would return immediately.
    #[must_use]
    pub fn ready(&self) -> bool {
        self.parts
            .as_ref()
            .is_none_or(|(_, done)| !matches!(done.is_passed(), Ok(false)))
    }

    /// Makes the work queued in `stream` from now on wait for the copy; the host does not wait.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn before(&self, stream: &Stream) -> Result<()> {
        match &self.parts {
            Some((_, done)) => stream.wait_event(done),
            None => Ok(()),
        }
    }

    /// Waits for the copy.
    ///
    /// # Errors
    /// The error of the copy or of earlier work in the stream. The memory is then leaked.
    pub fn wait(mut self) -> Result<()> {
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        let Some((memory, done)) = self.parts.take() else {
            return Ok(());
        };
        let waited = done.synchronize();
        if waited.is_err() {
            // The device may still read it.
            std::mem::forget(memory);
        }
        waited
    }
}

impl Drop for SharedUpload {
    fn drop(&mut self) {
        // Errors are reported by `wait`.
        let _ = self.finish();
    }
}

impl Stream {
    /// Queues a copy of elements `range` of the page-locked buffer to elements `at..` of the device
    /// buffer. The page-locked buffer may be read meanwhile but not changed, since the copy holds
    /// it.
    ///
    /// # Errors
    /// A range exceeds its buffer, the devices differ, the stream is being captured, or an error of
    /// the driver.
    pub fn upload_shared<T: Pod + Send + Sync>(
        &self,
        from: &Arc<PinnedBuffer<T>>,
        range: Range<usize>,
        to: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<SharedUpload> {
        self.context().expect_same(to.context(), "the target")?;
        to.expect_range("upload", &(at..at.saturating_add(range.len())))?;
        let Some(source) = from.get(range.clone()) else {
            return Err(CudaError::Range {
                what: "upload",
                start: range.start,
                end: range.end,
                len: from.len(),
            });
        };
        let done = Event::new(self.context(), Timing::Off)?;
        let _no_capture = self.refuse_capture("a copy from host memory")?;
        let bytes = size_of_val(source);
        let mut copy = Ok(());
        if bytes > 0 {
            // SAFETY: both extents were just checked. The upload holds `from` until the copy is
            // done, and nothing borrows it mutably while two references exist; freeing `to` waits.
            let answer = unsafe {
                driver::cuMemcpyHtoDAsync_v2(
                    to.raw() + (at * size_of::<T>()) as driver::DevicePtr,
                    source.as_ptr().cast(),
                    bytes,
                    self.raw(),
                )
            };
            copy = check(answer, "cuMemcpyHtoDAsync");
        }
        let memory: Arc<dyn Any + Send + Sync> = Arc::<PinnedBuffer<T>>::clone(from);
        match copy.and_then(|()| done.record(self)) {
            Ok(()) => Ok(SharedUpload {
                parts: Some((memory, done)),
            }),
            Err(error) => {
                if self.synchronize().is_err() {
                    std::mem::forget(memory);
                }
                Err(error)
            }
        }
    }

    /// Queues copies of several ranges of the page-locked buffer, one after the other, to the start
    /// of the device buffer. The page-locked buffer may be read meanwhile but not changed, since
    /// the copy holds it.
    ///
    /// # Errors
    /// A range exceeds its buffer, the devices differ, the stream is being captured, or an error of
    /// the driver.
    pub fn upload_parts<T: Pod + Send + Sync>(
        &self,
        from: &Arc<PinnedBuffer<T>>,
        parts: &[Range<usize>],
        to: &mut DeviceBuffer<T>,
    ) -> Result<SharedUpload> {
        self.context().expect_same(to.context(), "the target")?;
        let mut elements = 0_usize;
        for part in parts {
            if from.get(part.clone()).is_none() {
                return Err(CudaError::Range {
                    what: "upload",
                    start: part.start,
                    end: part.end,
                    len: from.len(),
                });
            }
            elements = elements.saturating_add(part.len());
        }
        to.expect_range("upload", &(0..elements))?;
        let element = size_of::<T>();
        let done = Event::new(self.context(), Timing::Off)?;
        let _no_capture = self.refuse_capture("a copy from host memory")?;
        let mut copies = Ok(());
        let mut target = to.raw();
        for part in parts.iter().filter(|part| part.len() * element > 0) {
            let source = &from[part.clone()];
            let bytes = size_of_val(source);
            // SAFETY: all parts together fit into `to`. The upload holds `from` until the copies
            // are done, and nothing borrows it mutably while two references exist; freeing `to`
            // waits.
            let answer = unsafe {
                driver::cuMemcpyHtoDAsync_v2(target, source.as_ptr().cast(), bytes, self.raw())
            };
            copies = check(answer, "cuMemcpyHtoDAsync");
            if copies.is_err() {
                break;
            }
            target += bytes as driver::DevicePtr;
        }
        let memory: Arc<dyn Any + Send + Sync> = Arc::<PinnedBuffer<T>>::clone(from);
        match copies.and_then(|()| done.record(self)) {
            Ok(()) => Ok(SharedUpload {
                parts: Some((memory, done)),
            }),
            Err(error) => {
                if self.synchronize().is_err() {
                    std::mem::forget(memory);
                }
                Err(error)
            }
        }
    }

    /// Queues copies of several ranges of the device buffer, one after the other, to the start of
    /// the page-locked buffer.
    ///
    /// # Errors
    /// A range exceeds its buffer, the devices differ, the stream is being captured, or an error of
    /// the driver.
    pub fn download_parts<T: Pod>(
        &self,
        from: &DeviceBuffer<T>,
        parts: &[Range<usize>],
        mut to: PinnedBuffer<T>,
    ) -> Result<Transfer<T>> {
        self.context().expect_same(from.context(), "the source")?;
        let mut elements = 0_usize;
        for part in parts {
            from.expect_range("download", part)?;
            elements = elements.saturating_add(part.len());
        }
        let element = size_of::<T>();
        let bytes = elements.saturating_mul(element);
        expect_bytes("download", 0, bytes, size_of_val::<[T]>(&to))?;
        let done = Event::new(self.context(), Timing::Off)?;
        let _no_capture = self.refuse_capture("a copy to host memory")?;
        let mut copies = Ok(());
        let mut target = to.as_mut_ptr();
        for part in parts.iter().filter(|part| part.len() * element > 0) {
            // SAFETY: the parts lie in `from`, and all of them together in `to`, which the transfer
            // owns until the copies are done; freeing `from` waits.
            let answer = unsafe {
                driver::cuMemcpyDtoHAsync_v2(
                    target.cast(),
                    from.raw() + (part.start * element) as driver::DevicePtr,
                    part.len() * element,
                    self.raw(),
                )
            };
            copies = check(answer, "cuMemcpyDtoHAsync");
            if copies.is_err() {
                break;
            }
            // SAFETY: within `to`, or one past its end.
            target = unsafe { target.add(part.len()) };
        }
        self.finish_queueing(copies, to, done)
    }

    /// Queues a copy of the whole page-locked buffer to elements `at..` of the device buffer.
    ///
    /// # Errors
    /// A range exceeds its buffer, the devices differ, the stream is being captured, or an error of
    /// the driver.
    pub fn upload<T: Pod>(
        &self,
        from: PinnedBuffer<T>,
        to: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<Transfer<T>> {
        let done = Event::new(self.context(), Timing::Off)?;
        let bytes = size_of_val::<[T]>(&from);
        self.upload_bytes(from, bytes, to, at.saturating_mul(size_of::<T>()), done)
    }

    /// Queues a copy of elements `range` of the device buffer to the start of the page-locked
    /// buffer.
    ///
    /// # Errors
    /// A range exceeds its buffer, the devices differ, the stream is being captured, or an error of
    /// the driver.
    pub fn download<T: Pod>(
        &self,
        from: &DeviceBuffer<T>,
        range: Range<usize>,
        to: PinnedBuffer<T>,
    ) -> Result<Transfer<T>> {
        from.expect_range("download", &range)?;
        let done = Event::new(self.context(), Timing::Off)?;
        let element = size_of::<T>();
        self.download_bytes(from, range.start * element, range.len() * element, to, done)
    }

    /// Queues a copy between two buffers of the same device and length.
    ///
    /// # Errors
    /// The lengths or the devices differ, or an error of the driver.
    pub fn copy<T: Pod>(&self, from: &DeviceBuffer<T>, to: &mut DeviceBuffer<T>) -> Result<()> {
        self.context().expect_same(from.context(), "the source")?;
        self.context().expect_same(to.context(), "the target")?;
        to.expect_range("copy", &(0..from.len()))?;
        from.expect_range("copy", &(0..to.len()))?;
        if from.bytes() == 0 {
            return Ok(());
        }
        self.context().enter()?;
        // SAFETY: both buffers have that many bytes on this device and outlive the copy.
        let answer =
            unsafe { driver::cuMemcpyDtoDAsync_v2(to.raw(), from.raw(), from.bytes(), self.raw()) };
        check(answer, "cuMemcpyDtoDAsync")
    }

    /// Queues filling a buffer with zero bytes.
    ///
    /// # Errors
    /// The buffer belongs to another device, or an error of the driver.
    pub fn zero<T: Pod>(&self, buffer: &mut DeviceBuffer<T>) -> Result<()> {
        self.context().expect_same(buffer.context(), "the buffer")?;
        if buffer.bytes() == 0 {
            return Ok(());
        }
        self.context().enter()?;
        // SAFETY: the buffer has that many bytes and outlives the work.
        let answer =
            unsafe { driver::cuMemsetD8Async(buffer.raw(), 0, buffer.bytes(), self.raw()) };
        check(answer, "cuMemsetD8Async")
    }

    /// Queues a copy of the first `bytes` bytes of `from` to byte `offset` of `to`.
    pub(crate) fn upload_bytes<P: Pod, T: Pod>(
        &self,
        from: PinnedBuffer<P>,
        bytes: usize,
        to: &mut DeviceBuffer<T>,
        offset: usize,
        done: Event,
    ) -> Result<Transfer<P>> {
        self.context().expect_same(to.context(), "the target")?;
        let _no_capture = self.refuse_capture("a copy from host memory")?;
        expect_bytes("upload", offset, bytes, to.bytes())?;
        expect_bytes("upload", 0, bytes, size_of_val::<[P]>(&from))?;
        self.context().enter()?;
        if bytes > 0 {
            // SAFETY: both extents were just checked; the transfer owns `from` until the copy is
            // done, and freeing `to` waits for it.
            let answer = unsafe {
                driver::cuMemcpyHtoDAsync_v2(
                    to.raw() + offset as driver::DevicePtr,
                    from.as_ptr().cast(),
                    bytes,
                    self.raw(),
                )
            };
            self.finish_queueing(check(answer, "cuMemcpyHtoDAsync"), from, done)
        } else {
            self.finish_queueing(Ok(()), from, done)
        }
    }

    /// Queues a copy of `bytes` bytes from byte `offset` of `from` to the start of `to`.
    pub(crate) fn download_bytes<P: Pod, T: Pod>(
        &self,
        from: &DeviceBuffer<T>,
        offset: usize,
        bytes: usize,
        mut to: PinnedBuffer<P>,
        done: Event,
    ) -> Result<Transfer<P>> {
        self.context().expect_same(from.context(), "the source")?;
        let _no_capture = self.refuse_capture("a copy to host memory")?;
        expect_bytes("download", offset, bytes, from.bytes())?;
        expect_bytes("download", 0, bytes, size_of_val::<[P]>(&to))?;
        self.context().enter()?;
        if bytes > 0 {
            // SAFETY: both extents were just checked; the transfer owns `to` until the copy is
            // done, and freeing `from` waits for it.
            let answer = unsafe {
                driver::cuMemcpyDtoHAsync_v2(
                    to.as_mut_ptr().cast(),
                    from.raw() + offset as driver::DevicePtr,
                    bytes,
                    self.raw(),
                )
            };
            self.finish_queueing(check(answer, "cuMemcpyDtoHAsync"), to, done)
        } else {
            self.finish_queueing(Ok(()), to, done)
        }
    }

    /// Records an event after a copy that was just queued. If that fails, waits for the stream, so
    /// that the buffer is never released while the device may use it.
    fn finish_queueing<P: Pod>(
        &self,
        copy: Result<()>,
        buffer: PinnedBuffer<P>,
        done: Event,
    ) -> Result<Transfer<P>> {
        match copy.and_then(|()| done.record(self)) {
            Ok(()) => Ok(Transfer {
                parts: Some((buffer, done)),
            }),
            Err(error) => {
                if self.synchronize().is_err() {
                    std::mem::forget(buffer);
                }
                Err(error)
            }
        }
    }
}

fn expect_bytes(what: &'static str, offset: usize, bytes: usize, len: usize) -> Result<()> {
    match offset.checked_add(bytes) {
        Some(end) if end <= len => Ok(()),
        end => Err(CudaError::Range {
            what,
            start: offset,
            end: end.unwrap_or(usize::MAX),
            len,
        }),
    }
}
