//! Device memory for some blocks of exit waves: which of them are there, and which come and go
//! next.

use crate::engines::stream_plan::AHEAD;
use bytemuck::Pod;
use std::mem::{replace, swap};
use warpstride_cuda::gpu::{Device, GpuError, Result};

/// What the memory is for, in errors.
const WAVES: &str = "blocks of exit waves";

/// Memory of a slot.
enum Memory<M: Device, T: Pod + Send> {
    Here(M::Buffer<T>),
    Moving(M::Exchange<T>),
    /// Lost by an error.
    Lost,
}

struct Slot<M: Device, T: Pod + Send> {
    memory: Memory<M, T>,
    block: Option<usize>,
    /// Whether it differs from what the host has.
    changed: bool,
}

/// What a pass does with the exit waves of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engines::cuda) enum Access {
    /// It leaves them where they are.
    Unused,
    Read,
    /// It reads and changes them.
    Change,
    /// It replaces them without having read them.
    Replace,
}

/// The exit waves of all frames in page-locked memory, a piece for each block, and those of some
/// blocks on the device.
pub(super) struct Slots<M: Device, T: Pod + Send + Sync> {
    pieces: M::Pieces<T>,
    slots: Vec<Slot<M, T>>,
    /// Values of all frames.
    elements: usize,
    /// The blocks in the order of the present pass.
    order: Vec<usize>,
    /// Place of each block in it.
    places: Vec<usize>,
    /// Whether the pass after this one has the opposite order, rather than the same.
    returns: bool,
    access: Access,
    /// Place that is worked on.
    place: usize,
}

impl<M: Device, T: Pod + Send + Sync> Slots<M, T> {
    /// Allocates pieces of `lengths` values and `count` slots, no more than pieces, that hold the
    /// longest of them.
    pub(super) fn new(device: &M, lengths: &[usize], count: usize) -> Result<Self> {
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let slot = |_| -> Result<_> {
            Ok(Slot {
                memory: Memory::Here(device.alloc(WAVES, longest)?),
                block: None,
                changed: false,
            })
        };
        Ok(Self {
            slots: (0..count.min(lengths.len()))
                .map(slot)
                .collect::<Result<_>>()?,
            pieces: device.pieces(WAVES, lengths)?,
            elements: lengths.iter().sum(),
            order: Vec::new(),
            places: vec![0; lengths.len()],
            returns: true,
            access: Access::Unused,
            place: 0,
        })
    }

    /// Begins a pass over all blocks in this order; with `returns`, the next one will have the
    /// opposite order.
    pub(super) fn begin(&mut self, order: &[usize], returns: bool, access: Access) {
        self.order = order.to_vec();
        for (place, block) in order.iter().enumerate() {
            self.places[*block] = place;
        }
        (self.returns, self.access, self.place) = (returns, access, 0);
    }

    /// When a block will be needed, counted in blocks from the start of this pass.
    fn next_use(&self, block: usize) -> usize {
        let (place, blocks) = (self.places[block], self.order.len());
        if place >= self.place {
            place
        } else if self.returns {
            blocks + (blocks - 1 - place)
        } else {
            blocks + place
        }
    }

    fn has(&self, block: usize) -> bool {
        self.slots.iter().any(|slot| slot.block == Some(block))
    }

    /// Makes the block at `place` of the pass ready for work that is queued from now on, and
    /// exchanges the blocks behind it with those that are needed last, as far as there are any that
    /// are needed later than they.
    pub(super) fn make_ready(&mut self, device: &M, place: usize) -> Result<()> {
        self.place = place;
        let ahead = AHEAD.min(self.slots.len().saturating_sub(1));
        for next in place..self.order.len().min(place + ahead + 1) {
            if !self.has(self.order[next]) {
                self.bring(device, next)?;
            }
        }
        let (block, access) = (self.order[place], self.access);
        let slot = self.slots.iter_mut().find(|slot| slot.block == Some(block));
        let slot = slot.ok_or(GpuError::Lost { what: WAVES })?;
        slot.memory = match replace(&mut slot.memory, Memory::Lost) {
            Memory::Moving(exchange) => Memory::Here(device.exchanged(exchange)?),
            other => other,
        };
        slot.changed |= matches!(access, Access::Change | Access::Replace);
        Ok(())
    }

    /// Exchanges the block that is needed last with the one at place `next`.
    fn bring(&mut self, device: &M, next: usize) -> Result<()> {
        let last = (0..self.slots.len()).max_by_key(|n| {
            self.slots[*n]
                .block
                .map_or(usize::MAX, |b| self.next_use(b))
        });
        let Some(last) = last else {
            return Ok(());
        };
        let slot = &self.slots[last];
        if slot.block.is_some_and(|block| self.next_use(block) <= next) {
            return Ok(());
        }
        let to_host = slot.block.filter(|_| slot.changed);
        let block = self.order[next];
        let to_device = (self.access != Access::Replace).then_some(block);
        let slot = &mut self.slots[last];
        // If the exchange fails.
        slot.block = None;
        let buffer = match replace(&mut slot.memory, Memory::Lost) {
            Memory::Here(buffer) => buffer,
            // It was brought for a pass that has not come to it.
            Memory::Moving(exchange) => device.exchanged(exchange)?,
            Memory::Lost => return Err(GpuError::Lost { what: WAVES }),
        };
        slot.memory = if to_host.is_none() && to_device.is_none() {
            Memory::Here(buffer)
        } else {
            let pieces = &mut self.pieces;
            Memory::Moving(device.exchange_beside(pieces, to_host, to_device, buffer)?)
        };
        (slot.block, slot.changed) = (Some(block), false);
        Ok(())
    }

    /// Exchanges the memory of the block at `place` of the pass with `other`.
    pub(super) fn exchange(&mut self, place: usize, other: &mut M::Buffer<T>) {
        let block = self.order[place];
        for slot in &mut self.slots {
            if let (true, Memory::Here(buffer)) = (slot.block == Some(block), &mut slot.memory) {
                swap(buffer, other);
            }
        }
    }

    /// The exit waves of all frames.
    pub(super) fn download(&mut self, device: &M) -> Result<Vec<T>> {
        for slot in &mut self.slots {
            if let (Some(block), true) = (slot.block, slot.changed) {
                let buffer = match replace(&mut slot.memory, Memory::Lost) {
                    Memory::Here(buffer) => buffer,
                    Memory::Moving(exchange) => device.exchanged(exchange)?,
                    Memory::Lost => return Err(GpuError::Lost { what: WAVES }),
                };
                let pieces = &mut self.pieces;
                let exchange = device.exchange_beside(pieces, Some(block), None, buffer)?;
                (slot.memory, slot.changed) = (Memory::Moving(exchange), false);
            }
        }
        let mut values = Vec::with_capacity(self.elements);
        for block in 0..self.places.len() {
            values.extend_from_slice(device.piece(&mut self.pieces, block)?);
        }
        Ok(values)
    }

    /// Replaces the exit waves of all frames.
    pub(super) fn upload(&mut self, device: &M, mut values: &[T]) -> Result<()> {
        for slot in &mut self.slots {
            slot.memory = match replace(&mut slot.memory, Memory::Lost) {
                Memory::Moving(exchange) => Memory::Here(device.exchanged(exchange)?),
                other => other,
            };
            (slot.block, slot.changed) = (None, false);
        }
        for block in 0..self.places.len() {
            let piece = device.piece(&mut self.pieces, block)?;
            let (of_piece, others) = values.split_at(piece.len().min(values.len()));
            piece[..of_piece.len()].copy_from_slice(of_piece);
            values = others;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
