//! Copies from one device to another through page-locked host memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::context::{Context, bytes_of};
use super::error::{CudaError, Result, check};
use super::ffi::driver;
use super::pinned::{FreeLater, PinnedKind, allocate};
use super::stream::Stream;

/// Page-locked memory between two devices. [`PeerChannel::send`] copies from the sender into it,
/// and [`PeerChannel::receive`] from it to the receiver; the caller orders the two by events.
///
/// The host cannot access the memory, so it need not be moved into a copy, unlike a
/// [`PinnedBuffer`](super::PinnedBuffer): a missing wait gives wrong numbers but is not undefined
/// behaviour. Both copies may be captured. Dropping the channel waits for both devices and frees
/// the memory (if a graph exists, when the last graph is gone). If waiting fails, the memory is
/// leaked, because a device may still use it.
pub struct PeerChannel<T: Pod> {
    sender: Arc<Context>,
    receiver: Arc<Context>,
    /// `None` if the channel has no bytes.
    memory: Option<NonNull<u8>>,
    len: usize,
    elements: PhantomData<T>,
}

// SAFETY: the host never reads or writes the memory, and the driver allows any thread to copy with
// it and to free it.
unsafe impl<T: Pod> Send for PeerChannel<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for PeerChannel<T> {}

impl<T: Pod> fmt::Debug for PeerChannel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerChannel")
            .field("from", &self.sender.ordinal())
            .field("to", &self.receiver.ordinal())
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T: Pod> PeerChannel<T> {
    /// Creates a channel for at most `len` elements at a time; `what` names its purpose in errors.
    ///
    /// # Errors
    /// Page-locked memory is exhausted, or another error of the driver.
    pub fn new(
        sender: &Arc<Context>,
        receiver: &Arc<Context>,
        what: &str,
        len: usize,
    ) -> Result<Self> {
        let bytes = bytes_of::<T>(what, len)?;
        let memory = if bytes == 0 {
            None
        } else {
            Some(allocate(receiver, PinnedKind::Portable, what, bytes)?)
        };
        Ok(Self {
            sender: Arc::clone(sender),
            receiver: Arc::clone(receiver),
            memory,
            len,
            elements: PhantomData,
        })
    }

    /// The maximum number of elements at a time.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the maximum number of elements is zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Queues a copy of elements `range` of `from` to the channel, in a stream of the sender.
    ///
    /// # Errors
    /// The range exceeds the buffer or the channel, the devices differ, or an error of the driver.
    pub fn send(&self, stream: &Stream, from: &DeviceBuffer<T>, range: Range<usize>) -> Result<()> {
        stream
            .context()
            .expect_same(&self.sender, "the peer channel")?;
        stream.context().expect_same(from.context(), "the source")?;
        from.expect_range("copy to the host", &range)?;
        let Some((memory, bytes)) = self.part(range.len())? else {
            return Ok(());
        };
        let source = from.raw() + (range.start * size_of::<T>()) as driver::DevicePtr;
        stream.context().enter()?;
        // SAFETY: both extents were just checked; neither memory is freed before the work of this
        // context is done and no graph exists.
        let answer = unsafe {
            driver::cuMemcpyDtoHAsync_v2(memory.as_ptr().cast(), source, bytes, stream.raw())
        };
        check(answer, "cuMemcpyDtoHAsync")
    }

    /// Queues a copy of the first `count` elements of the channel to elements `at..` of `to`, in a
    /// stream of the receiver.
    ///
    /// # Errors
    /// The range exceeds the buffer or the channel, the devices differ, or an error of the driver.
    pub fn receive(
        &self,
        stream: &Stream,
        count: usize,
        to: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<()> {
        stream
            .context()
            .expect_same(&self.receiver, "the peer channel")?;
        stream.context().expect_same(to.context(), "the target")?;
        to.expect_range("copy from the host", &(at..at.saturating_add(count)))?;
        let Some((memory, bytes)) = self.part(count)? else {
            return Ok(());
        };
        let target = to.raw() + (at * size_of::<T>()) as driver::DevicePtr;
        stream.context().enter()?;
        // SAFETY: as in `send`.
        let answer = unsafe {
            driver::cuMemcpyHtoDAsync_v2(target, memory.as_ptr().cast(), bytes, stream.raw())
        };
        check(answer, "cuMemcpyHtoDAsync")
    }

    /// The address and the size in bytes of `count` elements; `None` if there are no bytes.
    fn part(&self, count: usize) -> Result<Option<(NonNull<u8>, usize)>> {
        if count > self.len {
            return Err(CudaError::Range {
                what: "copy through the host",
                start: 0,
                end: count,
                len: self.len,
            });
        }
        let bytes = count * size_of::<T>();
        Ok(self
            .memory
            .filter(|_| bytes > 0)
            .map(|memory| (memory, bytes)))
    }
}

impl<T: Pod> Drop for PeerChannel<T> {
    fn drop(&mut self) {
        let Some(memory) = self.memory.map(FreeLater) else {
            return;
        };
        let sender = Arc::clone(&self.sender);
        self.receiver.defer_free(move |receiver| {
            let done = sender.synchronize();
            match done.and(receiver.synchronize()) {
                Ok(()) => memory.free(receiver),
                error => receiver.record_drop(error),
            }
        });
    }
}
