//! A device buffer that mirrors host values.

use bytemuck::Pod;
use warpstride_cuda::gpu::{Device, Result};

/// Host values and their copy on the device; an upload happens only if the values have changed.
pub(super) struct MirroredBuffer<M: Device, T: Pod + Send> {
    what: &'static str,
    buffer: M::Buffer<T>,
    /// Contents of the device buffer, with zeros at its end.
    values: Vec<T>,
}

impl<M: Device, T: Pod + Send + PartialEq> MirroredBuffer<M, T> {
    pub(super) fn new(device: &M, what: &'static str) -> Result<Self> {
        Ok(Self {
            what,
            buffer: device.alloc(what, 0)?,
            values: Vec::new(),
        })
    }

    /// Makes `values` the first values of the buffer.
    pub(super) fn set(&mut self, device: &M, values: &[T]) -> Result<()> {
        if values.len() > self.values.len() {
            let capacity = values.len().next_power_of_two();
            self.buffer = device.alloc(self.what, capacity)?;
            self.values.clear();
            self.values.resize(capacity, T::zeroed());
        } else if self.values.starts_with(values) {
            return Ok(());
        }
        self.values[..values.len()].copy_from_slice(values);
        device.upload(&mut self.buffer, &self.values)
    }

    pub(super) fn buffer(&self) -> &M::Buffer<T> {
        &self.buffer
    }
}
