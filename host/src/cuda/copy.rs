//! Asynchronous copies: page-locked to device, device to page-locked, device to device.
//!
//! A copy that involves the host owns the page-locked buffer until it is done, so that nobody can
//! change, read or free it meanwhile; or it shares one that everybody can only read. The device
//! buffer need not be held: freeing it waits.

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

/// A copy under way. Dropping it waits; leaking it leaks the buffer and nothing worse.
#[derive(Debug)]
#[must_use = "dropping a transfer waits for it"]
pub struct Transfer<T: Pod> {
    /// Buffer and mark; `None` once they were handed out.
    parts: Option<(PinnedBuffer<T>, Event)>,
}

impl<T: Pod> Transfer<T> {
    /// Whether [`Transfer::wait`] would return at once.
    #[must_use]
    pub fn ready(&self) -> bool {
        self.parts
            .as_ref()
            .is_none_or(|(_, done)| !matches!(done.is_passed(), Ok(false)))
    }

    /// Waits and gives the buffer back.
    ///
    /// # Errors
    /// What went wrong in the stream up to the copy; the buffer is then lost, since nobody knows
    /// whether the device still uses it.
    pub fn wait(self) -> Result<PinnedBuffer<T>> {
        self.wait_with_event().map(|(buffer, _)| buffer)
    }

    /// As [`Transfer::wait`], with the event for the next copy.
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

/// A copy under way from page-locked memory that may be read meanwhile. Dropping it waits; leaking it
/// leaks the memory and nothing worse.
#[must_use = "dropping a copy waits for it"]
pub struct SharedUpload {
    /// The memory and a mark; `None` once it was waited for.
    parts: Option<(Arc<dyn Any + Send + Sync>, Event)>,
}

impl std::fmt::Debug for SharedUpload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedUpload").finish_non_exhaustive()
    }
}

impl SharedUpload {
    /// Whether [`SharedUpload::wait`] would return at once.
    #[must_use]
    pub fn ready(&self) -> bool {
        self.parts
            .as_ref()
            .is_none_or(|(_, done)| !matches!(done.is_passed(), Ok(false)))
    }

    /// Waits for the copy.
    ///
    /// # Errors
    /// What went wrong in the stream up to the copy; the memory is then leaked.
    pub fn wait(mut self) -> Result<()> {
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        let Some((memory, done)) = self.parts.take() else {
            return Ok(());
        };
        let waited = done.synchronize();
        if waited.is_err() {
            // Nobody knows whether the device still reads it.
            std::mem::forget(memory);
        }
        waited
    }
}

impl Drop for SharedUpload {
    fn drop(&mut self) {
        // Who wants to know what went wrong waits.
        let _ = self.finish();
    }
}

impl Stream {
    /// Queues a copy of elements `range` of the page-locked buffer to elements `at..` of the device
    /// buffer. Others may read the buffer meanwhile; nobody can change it, since the copy holds it.
    ///
    /// # Errors
    /// Extents or devices differ, the stream is captured, or the driver's.
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
        let _not_recorded = self.refuse_capture("a copy from host memory")?;
        let bytes = size_of_val(source);
        let mut copy = Ok(());
        if bytes > 0 {
            // SAFETY: both extents were just checked. The upload holds `from` until the copy is done,
            // and while two hold it nobody has it mutably; freeing `to` waits.
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

    /// Queues copies of elements of the device buffer, part after part, to the start of the page-locked
    /// one.
    ///
    /// # Errors
    /// Extents or devices differ, the stream is captured, or the driver's.
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
        let _not_recorded = self.refuse_capture("a copy to host memory")?;
        let mut copies = Ok(());
        let mut target = to.as_mut_ptr();
        for part in parts.iter().filter(|part| part.len() * element > 0) {
            // SAFETY: the parts lie in `from`, and all of them together in `to`, which the transfer owns
            // until the copies are done; freeing `from` waits.
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
            // SAFETY: within `to`, or just behind it.
            target = unsafe { target.add(part.len()) };
        }
        self.queued(copies, to, done)
    }

    /// Queues a copy of the whole page-locked buffer to elements `at..` of the device buffer.
    ///
    /// # Errors
    /// Extents or devices differ, the stream is captured, or the driver's.
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

    /// Queues a copy of elements `range` of the device buffer to the start of the page-locked one.
    ///
    /// # Errors
    /// Extents or devices differ, the stream is captured, or the driver's.
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

    /// Queues a copy between two device buffers of one device and of the same length.
    ///
    /// # Errors
    /// Extents or devices differ, or the driver's.
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

    /// Queues filling with zero bytes.
    ///
    /// # Errors
    /// Devices differ, or the driver's.
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

    /// The first `bytes` bytes of `from` to byte `offset` of `to`.
    pub(crate) fn upload_bytes<P: Pod, T: Pod>(
        &self,
        from: PinnedBuffer<P>,
        bytes: usize,
        to: &mut DeviceBuffer<T>,
        offset: usize,
        done: Event,
    ) -> Result<Transfer<P>> {
        self.context().expect_same(to.context(), "the target")?;
        let _not_recorded = self.refuse_capture("a copy from host memory")?;
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
            self.queued(check(answer, "cuMemcpyHtoDAsync"), from, done)
        } else {
            self.queued(Ok(()), from, done)
        }
    }

    /// `bytes` bytes from byte `offset` of `from` to the start of `to`.
    pub(crate) fn download_bytes<P: Pod, T: Pod>(
        &self,
        from: &DeviceBuffer<T>,
        offset: usize,
        bytes: usize,
        mut to: PinnedBuffer<P>,
        done: Event,
    ) -> Result<Transfer<P>> {
        self.context().expect_same(from.context(), "the source")?;
        let _not_recorded = self.refuse_capture("a copy to host memory")?;
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
            self.queued(check(answer, "cuMemcpyDtoHAsync"), to, done)
        } else {
            self.queued(Ok(()), to, done)
        }
    }

    /// Marks the end of a copy that was just queued. Without a mark the stream is waited for, so
    /// that the buffer is never given up while the device may use it.
    fn queued<P: Pod>(
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
