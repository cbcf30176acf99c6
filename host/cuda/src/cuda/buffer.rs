//! Owned device memory.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::without_provenance_mut;
use std::sync::Arc;

use bytemuck::Pod;
use warpstride_device::launch::{Cuda, Read, Write};

use super::context::{Context, bytes_of};
use super::deferred_free::Owner;
use super::error::{CudaError, Result, check};
use super::ffi::driver;

/// `len` elements in device memory, initially zero.
///
/// Dropping the buffer waits for the device and frees the memory; if a graph exists, both happen
/// when the last graph is gone. Memory of another library ([`DeviceBuffer::foreign`]) is given back
/// to its owner instead.
pub struct DeviceBuffer<T: Pod> {
    context: Arc<Context>,
    address: driver::DevicePtr,
    len: usize,
    /// Keeps memory alive that another library has allocated.
    owner: Option<Owner>,
    elements: PhantomData<T>,
}

impl<T: Pod> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBuffer")
            .field("device", &self.context.ordinal())
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// Allocates `len` zeroed elements; `what` names their purpose in errors. On return the
    /// elements are zero, so any stream may use them.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`] or [`CudaError::TooLarge`], or another error of the driver.
    pub fn zeroed(context: &Arc<Context>, what: &str, len: usize) -> Result<Self> {
        let bytes = bytes_of::<T>(what, len)?;
        context.enter()?;
        let mut address = 0;
        if bytes > 0 {
            // SAFETY: the address is of a live variable; the context is current.
            let answer = unsafe { driver::cuMemAlloc_v2(&raw mut address, bytes) };
            if answer != 0 {
                return Err(context.memory_error(answer, "cuMemAlloc", "device", what, bytes));
            }
        }
        let buffer = Self {
            context: Arc::clone(context),
            address,
            len,
            owner: None,
            elements: PhantomData,
        };
        if bytes > 0 {
            // SAFETY: `bytes` bytes were just allocated there.
            let answer = unsafe { driver::cuMemsetD8_v2(address, 0, bytes) };
            check(answer, "cuMemsetD8")?;
            // SAFETY: null is the legacy default stream, on which the line above runs.
            let answer = unsafe { driver::cuStreamSynchronize(std::ptr::null_mut()) };
            check(answer, "cuStreamSynchronize")?;
        }
        Ok(buffer)
    }

    /// Memory at `address` that `owner` keeps; its range has been checked.
    pub(super) fn with_owner(
        context: &Arc<Context>,
        address: driver::DevicePtr,
        len: usize,
        owner: Owner,
    ) -> Self {
        Self {
            context: Arc::clone(context),
            address,
            len,
            owner: Some(owner),
            elements: PhantomData,
        }
    }

    /// Takes the owner out, so that dropping the buffer does nothing.
    pub(super) fn take_owner(&mut self) -> Option<Owner> {
        let owner = self.owner.take();
        if owner.is_some() {
            self.address = 0;
        }
        owner
    }

    /// The context that the buffer belongs to.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    pub(crate) fn raw(&self) -> driver::DevicePtr {
        self.address
    }

    /// The whole buffer as a read-only launch argument.
    #[must_use]
    pub fn read(&self) -> Read<'_, Cuda, T> {
        // SAFETY: `len` elements of zeroed or written memory, alive while `self` is borrowed (and
        // beyond it until the work that uses them is done, because freeing waits).
        unsafe { Read::from_raw(self.element(0), self.len) }
    }

    /// The whole buffer as a writable launch argument.
    #[must_use]
    pub fn write(&mut self) -> Write<'_, Cuda, T> {
        // SAFETY: as above, and borrowed mutably.
        unsafe { Write::from_raw(self.element(0), self.len) }
    }

    /// A range of elements as a read-only launch argument.
    ///
    /// # Errors
    /// The range exceeds the buffer.
    pub fn read_range(&self, range: Range<usize>) -> Result<Read<'_, Cuda, T>> {
        self.expect_range("read", &range)?;
        // SAFETY: as `read`, for elements that were just checked to exist.
        Ok(unsafe { Read::from_raw(self.element(range.start), range.len()) })
    }

    /// A range of elements as a writable launch argument.
    ///
    /// # Errors
    /// The range exceeds the buffer.
    pub fn write_range(&mut self, range: Range<usize>) -> Result<Write<'_, Cuda, T>> {
        self.expect_range("write", &range)?;
        // SAFETY: as `write`, for elements that were just checked to exist.
        Ok(unsafe { Write::from_raw(self.element(range.start), range.len()) })
    }

    pub(crate) fn expect_range(&self, what: &'static str, range: &Range<usize>) -> Result<()> {
        if range.start <= range.end && range.end <= self.len {
            return Ok(());
        }
        Err(CudaError::Range {
            what,
            start: range.start,
            end: range.end,
            len: self.len,
        })
    }

    /// The address of an element, never dereferenced on the host. It is aligned even if there is no
    /// memory.
    fn element(&self, index: usize) -> *mut T {
        let offset = index * size_of::<T>();
        let address = usize::try_from(self.address).map_or(0, |start| start + offset);
        without_provenance_mut(if address == 0 {
            align_of::<T>()
        } else {
            address
        })
    }
}

impl<T: Pod> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if let Some(owner) = self.take_owner() {
            // Abandoned work may still use the memory: then the closure is dropped, and not the
            // owner.
            let owner = ManuallyDrop::new(owner);
            self.context.defer_release(move |context| {
                let idle = context.wait_idle();
                context.record_drop(idle);
                Some(ManuallyDrop::into_inner(owner))
            });
            return;
        }
        let address = self.address;
        if address == 0 {
            return;
        }
        self.context.defer_free(move |context| {
            let idle = context.wait_idle();
            context.record_drop(idle);
            // SAFETY: allocated by `cuMemAlloc`, freed once; nothing on the device uses it any
            // more: `wait_idle` has waited, and `defer_free` delays this while graphs exist.
            let answer = unsafe { driver::cuMemFree_v2(address) };
            context.record_drop(check(answer, "cuMemFree"));
        });
    }
}
