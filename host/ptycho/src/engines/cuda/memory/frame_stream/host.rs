//! Where the values of all frames are, and how blocks of them are sent.

use super::reader::{Read, Reader};
use crate::engines::stream_plan::LARGE_FRAME;
use bytemuck::Pod;
use std::ops::Range;
use std::sync::Arc;
use warpstride_core::system::ScratchError;
use warpstride_cuda::gpu::{Device, Result};

/// What the memory is for, in errors.
const COUNTS: &str = "the counts of blocks of frames";

/// Values that are copied together.
const PART: usize = 1 << 22;

/// Copies of a block that are queued one by one rather than put together before.
const FEW_COPIES: usize = 8;

/// Threads with which frames are put together as fast as they travel.
const ENOUGH_THREADS: usize = 4;

/// The values of all frames.
pub(super) enum Host<M: Device, T: Pod + Send + Sync> {
    /// In page-locked memory, from which a copy can begin anywhere.
    Memory {
        values: Arc<M::Pinned<T>>,
        /// Puts blocks of many small frames together.
        gather: Option<Reader<M, T>>,
    },
    /// In a file.
    File(Reader<M, T>),
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
    /// Page-locked memory of `frames` of `pixels` values each, some of which `fill` writes at a
    /// time, for blocks of at most `most` frames.
    pub(super) fn copied(
        device: &M,
        [most, pixels, _]: [usize; 3],
        frames: &[usize],
        fill: impl Fn(&[usize], &mut [T]) -> Result<()>,
    ) -> Result<Self> {
        let mut host = device.pinned(COUNTS, frames.len() * pixels)?;
        let together = (PART / pixels.max(1)).max(1);
        let values = host.chunks_mut(together * pixels.max(1));
        for (frames, to) in frames.chunks(together).zip(values) {
            fill(frames, to)?;
        }
        let small = pixels * size_of::<T>() < LARGE_FRAME;
        let threads = rayon::current_num_threads() >= ENOUGH_THREADS;
        Self::in_memory(device, [most, pixels], host, small && threads)
    }

    /// The frames in `values`; with `gather`, blocks of frames in many places are put together by
    /// other threads.
    pub(super) fn in_memory(
        device: &M,
        [most, pixels]: [usize; 2],
        values: M::Pinned<T>,
        gather: bool,
    ) -> Result<Self> {
        let values = Arc::new(values);
        let from = Arc::clone(&values);
        let read = move |frame: u32, to: &mut [T]| {
            let first = frame as usize * pixels;
            to.copy_from_slice(&from[first..first + to.len()]);
            Ok(())
        };
        let gather = gather.then(|| Reader::new(device, COUNTS, [most, pixels], Arc::new(read)));
        Ok(Self::Memory {
            values,
            gather: gather.transpose()?,
        })
    }

    /// A file that `read` reads, and memory for blocks of at most `most` frames.
    pub(super) fn stored(
        device: &M,
        [most, pixels, _]: [usize; 3],
        read: impl Fn(u32, &mut [T]) -> std::result::Result<(), ScratchError> + Send + Sync + 'static,
    ) -> Result<Self> {
        let read: Arc<Read<T>> = Arc::new(read);
        Ok(Self::File(Reader::new(
            device,
            COUNTS,
            [most, pixels],
            read,
        )?))
    }

    /// Begins to read a block that will be sent.
    pub(super) fn begin(&mut self, device: &M, frames: &[u32], pixels: usize) -> Result<()> {
        match self {
            Self::Memory {
                gather: Some(reader),
                ..
            } if parts(frames, pixels).len() > FEW_COPIES => reader.begin(device, frames),
            Self::Memory { .. } => Ok(()),
            Self::File(reader) => reader.begin(device, frames),
        }
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
            Self::Memory { values, gather } => {
                let parts = parts(frames, pixels);
                match gather {
                    Some(reader) if parts.len() > FEW_COPIES => {
                        Ok(Arriving::Exchanged(reader.send(device, frames, buffer)?))
                    }
                    _ => Ok(Arriving::Sent(device.send_beside(values, &parts, buffer)?)),
                }
            }
            Self::File(reader) => Ok(Arriving::Exchanged(reader.send(device, frames, buffer)?)),
        }
    }
}
