//! Buffers that stay between calls.

use crate::gpu::{Machine, Result};
use bytemuck::Pod;

/// Values of the host on the machine; they travel only when they have changed.
pub(super) struct Resident<M: Machine, T: Pod + Send> {
    what: &'static str,
    buffer: M::Buffer<T>,
    /// What the buffer holds, zeros at its end.
    values: Vec<T>,
}

impl<M: Machine, T: Pod + Send + PartialEq> Resident<M, T> {
    pub(super) fn new(machine: &M, what: &'static str) -> Result<Self> {
        Ok(Self {
            what,
            buffer: machine.alloc(what, 0)?,
            values: Vec::new(),
        })
    }

    /// Makes these the buffer's first values.
    pub(super) fn set(&mut self, machine: &M, values: &[T]) -> Result<()> {
        if values.len() > self.values.len() {
            let room = values.len().next_power_of_two();
            self.buffer = machine.alloc(self.what, room)?;
            self.values.clear();
            self.values.resize(room, T::zeroed());
        } else if self.values.starts_with(values) {
            return Ok(());
        }
        self.values[..values.len()].copy_from_slice(values);
        machine.upload(&mut self.buffer, &self.values)
    }

    pub(super) fn buffer(&self) -> &M::Buffer<T> {
        &self.buffer
    }
}

/// Room that kernels write.
pub(super) struct Room<M: Machine, T: Pod + Send> {
    what: &'static str,
    buffer: M::Buffer<T>,
    len: usize,
}

impl<M: Machine, T: Pod + Send> Room<M, T> {
    pub(super) fn new(machine: &M, what: &'static str) -> Result<Self> {
        Ok(Self {
            what,
            buffer: machine.alloc(what, 0)?,
            len: 0,
        })
    }

    /// At least so much.
    pub(super) fn reserve(&mut self, machine: &M, len: usize) -> Result<()> {
        if len > self.len {
            // The old one first: both may not fit.
            self.buffer = machine.alloc(self.what, 0)?;
            self.len = 0;
            self.buffer = machine.alloc(self.what, len)?;
            self.len = len;
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn buffer(&self) -> &M::Buffer<T> {
        &self.buffer
    }

    pub(super) fn buffer_mut(&mut self) -> &mut M::Buffer<T> {
        &mut self.buffer
    }
}
