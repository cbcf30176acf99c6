//! Small results fetched late: the copy is queued now and read some iterations later.

use std::sync::{Arc, Mutex};

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::context::{Context, lock};
use super::copy::Transfer;
use super::error::{CudaError, Result};
use super::event::{Event, Timing};
use super::pinned::{PinnedBuffer, PinnedKind};
use super::stream::Stream;

/// Smallest page-locked buffer of the pool: a page.
const SMALLEST_BYTES: usize = 4096;

/// Page-locked buffers used again and again, so that a fetch in a loop allocates nothing.
#[derive(Debug)]
pub struct FetchPool {
    context: Arc<Context>,
    idle: Mutex<Vec<(PinnedBuffer<u8>, Event)>>,
    /// Copies that nobody waits for any more.
    parked: Mutex<Vec<Transfer<u8>>>,
}

/// Values on their way to the host.
#[derive(Debug)]
#[must_use = "the values come with `wait`"]
pub struct Fetched<T: Pod> {
    /// `None` once it was waited for.
    transfer: Option<Transfer<u8>>,
    values: Vec<T>,
    pool: Arc<FetchPool>,
}

impl FetchPool {
    /// An empty pool.
    #[must_use]
    pub fn new(context: &Arc<Context>) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::clone(context),
            idle: Mutex::default(),
            parked: Mutex::default(),
        })
    }

    /// Queues a copy of the whole buffer to the host.
    ///
    /// # Errors
    /// Out of page-locked memory, the stream is captured, or the driver's.
    pub fn fetch<T: Pod>(
        self: &Arc<Self>,
        stream: &Stream,
        from: &DeviceBuffer<T>,
    ) -> Result<Fetched<T>> {
        let bytes = from.bytes();
        let (buffer, done) = self.take(bytes)?;
        let transfer = stream.download_bytes(from, 0, bytes, buffer, done)?;
        Ok(Fetched {
            transfer: Some(transfer),
            values: vec![T::zeroed(); from.len()],
            pool: Arc::clone(self),
        })
    }

    fn take(&self, bytes: usize) -> Result<(PinnedBuffer<u8>, Event)> {
        self.collect_parked();
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
                what: "fetched results".to_owned(),
                len: bytes,
                element: 1,
            })?;
        Ok((
            PinnedBuffer::zeroed(&self.context, PinnedKind::Plain, "fetched results", size)?,
            Event::new(&self.context, Timing::Off)?,
        ))
    }

    /// Makes buffers of finished, unwanted copies usable again.
    fn collect_parked(&self) {
        let mut parked = lock(&self.parked);
        let mut at = 0;
        while at < parked.len() {
            if parked[at].ready() {
                if let Ok(parts) = parked.swap_remove(at).wait_with_event() {
                    lock(&self.idle).push(parts);
                }
            } else {
                at += 1;
            }
        }
    }
}

impl<T: Pod> Fetched<T> {
    /// Whether [`Fetched::wait`] would return at once.
    #[must_use]
    pub fn ready(&self) -> bool {
        self.transfer.as_ref().is_none_or(Transfer::ready)
    }

    /// Waits for the copy and gives the values.
    ///
    /// # Errors
    /// What went wrong in any work before the copy.
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

impl<T: Pod> Drop for Fetched<T> {
    fn drop(&mut self) {
        if let Some(transfer) = self.transfer.take() {
            lock(&self.pool.parked).push(transfer);
        }
    }
}
