//! Page-locked memory in pieces that device buffers are exchanged with, beside the work of a device.
//!
//! The host reaches a piece only through [`PinnedPieces::piece`], which waits for the copies from and to it. So nothing
//! reads or changes a piece meanwhile, and none is freed before the streams of the copies are idle.

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::context::Context;
use super::error::{CudaError, Result, check};
use super::event::{Event, Timing};
use super::ffi::driver;
use super::pinned::{PinnedBuffer, PinnedKind};
use super::stream::{Priority, Stream};

/// A piece, and an event after the last copy from or to it.
struct Piece<T: Pod> {
    memory: PinnedBuffer<T>,
    copied: Option<Event>,
}

/// Pieces of page-locked memory, and a stream of copies for each direction.
pub struct PinnedPieces<T: Pod> {
    pieces: Vec<Piece<T>>,
    to_device: Stream,
    to_host: Stream,
}

impl<T: Pod> fmt::Debug for PinnedPieces<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedPieces")
            .field("pieces", &self.pieces.len())
            .finish_non_exhaustive()
    }
}

/// A device buffer that is being exchanged. Dropping it waits for the copies, as freeing the buffer does.
#[derive(Debug)]
#[must_use = "the buffer is freed with it"]
pub struct Exchange<T: Pod> {
    buffer: DeviceBuffer<T>,
    /// After the last copy; `None` if nothing was copied.
    done: Option<Event>,
}

impl<T: Pod> Exchange<T> {
    /// Makes the work queued in `stream` from now on wait for the copies, and returns the buffer; the host does not
    /// wait.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn before(self, stream: &Stream) -> Result<DeviceBuffer<T>> {
        if let Some(done) = &self.done {
            stream.wait_event(done)?;
        }
        Ok(self.buffer)
    }
}

impl<T: Pod> PinnedPieces<T> {
    /// Allocates pieces of `lengths` zeroed elements; `what` names their purpose in errors.
    ///
    /// # Errors
    /// As for [`PinnedBuffer::zeroed`], or another error of the driver.
    pub fn zeroed(context: &Arc<Context>, what: &str, lengths: &[usize]) -> Result<Self> {
        let stream = || Stream::new(context, Priority::Normal);
        let piece = |len: &usize| {
            let memory = PinnedBuffer::zeroed(context, PinnedKind::Plain, what, *len)?;
            Ok(Piece {
                memory,
                copied: None,
            })
        };
        Ok(Self {
            pieces: lengths.iter().map(piece).collect::<Result<_>>()?,
            to_device: stream()?,
            to_host: stream()?,
        })
    }

    /// Waits for the copies from and to a piece and returns it, for the host to read or change.
    ///
    /// # Errors
    /// There is no such piece, or the error of a copy or of work before it.
    pub fn piece(&mut self, number: usize) -> Result<&mut [T]> {
        let count = self.pieces.len();
        let piece = self.pieces.get_mut(number).ok_or(range(number, count))?;
        if let Some(copied) = &piece.copied {
            copied.synchronize()?;
        }
        piece.copied = None;
        Ok(&mut piece.memory)
    }

    /// Queues a copy of the start of `buffer` to the piece `from_device`, then one of the piece `to_device` to the start
    /// of `buffer`, each as many elements as the piece has. They begin after what has been queued in `work` so far, and
    /// run at the same time as what is queued there afterwards.
    ///
    /// # Errors
    /// There is no such piece or it is longer than the buffer, `work` or the buffer belongs to another device, `work` is
    /// being captured, or an error of the driver; then the buffer is lost.
    pub fn exchange(
        &mut self,
        work: &Stream,
        from_device: Option<usize>,
        to_device: Option<usize>,
        buffer: DeviceBuffer<T>,
    ) -> Result<Exchange<T>> {
        let context = Arc::clone(self.to_device.context());
        (work.context()).expect_same(buffer.context(), "the buffer")?;
        context.expect_same(buffer.context(), "the buffer")?;
        for number in [from_device, to_device].into_iter().flatten() {
            let piece = self.pieces.get(number);
            let len = piece.ok_or(range(number, self.pieces.len()))?.memory.len();
            buffer.expect_range("exchange", &(0..len))?;
        }
        drop(work.refuse_capture("a copy with host memory")?);
        let queued = Event::new(&context, Timing::Off)?;
        queued.record(work)?;
        let mut done = None;
        if let Some(number) = from_device {
            done = Some(self.queue_to_host(number, &queued, &buffer)?);
        }
        if let Some(number) = to_device {
            done = Some(self.queue_to_device(number, done.as_ref().unwrap_or(&queued), &buffer)?);
        }
        Ok(Exchange { buffer, done })
    }

