//! Page-locked memory in pieces that device buffers are exchanged with, beside the work of a
//! device.
//!
//! The host reaches a piece only through [`PinnedPieces::piece`] and [`PinnedPieces::take`], which
//! wait for the copies from and to it; a piece that was taken is in no copy until it is back. So
//! nothing reads or changes a piece meanwhile, and none is freed before the streams of the copies
//! are idle.

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
    /// None while the host has it ([`PinnedPieces::take`]).
    memory: Option<PinnedBuffer<T>>,
    len: usize,
    copied: Option<Event>,
}

impl<T: Pod> Piece<T> {
    /// Waits for the copies from and to it.
    fn wait(&mut self) -> Result<()> {
        if let Some(copied) = &self.copied {
            copied.synchronize()?;
        }
        self.copied = None;
        Ok(())
    }
}

/// Pieces of page-locked memory, and a stream of copies for each direction.
pub struct PinnedPieces<T: Pod> {
    pieces: Vec<Piece<T>>,
    to_device: Arc<Stream>,
    to_host: Arc<Stream>,
}

/// The direction of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyDirection {
    /// From a piece to a device buffer.
    ToDevice,
    /// From a device buffer to a piece.
    ToHost,
}

impl<T: Pod> fmt::Debug for PinnedPieces<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedPieces")
            .field("pieces", &self.pieces.len())
            .finish_non_exhaustive()
    }
}

/// A device buffer that is being exchanged. Dropping it waits for the copies, as freeing the buffer
/// does.
#[derive(Debug)]
#[must_use = "the buffer is freed with it"]
pub struct Exchange<T: Pod> {
    buffer: DeviceBuffer<T>,
    /// What the next copy has to wait for: the work before the exchange, or the last copy.
    done: Event,
}

impl<T: Pod> Exchange<T> {
    /// Begins an exchange of `buffer` after what has been queued in `work` so far.
    ///
    /// # Errors
    /// The buffer belongs to another device, `work` is being captured, or an error of the driver.
    pub fn new(work: &Stream, buffer: DeviceBuffer<T>) -> Result<Self> {
        (work.context()).expect_same(buffer.context(), "the buffer")?;
        drop(work.refuse_capture("a copy with host memory")?);
        let done = Event::new(buffer.context(), Timing::Off)?;
        done.record(work)?;
        Ok(Self { buffer, done })
    }

    /// Makes the work queued in `stream` from now on wait for the copies, and returns the buffer;
    /// the host does not wait.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn before(self, stream: &Stream) -> Result<DeviceBuffer<T>> {
        stream.wait_event(&self.done)?;
        Ok(self.buffer)
    }
}

