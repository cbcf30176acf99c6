//! Copies between ordinary host memory and the device, through two page-locked buffers in turn:
//! while the device copies one the host fills or empties the other.

use std::collections::VecDeque;
use std::sync::Arc;

use bytemuck::Pod;
use rayon::prelude::*;

use super::buffer::DeviceBuffer;
use super::context::Context;
use super::copy::Transfer;
use super::error::Result;
use super::event::{Event, Timing};
use super::pinned::{PinnedBuffer, PinnedKind};
use super::stream::Stream;

/// Bytes of one page-locked buffer: long enough that the start of a copy does not matter (0.3 ms at
/// 55 GB/s), short enough that a pair of them is little memory.
const CHUNK_BYTES: usize = 16 << 20;

/// Bytes that one thread of the host copies at a time.
const HOST_COPY_BYTES: usize = 1 << 20;

/// Page-locked buffers in use at a time: one for the device, one for the host.
const BUFFERS: usize = 2;

/// Two page-locked buffers, made at first need and kept.
#[derive(Debug)]
pub struct Staging {
    context: Arc<Context>,
    made: usize,
    free: Vec<(PinnedBuffer<u8>, Event)>,
    /// Uploads under way, the oldest first.
    busy: VecDeque<Transfer<u8>>,
}

impl Staging {
    /// For the streams of a context.
    #[must_use]
    pub fn new(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            made: 0,
            free: Vec::with_capacity(BUFFERS),
            busy: VecDeque::with_capacity(BUFFERS),
        }
    }

    /// Copies `host` to the start of `to`, in the order of `stream`. Returns when `host` may be
    /// changed; the last chunks may still be on their way.
    ///
    /// # Errors
    /// `host` has more bytes than `to`, the stream is captured, or the driver's.
    pub fn upload<T: Pod>(
        &mut self,
        stream: &Stream,
        host: &[u8],
        to: &mut DeviceBuffer<T>,
    ) -> Result<()> {
        self.upload_at(stream, host, to, 0)
    }

    /// The same to byte `at` of `to`.
    pub(crate) fn upload_at<T: Pod>(
        &mut self,
        stream: &Stream,
        host: &[u8],
        to: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<()> {
        drop(stream.refuse_capture("a copy from host memory")?);
        for (index, chunk) in host.chunks(CHUNK_BYTES).enumerate() {
            let (mut buffer, done) = self.take()?;
            copy_on_host(chunk, &mut buffer[..chunk.len()]);
            let offset = at.saturating_add(index * CHUNK_BYTES);
            let queued = stream.upload_bytes(buffer, chunk.len(), to, offset, done)?;
            self.busy.push_back(queued);
        }
        Ok(())
    }

    /// Copies the start of `from` to `host`, after what is queued in `stream`, and waits for it.
    ///
    /// # Errors
    /// `host` has more bytes than `from`, the stream is captured, or what went wrong in the work
    /// before.
    pub fn download<T: Pod>(
        &mut self,
        stream: &Stream,
        from: &DeviceBuffer<T>,
        host: &mut [u8],
    ) -> Result<()> {
        self.download_at(stream, from, 0, host)
    }

    /// The same from byte `at` of `from`.
    pub(crate) fn download_at<T: Pod>(
        &mut self,
        stream: &Stream,
        from: &DeviceBuffer<T>,
        at: usize,
        host: &mut [u8],
    ) -> Result<()> {
        drop(stream.refuse_capture("a copy to host memory")?);
        let mut under_way: Option<(Transfer<u8>, &mut [u8])> = None;
        for (index, chunk) in host.chunks_mut(CHUNK_BYTES).enumerate() {
            let (buffer, done) = self.take()?;
            let offset = at.saturating_add(index * CHUNK_BYTES);
            let queued = stream.download_bytes(from, offset, chunk.len(), buffer, done)?;
            // While this chunk is on its way the one before is emptied.
            if let Some((transfer, target)) = under_way.replace((queued, chunk)) {
                self.empty(transfer, target)?;
            }
        }
        match under_way {
            Some((transfer, target)) => self.empty(transfer, target),
            None => stream.synchronize(),
        }
    }

    fn empty(&mut self, transfer: Transfer<u8>, target: &mut [u8]) -> Result<()> {
        let (buffer, done) = transfer.wait_with_event()?;
        copy_on_host(&buffer[..target.len()], target);
        self.free.push((buffer, done));
        Ok(())
    }

    fn take(&mut self) -> Result<(PinnedBuffer<u8>, Event)> {
        if let Some(free) = self.free.pop() {
            return Ok(free);
        }
        // After an error buffers may be lost; then there is nothing to wait for.
        if self.made >= BUFFERS
            && let Some(oldest) = self.busy.pop_front()
        {
            return oldest.wait_with_event();
        }
        let what = "staging of copies";
        let buffer = PinnedBuffer::zeroed(&self.context, PinnedKind::Plain, what, CHUNK_BYTES)?;
        let done = Event::new(&self.context, Timing::Off)?;
        self.made += 1;
        Ok((buffer, done))
    }
}

/// A copy within host memory; one core alone is slower than the bus.
fn copy_on_host(from: &[u8], to: &mut [u8]) {
    if from.len() <= HOST_COPY_BYTES {
        to.copy_from_slice(from);
        return;
    }
    to.par_chunks_mut(HOST_COPY_BYTES)
        .zip(from.par_chunks(HOST_COPY_BYTES))
        .for_each(|(to, from)| to.copy_from_slice(from));
}
