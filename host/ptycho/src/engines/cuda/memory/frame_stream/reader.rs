//! Blocks of frames that threads beside the engine's read into pieces of page-locked memory, before
//! they are sent.
//!
//! To read a block, or to put it together from frames that are in different places, takes about as
//! long as its work on the device, and so does queueing a copy for each frame. Here the engine's
//! thread does neither.

use crate::engines::stream_plan::PIECES;
use bytemuck::Pod;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use warpstride_core::system::ScratchError;
use warpstride_cuda::gpu::{Device, GpuError, Result};

/// Most threads that read: those that reach the rate of a copy to a device, about 55 GB/s.
const MOST_THREADS: usize = 8;

/// Reads the values of a frame.
pub(super) type Read<T> =
    dyn Fn(u32, &mut [T]) -> std::result::Result<(), ScratchError> + Send + Sync;

/// A block that is read, or has been.
struct Block<P> {
    frames: Vec<u32>,
    /// Number of its piece of memory.
    piece: usize,
    /// Where the piece comes from when it has been read.
    answer: Receiver<(P, std::result::Result<(), ScratchError>)>,
}

/// Threads that read blocks.
pub(super) struct Reader<M: Device, T: Pod + Send + Sync> {
    what: &'static str,
    /// Values of a frame.
    pixels: usize,
    threads: ThreadPool,
    read: Arc<Read<T>>,
    pieces: M::Pieces<T>,
    /// Pieces that no block has, those whose copies were queued first at the front.
    free: VecDeque<usize>,
    blocks: VecDeque<Block<M::Pinned<T>>>,
}

impl<M: Device, T: Pod + Send + Sync> Reader<M, T> {
    /// Threads that read blocks of at most `most` frames of `pixels` values with `read`; `what`
    /// names the memory in errors.
    pub(super) fn new(
        device: &M,
        what: &'static str,
        [most, pixels]: [usize; 2],
        read: Arc<Read<T>>,
    ) -> Result<Self> {
        // Threads of its own: the engine's thread, which waits for them, may be one of the others.
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(rayon::current_num_threads().min(MOST_THREADS))
            .thread_name(|n| format!("frames {n}"))
            .build();
        Ok(Self {
            what,
            pixels,
            threads: threads.map_err(|e| GpuError::HostData(e.to_string()))?,
            read,
            pieces: device.pieces(what, &[most * pixels; PIECES])?,
            free: (0..PIECES).collect(),
            blocks: VecDeque::new(),
        })
    }

    fn has(&self, frames: &[u32]) -> bool {
        self.blocks.iter().any(|block| block.frames == frames)
    }

    /// Begins to read the block `frames`, if a piece of memory is free. Waits for the last copy
    /// from that piece.
    pub(super) fn begin(&mut self, device: &M, frames: &[u32]) -> Result<()> {
        if self.has(frames) {
            return Ok(());
        }
        let Some(piece) = self.free.pop_front() else {
            return Ok(());
        };
        let mut memory = device.take_piece(&mut self.pieces, piece)?;
        let (done, answer) = channel();
        self.blocks.push_back(Block {
            frames: frames.to_vec(),
            piece,
            answer,
        });
        let (read, pixels, frames) = (Arc::clone(&self.read), self.pixels, frames.to_vec());
        self.threads.spawn_fifo(move || {
            let pairs = memory.par_chunks_mut(pixels.max(1)).zip(&frames);
            let outcome = pairs.try_for_each(|(to, frame)| read(*frame, to));
            answer_with(&done, memory, outcome);
        });
        Ok(())
    }

    /// Waits until the block `frames` has been read, which need not have begun, and queues a copy
    /// of it to `buffer`.
    pub(super) fn send(
        &mut self,
        device: &M,
        frames: &[u32],
        buffer: M::Buffer<T>,
    ) -> Result<M::Exchange<T>> {
        if !self.has(frames) {
            if self.free.is_empty()
                && let Some(unused) = self.blocks.pop_front()
            {
                self.finish(device, unused)?;
            }
            self.begin(device, frames)?;
        }
        let place = self.blocks.iter().position(|block| block.frames == frames);
        let block = place.and_then(|place| self.blocks.remove(place));
        let block = block.ok_or(GpuError::Lost { what: self.what })?;
        let piece = self.finish(device, block)?;
        device.exchange_beside(&mut self.pieces, None, Some(piece), buffer)
    }

    /// Waits for a block, and returns its piece to the pieces; its number.
    fn finish(&mut self, device: &M, block: Block<M::Pinned<T>>) -> Result<usize> {
        let lost = GpuError::Lost { what: self.what };
        let (memory, outcome) = block.answer.recv().map_err(|_| lost)?;
        device.put_piece(&mut self.pieces, block.piece, memory)?;
        self.free.push_back(block.piece);
        outcome?;
        Ok(block.piece)
    }
}

/// Sends an answer, unless the reader is gone.
fn answer_with<P>(
    to: &Sender<(P, std::result::Result<(), ScratchError>)>,
    memory: P,
    outcome: std::result::Result<(), ScratchError>,
) {
    drop(to.send((memory, outcome)));
}

impl<M: Device, T: Pod + Send + Sync> Drop for Reader<M, T> {
    /// Waits for what is being read: its pieces must not outlive the device, nor reading the file.
    fn drop(&mut self) {
        for block in self.blocks.drain(..) {
            drop(block.answer.recv());
        }
    }
}
