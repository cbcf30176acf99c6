//! A device buffer that grows on demand.

use super::{Device, Result};
use bytemuck::Pod;

/// A device buffer that grows when a greater length is requested, and never shrinks.
pub struct GrowableBuffer<M: Device, T: Pod + Send> {
    what: &'static str,
    buffer: M::Buffer<T>,
    len: usize,
}

impl<M: Device, T: Pod + Send> GrowableBuffer<M, T> {
    /// An empty buffer; `what` names it in errors.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn new(device: &M, what: &'static str) -> Result<Self> {
        Ok(Self {
            what,
            buffer: device.alloc(what, 0)?,
            len: 0,
        })
    }

    /// Ensures a length of at least `len` elements; the contents are lost if the buffer grows.
    ///
    /// # Errors
    /// Out of memory.
    pub fn reserve(&mut self, device: &M, len: usize) -> Result<()> {
        if len > self.len {
            // The old buffer is freed first, because both may not fit into memory.
            self.buffer = device.alloc(self.what, 0)?;
            self.len = 0;
            self.buffer = device.alloc(self.what, len)?;
            self.len = len;
        }
        Ok(())
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The underlying buffer.
    #[must_use]
    pub fn buffer(&self) -> &M::Buffer<T> {
        &self.buffer
    }

    /// The underlying buffer, for writing.
    pub fn buffer_mut(&mut self) -> &mut M::Buffer<T> {
        &mut self.buffer
    }
}
