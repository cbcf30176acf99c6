//! Asynchronous copies: page-locked to device, device to page-locked, device to device.
//!
//! A copy that involves the host owns the page-locked buffer until it is done, so that nobody can
//! change, read or free it meanwhile. The device buffer need not be held: freeing it waits.

use std::ops::Range;

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

impl Stream {
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
