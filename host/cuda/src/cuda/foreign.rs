//! Memory and streams of other libraries in the same process, such as arrays of CuPy, PyTorch and
//! JAX.
//!
//! They use the primary contexts of the devices, as this layer does. Both sides order their
//! streams: work of this layer waits for what the other library has queued
//! ([`Stream::wait_for_foreign`]), and its stream for the work ([`Stream::foreign_waits`]).

use std::sync::Arc;

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::context::{Context, bytes_of};
use super::deferred_free::Owner;
use super::error::{CudaError, Result, check};
use super::event::{Event, Timing};
use super::ffi::driver;
use super::stream::Stream;

impl<T: Pod> DeviceBuffer<T> {
    /// `len` elements at `address` in memory of the context's device that another library has
    /// allocated. Dropping the buffer waits for the device and then drops `owner`. `what` names the
    /// array in errors.
    ///
    /// # Errors
    /// The address is not aligned for `T`, or its first or last byte is not memory of this device.
    ///
    /// # Safety
    /// Until `owner` is dropped the memory stays allocated. It is initialised, or written before it
    /// is read; nothing else writes to it while the work of this layer uses it, nor uses it while
    /// that work writes to it.
    pub unsafe fn foreign(
        context: &Arc<Context>,
        what: &str,
        address: u64,
        len: usize,
        owner: Owner,
    ) -> Result<Self> {
        let bytes = bytes_of::<T>(what, len)? as u64;
        let refuse = |reason: String| CudaError::Foreign {
            what: what.to_owned(),
            reason,
        };
        if bytes == 0 {
            return Ok(Self::with_owner(context, 0, len, owner));
        }
        if !address.is_multiple_of(align_of::<T>() as u64) {
            let reason = format!("expected an address aligned to {} bytes", align_of::<T>());
            return Err(refuse(reason));
        }
        let last = address.checked_add(bytes - 1);
        let last = last.ok_or_else(|| refuse("its end is beyond any memory".to_owned()))?;
        context.enter()?;
        for byte in [address, last] {
            match device_of(byte) {
                Some(found) if found == context.ordinal() => {}
                Some(found) => {
                    let expected = context.ordinal();
                    return Err(refuse(format!(
                        "expected memory of device {expected}, found device {found}"
                    )));
                }
                None => return Err(refuse("expected memory of a device".to_owned())),
            }
        }
        Ok(Self::with_owner(context, address, len, owner))
    }

    /// Gives up the memory of another library without waiting for the device; `None` if it is this
    /// layer's own, which is then freed as by dropping.
    ///
    /// # Safety
    /// The work that uses the memory is done, or whatever its library does with the memory from now
    /// on comes after that work ([`Stream::foreign_waits`]). No graph holds the address.
    #[must_use]
    pub unsafe fn into_owner(mut self) -> Option<Owner> {
        self.take_owner()
    }

    /// The address of the first element, for other libraries; 0 without elements.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.raw()
    }
}

impl Stream {
    /// The handle of the stream, for other libraries, which must not destroy it. 0 is the legacy
    /// default stream.
    #[must_use]
    pub fn address(&self) -> usize {
        self.raw().addr()
    }

    /// Makes the work queued from now on wait for what another library has queued in its stream
    /// `handle` so far; the host does not wait. 0 and 1 are the legacy default stream, 2 that of
    /// this thread, as in CUDA's headers.
    ///
    /// # Errors
    /// An error of the driver.
    ///
    /// # Safety
    /// `handle` is a live stream of the same device.
    pub unsafe fn wait_for_foreign(&self, handle: usize) -> Result<()> {
        let event = Event::new(self.context(), Timing::Off)?;
        // SAFETY: the event is alive, the stream is by contract.
        let answer = unsafe { driver::cuEventRecord(event.raw(), foreign(handle)) };
        check(answer, "cuEventRecord")?;
        self.wait_event(&event)
    }

    /// Makes what another library queues in its stream `handle` from now on wait for the work
    /// queued in this stream so far; the host does not wait. Handles are those of
    /// [`Stream::wait_for_foreign`].
    ///
    /// # Errors
    /// An error of the driver.
    ///
    /// # Safety
    /// `handle` is a live stream of the same device.
    pub unsafe fn foreign_waits(&self, handle: usize) -> Result<()> {
        let event = Event::new(self.context(), Timing::Off)?;
        event.record(self)?;
        // SAFETY: the event is alive, the stream is by contract.
        let answer = unsafe { driver::cuStreamWaitEvent(foreign(handle), event.raw(), 0) };
        check(answer, "cuStreamWaitEvent")
    }
}

fn foreign(handle: usize) -> driver::Handle {
    std::ptr::without_provenance_mut(handle)
}

/// The ordinal of the device whose memory has this address.
fn device_of(address: driver::DevicePtr) -> Option<usize> {
    let (mut kind, mut ordinal) = (0_u32, 0_i32);
    // SAFETY: the results are as large as the attributes, and an address that is no memory is an
    // error.
    let answers = unsafe {
        [
            driver::cuPointerGetAttribute(
                (&raw mut kind).cast(),
                driver::POINTER_MEMORY_TYPE,
                address,
            ),
            driver::cuPointerGetAttribute(
                (&raw mut ordinal).cast(),
                driver::POINTER_DEVICE_ORDINAL,
                address,
            ),
        ]
    };
    (answers == [0; 2] && kind == driver::MEMORY_OF_DEVICE)
        .then(|| usize::try_from(ordinal).ok())?
}
