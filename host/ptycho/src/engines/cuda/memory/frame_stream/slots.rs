//! Device memory for some blocks of frames: which of them are there, and which come next.

use super::host::{Arriving, Host};
use crate::engines::stream_plan::{AHEAD, READ_AHEAD};
use bytemuck::Pod;
use std::collections::HashMap;
use std::mem::{replace, swap};
use warpstride_cuda::gpu::{Device, GpuError, Result};

/// What the memory is for, in errors.
const BLOCKS: &str = "blocks of frames";

/// Memory of a slot.
enum Memory<M: Device, T: Pod + Send> {
    Here(M::Buffer<T>),
    Arriving(Arriving<M, T>),
    /// Lost by an error.
    Lost,
}

struct Slot<M: Device, T: Pod + Send> {
    memory: Memory<M, T>,
    /// Frames that it holds, in their order.
    frames: Vec<u32>,
    /// Number of this block in the present pass.
    block: Option<usize>,
    /// When it was used last: the number of blocks that had been used before.
    used: usize,
}

/// The values of all frames on the host, and of some blocks on the device.
pub(super) struct Slots<M: Device, T: Pod + Send + Sync> {
    host: Host<M, T>,
    /// Pixels of a frame.
    pixels: usize,
    slots: Vec<Slot<M, T>>,
    /// Frames of the blocks of the present pass.
    blocks: Vec<Vec<u32>>,
    used: usize,
}

impl<M: Device, T: Pod + Send + Sync> Slots<M, T> {
    /// Allocates `count` slots of `most` frames of `pixels` values.
    pub(super) fn new(
        device: &M,
        host: Host<M, T>,
        [most, pixels, count]: [usize; 3],
    ) -> Result<Self> {
        let slot = |_| -> Result<_> {
            Ok(Slot {
                memory: Memory::Here(device.alloc(BLOCKS, most * pixels)?),
                frames: Vec::new(),
                block: None,
                used: 0,
            })
        };
        Ok(Self {
            host,
            pixels,
            slots: (0..count).map(slot).collect::<Result<_>>()?,
            blocks: Vec::new(),
            used: 0,
        })
    }

    /// Begins a pass over `blocks`.
    pub(super) fn begin(&mut self, blocks: &[&[u32]]) {
        let by_first: HashMap<Option<&u32>, usize> = blocks
            .iter()
            .enumerate()
            .map(|(number, block)| (block.first(), number))
            .collect();
        for slot in &mut self.slots {
            let number = by_first.get(&slot.frames.first()).copied();
            slot.block = number.filter(|n| !slot.frames.is_empty() && blocks[*n] == slot.frames);
        }
        self.blocks = blocks.iter().map(|block| block.to_vec()).collect();
    }

    /// The memory that holds block `number` of the pass, for work that is queued from now on; sends
    /// the blocks behind it as far as there is memory that no earlier one needs, and begins to read
    /// those that come then.
    pub(super) fn make_ready(&mut self, device: &M, number: usize) -> Result<&M::Buffer<T>> {
        let ahead = AHEAD.min(self.slots.len().saturating_sub(1));
        for next in number..self.blocks.len().min(number + ahead + 1) {
            if self.slots.iter().all(|slot| slot.block != Some(next)) {
                self.send(device, number, next)?;
            }
        }
        let later = self.blocks.iter().skip(number + ahead + 1).take(READ_AHEAD);
        for frames in later {
            if self.slots.iter().all(|slot| slot.frames != *frames) {
                self.host.begin(device, frames, self.pixels)?;
            }
        }
        let used = self.used;
        self.used += 1;
        for slot in &mut self.slots {
            if slot.block == Some(number) {
                slot.used = used;
                slot.memory = match replace(&mut slot.memory, Memory::Lost) {
                    Memory::Arriving(memory) => Memory::Here(memory.arrived(device)?),
                    other => other,
                };
                if let Memory::Here(buffer) = &slot.memory {
                    return Ok(buffer);
                }
            }
        }
        Err(GpuError::Lost { what: BLOCKS })
    }

    /// Sends block `next` to the slot that is needed last of those that are needed after it, while
    /// block `number` is next to be worked on.
    fn send(&mut self, device: &M, number: usize, next: usize) -> Result<()> {
        // Of blocks that this pass does not need again, those that were used first are kept: in the
        // next pass they will be needed first.
        let needed = |slot: &Slot<M, T>| slot.block.filter(|block| *block >= number);
        let place = |slot: &Slot<M, T>| needed(slot).map_or((usize::MAX, slot.used), |n| (n, 0));
        let free = self.slots.iter_mut().filter(|slot| place(slot).0 > next);
        let Some(slot) = free.max_by_key(|slot| (slot.frames.is_empty(), place(slot))) else {
            return Ok(());
        };
        let buffer = match replace(&mut slot.memory, Memory::Lost) {
            Memory::Here(buffer) => buffer,
            // It was sent for a pass that has not come to it.
            Memory::Arriving(memory) => memory.arrived(device)?,
            Memory::Lost => return Ok(()),
        };
        let frames = &self.blocks[next];
        let sent = self.host.send(device, frames, self.pixels, buffer)?;
        slot.memory = Memory::Arriving(sent);
        slot.frames.clone_from(frames);
        slot.block = Some(next);
        Ok(())
    }

    /// Exchanges the memory of block `number` with `other`.
    pub(super) fn exchange(&mut self, number: usize, other: &mut M::Buffer<T>) {
        for slot in &mut self.slots {
            if let (true, Memory::Here(buffer)) = (slot.block == Some(number), &mut slot.memory) {
                swap(buffer, other);
            }
        }
    }
}

#[cfg(test)]
mod tests;
