//! Rows from one device to another through the host, queued like everything else.

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

/// Page-locked memory between two devices. [`Relay::take`] copies from the sender into it,
/// [`Relay::give`] from it to the receiver; the order of the two is the caller's, by events.
///
/// The host never sees the memory as values, so that, unlike a
/// [`PinnedBuffer`](super::PinnedBuffer), it need not be given away for a copy: a missing wait gives
/// wrong numbers and nothing worse. Both copies may be captured. Dropping it waits for both devices
/// (later, if a graph is alive) and frees it; where waiting fails it is leaked, since nobody knows
/// whether a device still uses it.
pub struct Relay<T: Pod> {
    sender: Arc<Context>,
    receiver: Arc<Context>,
    /// `None` where there are no bytes.
    memory: Option<NonNull<u8>>,
    len: usize,
    elements: PhantomData<T>,
}

// SAFETY: the host never reads or writes the memory, and the driver allows any thread to copy with
// it and to free it.
unsafe impl<T: Pod> Send for Relay<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for Relay<T> {}

impl<T: Pod> fmt::Debug for Relay<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay")
            .field("from", &self.sender.ordinal())
            .field("to", &self.receiver.ordinal())
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T: Pod> Relay<T> {
    /// For at most `len` elements at a time; `what` is said in errors.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
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

    /// Most elements at a time.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is for none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Queues a copy of elements `range` of `from` in a stream of the sender.
    ///
    /// # Errors
    /// Extents or devices do not fit, or the driver's.
    pub fn take(&self, stream: &Stream, from: &DeviceBuffer<T>, range: Range<usize>) -> Result<()> {
        stream.context().expect_same(&self.sender, "the relay")?;
        stream.context().expect_same(from.context(), "the source")?;
        from.expect_range("copy to the host", &range)?;
        let Some((memory, bytes)) = self.part(range.len())? else {
            return Ok(());
        };
        let source = from.raw() + (range.start * size_of::<T>()) as driver::DevicePtr;
        stream.context().enter()?;
        // SAFETY: both extents were just checked; neither memory is freed before the work of this
        // context is done and no graph is alive.
        let answer = unsafe {
            driver::cuMemcpyDtoHAsync_v2(memory.as_ptr().cast(), source, bytes, stream.raw())
        };
        check(answer, "cuMemcpyDtoHAsync")
    }

    /// Queues a copy of the first `count` elements that were taken last to elements `at…` of `to`,
    /// in a stream of the receiver.
    ///
    /// # Errors
    /// Extents or devices do not fit, or the driver's.
    pub fn give(
        &self,
        stream: &Stream,
        count: usize,
        to: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<()> {
        stream.context().expect_same(&self.receiver, "the relay")?;
        stream.context().expect_same(to.context(), "the target")?;
        to.expect_range("copy from the host", &(at..at.saturating_add(count)))?;
        let Some((memory, bytes)) = self.part(count)? else {
            return Ok(());
        };
        let target = to.raw() + (at * size_of::<T>()) as driver::DevicePtr;
        stream.context().enter()?;
        // SAFETY: as in `take`.
        let answer = unsafe {
            driver::cuMemcpyHtoDAsync_v2(target, memory.as_ptr().cast(), bytes, stream.raw())
        };
        check(answer, "cuMemcpyHtoDAsync")
    }

    /// Where `count` elements are, and their bytes; `None` where there are none.
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

impl<T: Pod> Drop for Relay<T> {
    fn drop(&mut self) {
        let Some(memory) = self.memory.map(FreeLater) else {
            return;
        };
        let sender = Arc::clone(&self.sender);
        self.receiver.retire(move |receiver| {
            let done = sender.synchronize();
            match done.and(receiver.synchronize()) {
                Ok(()) => memory.free(receiver),
                error => receiver.record_drop(error),
            }
        });
    }
}
