//! Asynchronous read-backs of small results: the copy is queued now and read several iterations
//! later.

use std::sync::{Arc, Mutex};

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::context::Context;
use super::copy::Transfer;
use super::error::{CudaError, Result};
use super::event::{Event, Timing};
use super::lock::lock;
use super::pinned::{PinnedBuffer, PinnedKind};
use super::stream::Stream;

/// Size of the smallest page-locked buffer of the pool: a page.
const SMALLEST_BYTES: usize = 4096;

/// Reusable page-locked buffers, so that read-backs in a loop allocate nothing.
#[derive(Debug)]
pub struct ReadBackPool {
    context: Arc<Context>,
    idle: Mutex<Vec<(PinnedBuffer<u8>, Event)>>,
    /// Copies whose [`CudaReadBack`] was dropped.
    unclaimed: Mutex<Vec<Transfer<u8>>>,
}

/// A pending copy of values to the host.
#[derive(Debug)]
#[must_use = "`wait` returns the values"]
pub struct CudaReadBack<T: Pod> {
    /// `None` after the copy was waited for.
    transfer: Option<Transfer<u8>>,
    values: Vec<T>,
    pool: Arc<ReadBackPool>,
}

impl ReadBackPool {
    /// Creates an empty pool.
    #[must_use]
    pub fn new(context: &Arc<Context>) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::clone(context),
            idle: Mutex::default(),
            unclaimed: Mutex::default(),
        })
    }

    /// Queues a copy of the whole buffer to the host.
    ///
    /// # Errors
    /// Page-locked memory is exhausted, the stream is being captured, or an error of the driver.
    pub fn read_back<T: Pod>(
        self: &Arc<Self>,
        stream: &Stream,
        from: &DeviceBuffer<T>,
    ) -> Result<CudaReadBack<T>> {
        let bytes = from.bytes();
        let (buffer, done) = self.take(bytes)?;
        let transfer = stream.download_bytes(from, 0, bytes, buffer, done)?;
        Ok(CudaReadBack {
            transfer: Some(transfer),
            values: vec![T::zeroed(); from.len()],
            pool: Arc::clone(self),
        })
    }

    fn take(&self, bytes: usize) -> Result<(PinnedBuffer<u8>, Event)> {
        self.collect_unclaimed();
        {
            let mut idle = lock(&self.idle);
            if let Some(at) = idle.iter().position(|(buffer, _)| buffer.len() >= bytes) {
                return Ok(idle.swap_remove(at));
            }
        }
        let size = bytes
            .max(SMALLEST_BYTES)
            .checked_next_power_of_two()
            .ok_or_else(|| CudaError::TooLarge {
                what: "results read back".to_owned(),
                len: bytes,
                element: 1,
            })?;
        Ok((
            PinnedBuffer::zeroed(&self.context, PinnedKind::Plain, "results read back", size)?,
            Event::new(&self.context, Timing::Off)?,
        ))
    }

    /// Returns the buffers of unclaimed copies that are done to the pool.
    fn collect_unclaimed(&self) {
        let mut unclaimed = lock(&self.unclaimed);
        let mut at = 0;
        while at < unclaimed.len() {
            if unclaimed[at].ready() {
                if let Ok(parts) = unclaimed.swap_remove(at).wait_with_event() {
                    lock(&self.idle).push(parts);
                }
            } else {
                at += 1;
            }
        }
    }
}

impl<T: Pod> CudaReadBack<T> {
    /// Whether [`CudaReadBack::wait`] would return immediately.
    #[must_use]
    pub fn ready(&self) -> bool {
        self.transfer.as_ref().is_none_or(Transfer::ready)
    }

    /// Waits for the copy and returns the values.
    ///
    /// # Errors
    /// The error of the copy or of earlier work in the stream.
    pub fn wait(mut self) -> Result<Vec<T>> {
        let mut values = std::mem::take(&mut self.values);
        if let Some(transfer) = self.transfer.take() {
            let (buffer, done) = transfer.wait_with_event()?;
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
            bytes.copy_from_slice(&buffer[..bytes.len()]);
            lock(&self.pool.idle).push((buffer, done));
        }
        Ok(values)
    }
}

impl<T: Pod> Drop for CudaReadBack<T> {
    fn drop(&mut self) {
        if let Some(transfer) = self.transfer.take() {
            lock(&self.pool.unclaimed).push(transfer);
        }
    }
}
