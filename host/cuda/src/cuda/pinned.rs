//! Page-locked host memory, which the device can copy from and to asynchronously.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;

use super::context::{Context, bytes_of};
use super::error::{Result, check};
use super::ffi::driver;

/// The kind of page-locked memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PinnedKind {
    /// Cached by the CPU.
    #[default]
    Plain,
    /// Not cached: slow to read on the CPU, so useful for uploads only.
    WriteCombined,
    /// Page-locked for every device of the process.
    Portable,
}

/// `len` elements of page-locked host memory, initially zero. The buffer is a slice while no copy
/// is pending, because a copy takes it by value.
pub struct PinnedBuffer<T: Pod> {
    context: Arc<Context>,
    address: NonNull<T>,
    len: usize,
}

// SAFETY: the buffer owns its memory, which any thread may use and free; `Pod` types are plain
// bytes.
unsafe impl<T: Pod + Send> Send for PinnedBuffer<T> {}
// SAFETY: a shared buffer is a shared slice.
unsafe impl<T: Pod + Sync> Sync for PinnedBuffer<T> {}

impl<T: Pod> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedBuffer")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T: Pod> PinnedBuffer<T> {
    /// Allocates `len` zeroed elements; `what` names their purpose in errors.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`](super::CudaError::OutOfMemory) or
    /// [`CudaError::TooLarge`](super::CudaError::TooLarge), or another error of the driver.
    pub fn zeroed(
        context: &Arc<Context>,
        kind: PinnedKind,
        what: &str,
        len: usize,
    ) -> Result<Self> {
        let bytes = bytes_of::<T>(what, len)?;
        let address = if bytes == 0 {
            NonNull::dangling()
        } else {
            allocate(context, kind, what, bytes)?.cast()
        };
        Ok(Self {
            context: Arc::clone(context),
            address,
            len,
        })
    }

    /// The context of the device for which it was allocated.
    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The address, for copies that are pending while the buffer is not used as a slice.
    pub(super) fn raw(&self) -> *mut T {
        self.address.as_ptr()
    }

    /// The number of elements, which can be asked for while copies are pending.
    pub(super) fn elements(&self) -> usize {
        self.len
    }

    /// Allocates a buffer with a copy of `values`.
    ///
    /// # Errors
    /// As for [`PinnedBuffer::zeroed`].
    pub fn from_slice(
        context: &Arc<Context>,
        kind: PinnedKind,
        what: &str,
        values: &[T],
    ) -> Result<Self> {
        let mut buffer = Self::zeroed(context, kind, what, values.len())?;
        buffer.copy_from_slice(values);
        Ok(buffer)
    }
}

pub(super) fn allocate(
    context: &Arc<Context>,
    kind: PinnedKind,
    what: &str,
    bytes: usize,
) -> Result<NonNull<u8>> {
    context.enter()?;
    let flags = match kind {
        PinnedKind::Plain => 0,
        PinnedKind::WriteCombined => driver::HOST_WRITE_COMBINED,
        PinnedKind::Portable => driver::HOST_PORTABLE,
    };
    let mut address = std::ptr::null_mut();
    // SAFETY: the address is of a live variable; the context is current.
    let answer = unsafe { driver::cuMemHostAlloc(&raw mut address, bytes, flags) };
    match NonNull::new(address.cast::<u8>()) {
        Some(address) if answer == 0 => {
            // SAFETY: the driver gave `bytes` bytes, page-aligned.
            unsafe { address.write_bytes(0, bytes) };
            Ok(address)
        }
        _ => Err(context.memory_error(
            if answer == 0 {
                driver::OUT_OF_MEMORY
            } else {
                answer
            },
            "cuMemHostAlloc",
            "page-locked",
            what,
            bytes,
        )),
    }
}

impl<T: Pod> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` initialised elements (zeros are valid for `Pod`), aligned to a page or
        // dangling if there are none; no copy is pending, since copies own the buffer.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.len) }
    }
}

impl<T: Pod> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.len) }
    }
}

impl<T: Pod> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        if self.len * size_of::<T>() == 0 {
            return;
        }
        let memory = FreeLater(self.address.cast());
        // Not during a capture: the driver would refuse it and invalidate the capture.
        self.context.defer_free(move |context| memory.free(context));
    }
}

pub(super) struct FreeLater(pub(super) NonNull<u8>);

// SAFETY: page-locked memory may be freed on any thread.
unsafe impl Send for FreeLater {}

impl FreeLater {
    pub(super) fn free(self, context: &Context) {
        context.record_drop(context.enter());
        // SAFETY: allocated by `cuMemHostAlloc`, not used afterwards; no copy is pending:
        // `Transfer` returns or drops a buffer only when its copy is done, and a `PeerChannel` has
        // waited for both of its devices.
        let answer = unsafe { driver::cuMemFreeHost(self.0.as_ptr().cast()) };
        context.record_drop(check(answer, "cuMemFreeHost"));
    }
}
