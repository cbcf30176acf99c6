//! Copies between pageable host memory and the device, alternating between two page-locked buffers:
//! while the device copies one, the host fills or empties the other.

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

/// Bytes of one page-locked buffer: large enough that the latency of a copy does not matter (0.3 ms
/// at 55 GB/s), small enough that two of them take little memory.
const CHUNK_BYTES: usize = 16 << 20;

/// Bytes that one host thread copies at a time.
const HOST_COPY_BYTES: usize = 1 << 20;

/// Page-locked buffers: one for the device, one for the host.
const BUFFERS: usize = 2;

/// Two page-locked buffers, allocated at first use and kept.
#[derive(Debug)]
pub struct Staging {
    context: Arc<Context>,
    allocated: usize,
    free: Vec<(PinnedBuffer<u8>, Event)>,
    /// Pending uploads, the oldest first.
    busy: VecDeque<Transfer<u8>>,
}

impl Staging {
    /// Creates a staging area for the streams of `context`; allocates nothing yet.
    #[must_use]
    pub fn new(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            allocated: 0,
            free: Vec::with_capacity(BUFFERS),
            busy: VecDeque::with_capacity(BUFFERS),
        }
    }

    /// Copies `host` to the start of `to`, in the order of `stream`. On return `host` may be
    /// changed; the copy of the last chunks may still be pending.
    ///
    /// # Errors
    /// `host` has more bytes than `to`, the stream is being captured, or an error of the driver.
    pub fn upload<T: Pod>(
        &mut self,
        stream: &Stream,
        host: &[u8],
        to: &mut DeviceBuffer<T>,
    ) -> Result<()> {
        self.upload_at(stream, host, to, 0)
    }

    /// Like [`Staging::upload`], to byte `at` of `to`.
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

    /// Copies the start of `from` to `host` after the work queued in `stream`, and waits for it.
    ///
    /// # Errors
    /// `host` has more bytes than `from`, the stream is being captured, or an error of the copy or
    /// of earlier work in the stream.
    pub fn download<T: Pod>(
        &mut self,
        stream: &Stream,
        from: &DeviceBuffer<T>,
        host: &mut [u8],
    ) -> Result<()> {
        self.download_at(stream, from, 0, host)
    }

    /// Like [`Staging::download`], from byte `at` of `from`.
    pub(crate) fn download_at<T: Pod>(
        &mut self,
        stream: &Stream,
        from: &DeviceBuffer<T>,
        at: usize,
        host: &mut [u8],
    ) -> Result<()> {
        drop(stream.refuse_capture("a copy to host memory")?);
        let mut pending: Option<(Transfer<u8>, &mut [u8])> = None;
        for (index, chunk) in host.chunks_mut(CHUNK_BYTES).enumerate() {
            let (buffer, done) = self.take()?;
            let offset = at.saturating_add(index * CHUNK_BYTES);
            let queued = stream.download_bytes(from, offset, chunk.len(), buffer, done)?;
            // Empty the previous chunk while this one is copied.
            if let Some((transfer, target)) = pending.replace((queued, chunk)) {
                self.empty(transfer, target)?;
            }
        }
        match pending {
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
        // After an error buffers may have been leaked; then there is nothing to wait for.
        if self.allocated >= BUFFERS
            && let Some(oldest) = self.busy.pop_front()
        {
            return oldest.wait_with_event();
        }
        let what = "staging of copies";
        let buffer = PinnedBuffer::zeroed(&self.context, PinnedKind::Plain, what, CHUNK_BYTES)?;
        let done = Event::new(&self.context, Timing::Off)?;
        self.allocated += 1;
        Ok((buffer, done))
    }
}

/// Copies within host memory, with several threads because one core is slower than the bus.
fn copy_on_host(from: &[u8], to: &mut [u8]) {
    if from.len() <= HOST_COPY_BYTES {
        to.copy_from_slice(from);
        return;
    }
    to.par_chunks_mut(HOST_COPY_BYTES)
        .zip(from.par_chunks(HOST_COPY_BYTES))
        .for_each(|(to, from)| to.copy_from_slice(from));
}