    /// Queues a copy of the start of `buffer`, whose extent has been checked, to a piece, after the event.
    fn queue_to_host(
        &mut self,
        number: usize,
        after: &Event,
        buffer: &DeviceBuffer<T>,
    ) -> Result<Event> {
        let (piece, stream) = (&mut self.pieces[number], &self.to_host);
        stream.wait_event(after)?;
        if let Some(copied) = &piece.copied {
            stream.wait_event(copied)?;
        }
        let (target, bytes) = (piece.memory.as_mut_ptr(), size_of_val::<[T]>(&piece.memory));
        let done = queue_copy(stream, &mut piece.copied, bytes, || {
            // SAFETY: the piece fits into the buffer; it is not freed or handed to the host before the copy is done, and
            // freeing the buffer waits for all streams.
            unsafe {
                driver::cuMemcpyDtoHAsync_v2(target.cast(), buffer.raw(), bytes, stream.raw())
            }
        });
        self.kept(done)
    }

    /// Queues a copy of a piece to the start of `buffer`, whose extent has been checked, after the event.
    fn queue_to_device(
        &mut self,
        number: usize,
        after: &Event,
        buffer: &DeviceBuffer<T>,
    ) -> Result<Event> {
        let (piece, stream) = (&mut self.pieces[number], &self.to_device);
        stream.wait_event(after)?;
        if let Some(copied) = &piece.copied {
            stream.wait_event(copied)?;
        }
        let (source, bytes) = (piece.memory.as_ptr(), size_of_val::<[T]>(&piece.memory));
        let done = queue_copy(stream, &mut piece.copied, bytes, || {
            // SAFETY: as in `queue_to_host`.
            unsafe {
                driver::cuMemcpyHtoDAsync_v2(buffer.raw(), source.cast(), bytes, stream.raw())
            }
        });
        self.kept(done)
    }

    /// Keeps the pieces from the host if a copy failed and the device may still use them.
    fn kept(&mut self, copied: Result<Event>) -> Result<Event> {
        if copied.is_err() {
            self.leak_unless_idle();
        }
        copied
    }

    fn leak_unless_idle(&mut self) {
        let idle = [&self.to_host, &self.to_device].map(Stream::synchronize);
        if idle.iter().any(Result::is_err) {
            std::mem::forget(std::mem::take(&mut self.pieces));
        }
    }
}

/// Queues a copy, and records two events after it: one for the piece, and one for the buffer, which is returned.
fn queue_copy(
    stream: &Stream,
    copied: &mut Option<Event>,
    bytes: usize,
    queue: impl FnOnce() -> u32,
) -> Result<Event> {
    let event = || Event::new(stream.context(), Timing::Off);
    let (of_piece, of_buffer) = (event()?, event()?);
    stream.context().enter()?;
    if bytes > 0 {
        check(queue(), "cuMemcpyAsync")?;
    }
    of_piece.record(stream)?;
    of_buffer.record(stream)?;
    *copied = Some(of_piece);
    Ok(of_buffer)
}

fn range(number: usize, count: usize) -> CudaError {
    CudaError::Range {
        what: "piece",
        start: number,
        end: number.saturating_add(1),
        len: count,
    }
}

impl<T: Pod> Drop for PinnedPieces<T> {
    fn drop(&mut self) {
        self.leak_unless_idle();
    }
}
