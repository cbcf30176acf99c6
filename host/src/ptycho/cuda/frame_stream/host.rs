//! Where the values of all frames are, and how blocks of them are sent.

use crate::gpu::{Device, Result};
use crate::ptycho::stream_plan::FILE_PIECES;
use crate::system::ScratchError;
use bytemuck::Pod;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// What the memory is for, in errors.
const COUNTS: &str = "the counts of blocks of frames";

/// Values that are copied together.
const PART: usize = 1 << 22;

/// Reads the values of a frame.
type Read<T> = dyn Fn(u32, &mut [T]) -> std::result::Result<(), ScratchError> + Send + Sync;

/// The values of all frames.
pub(super) enum Host<M: Device, T: Pod + Send + Sync> {
    /// In page-locked memory.
    Memory(Arc<M::Pinned<T>>),
    /// In a file, from which blocks are read into pieces of page-locked memory in turn.
    File {
        read: Box<Read<T>>,
        pieces: M::Pieces<T>,
        next: usize,
    },
}

/// A block on its way.
pub(super) enum Arriving<M: Device, T: Pod + Send> {
    Sent(M::Arriving<T>),
    Exchanged(M::Exchange<T>),
}

impl<M: Device, T: Pod + Send> Arriving<M, T> {
    /// Makes what is queued from now on wait for it.
    pub(super) fn arrived(self, device: &M) -> Result<M::Buffer<T>>
    where
        T: Sync,
    {
        match self {
            Self::Sent(copies) => device.arrived(copies),
            Self::Exchanged(copies) => device.exchanged(copies),
        }
    }
}

/// Ranges of the values of `frames`, those that follow each other joined.
pub(super) fn parts(frames: &[u32], pixels: usize) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for frame in frames {
        let first = *frame as usize * pixels;
        match parts.last_mut() {
            Some(last) if last.end == first => last.end = first + pixels,
            _ => parts.push(first..first + pixels),
        }
    }
    parts
}

impl<M: Device, T: Pod + Send + Sync> Host<M, T> {
    /// Page-locked memory of `frames` of `pixels` values each, some of which `fill` writes at a time.
    pub(super) fn copied(
        device: &M,
        pixels: usize,
        frames: &[usize],
        fill: impl Fn(&[usize], &mut [T]) -> Result<()>,
    ) -> Result<Self> {
        let mut host = device.pinned(COUNTS, frames.len() * pixels)?;
        let most = (PART / pixels.max(1)).max(1);
        let values = host.chunks_mut(most * pixels.max(1));
        for (frames, to) in frames.chunks(most).zip(values) {
            fill(frames, to)?;
        }
        Ok(Self::Memory(Arc::new(host)))
    }

    /// A file that `read` reads, and memory for blocks of at most `most` frames.
    pub(super) fn stored(
        device: &M,
        [most, pixels, _]: [usize; 3],
        read: impl Fn(u32, &mut [T]) -> std::result::Result<(), ScratchError> + Send + Sync + 'static,
    ) -> Result<Self> {
        Ok(Self::File {
            read: Box::new(read),
            pieces: device.pieces(COUNTS, &[most * pixels; FILE_PIECES])?,
            next: 0,
        })
    }

    /// Queues copies of the values of `frames` to `buffer`.
    pub(super) fn send(
        &mut self,
        device: &M,
        frames: &[u32],
        pixels: usize,
        buffer: M::Buffer<T>,
    ) -> Result<Arriving<M, T>> {
        match self {
            Self::Memory(host) => {
                let parts = parts(frames, pixels);
                Ok(Arriving::Sent(device.send_beside(host, &parts, buffer)?))
            }
            Self::File { read, pieces, next } => {
                let number = *next;
                *next = (number + 1) % FILE_PIECES;
                // Waits for the copy of the block that was read into it before.
                let piece = device.piece(pieces, number)?;
                (piece.par_chunks_mut(pixels.max(1)).zip(frames))
                    .try_for_each(|(to, frame)| read(*frame, to))?;
                let copies = device.exchange_beside(pieces, None, Some(number), buffer)?;
                Ok(Arriving::Exchanged(copies))
            }
        }
    }
}