impl<T: Pod> PinnedPieces<T> {
    /// Allocates pieces of `lengths` zeroed elements; `what` names their purpose in errors.
    ///
    /// # Errors
    /// As for [`PinnedBuffer::zeroed`], or another error of the driver.
    pub fn zeroed(context: &Arc<Context>, what: &str, lengths: &[usize]) -> Result<Self> {
        let stream = || Stream::new(context, Priority::Normal).map(Arc::new);
        let piece = |len: &usize| {
            let memory = PinnedBuffer::zeroed(context, PinnedKind::Plain, what, *len)?;
            Ok(Piece {
                memory: Some(memory),
                len: *len,
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
        piece.wait()?;
        let memory = piece.memory.as_mut();
        Ok(memory.ok_or(range(number, count))?)
    }

    /// Waits for the copies from and to a piece and takes it out, for any thread to read or change.
    /// Until it is back ([`PinnedPieces::put`]) there is no such piece.
    ///
    /// # Errors
    /// There is no such piece, or the error of a copy or of work before it.
    pub fn take(&mut self, number: usize) -> Result<PinnedBuffer<T>> {
        let count = self.pieces.len();
        let piece = self.pieces.get_mut(number).ok_or(range(number, count))?;
        piece.wait()?;
        piece.memory.take().ok_or(range(number, count))
    }

    /// Puts back a piece that was taken.
    ///
    /// # Errors
    /// The piece was not taken, `memory` has another length, or it was allocated for another
    /// device.
    pub fn put(&mut self, number: usize, memory: PinnedBuffer<T>) -> Result<()> {
        let context = self.to_device.context();
        context.expect_same(memory.context(), "the piece")?;
        let count = self.pieces.len();
        let piece = self.pieces.get_mut(number).ok_or(range(number, count))?;
        if piece.memory.is_some() || memory.elements() != piece.len {
            return Err(range(number, count));
        }
        piece.memory = Some(memory);
        Ok(())
    }

    /// The stream of copies in one direction.
    #[must_use]
    pub fn stream(&self, direction: CopyDirection) -> &Arc<Stream> {
        match direction {
            CopyDirection::ToDevice => &self.to_device,
            CopyDirection::ToHost => &self.to_host,
        }
    }

    /// Number of bytes of a piece; `None` if there is none.
    #[must_use]
    pub fn bytes(&self, number: usize) -> Option<usize> {
        let piece = self.pieces.get(number)?;
        Some(piece.len * size_of::<T>())
    }

    /// Makes the stream of a copy between a piece and the buffer of `exchange` wait for what both
    /// wait for, as [`PinnedPieces::copy`] does, so that what is queued between the two, such as a
    /// timing event, waits too.
    ///
    /// # Errors
    /// There is no such piece, or an error of the driver.
    pub fn wait(
        &self,
        direction: CopyDirection,
        number: usize,
        exchange: &Exchange<T>,
    ) -> Result<()> {
        let piece = self.pieces.get(number);
        let piece = piece.ok_or(range(number, self.pieces.len()))?;
        let stream = self.stream(direction);
        stream.wait_event(&exchange.done)?;
        match &piece.copied {
            Some(copied) => stream.wait_event(copied),
            None => Ok(()),
        }
    }

    /// Queues a copy between a piece and the start of the buffer of `exchange`, as many elements as
    /// the piece has, after what both wait for.
    ///
    /// # Errors
    /// There is no such piece or it is longer than the buffer, the buffer belongs to another
    /// device, or an error of the driver.
    pub fn copy(
        &mut self,
        direction: CopyDirection,
        number: usize,
        exchange: &mut Exchange<T>,
    ) -> Result<()> {
        // So that the last copy of a piece ends after all others.
        self.wait(direction, number, exchange)?;
        let Exchange { buffer, done } = exchange;
        let count = self.pieces.len();
        let piece = self.pieces.get_mut(number).ok_or(range(number, count))?;
        let memory = piece.memory.as_ref().ok_or(range(number, count))?;
        let elements = memory.elements();
        buffer.expect_range("exchange", &(0..elements))?;
        let stream = match direction {
            CopyDirection::ToDevice => &self.to_device,
            CopyDirection::ToHost => &self.to_host,
        };
        (stream.context()).expect_same(buffer.context(), "the buffer")?;
        let bytes = elements * size_of::<T>();
        let host = memory.raw();
        let copied = queue_copy(stream, &mut piece.copied, bytes, || {
            // SAFETY: the piece fits into the buffer; it is not freed or handed to the host before
            // the copy is done, and freeing the buffer waits for all streams.
            unsafe {
                match direction {
                    CopyDirection::ToDevice => driver::cuMemcpyHtoDAsync_v2(
                        buffer.raw(),
                        host.cast_const().cast(),
                        bytes,
                        stream.raw(),
                    ),
                    CopyDirection::ToHost => {
                        driver::cuMemcpyDtoHAsync_v2(host.cast(), buffer.raw(), bytes, stream.raw())
                    }
                }
            }
        });
        *done = self.kept(copied)?;
        Ok(())
    }

    /// Keeps the pieces from the host if a copy failed and the device may still use them.
    fn kept(&mut self, copied: Result<Event>) -> Result<Event> {
        if copied.is_err() {
            self.leak_unless_idle();
        }
        copied
    }

    fn leak_unless_idle(&mut self) {
        let idle = [&self.to_host, &self.to_device].map(|stream| stream.synchronize());
        if idle.iter().any(Result::is_err) {
            std::mem::forget(std::mem::take(&mut self.pieces));
        }
    }
}

/// Queues a copy, and records two events after it: one for the piece, and one for the buffer, which
/// is returned.
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
