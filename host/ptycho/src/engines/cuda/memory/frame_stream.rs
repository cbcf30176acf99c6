//! Counts that stay in page-locked host memory, or in a temporary file: blocks of frames travel to
//! the device beside the work on the blocks before.
//!
//! A block is worked on as if it were a scan of its own: [`FrameStream::each`] puts the block's
//! √counts, windows, scales and metrics in the place of those of all frames ([`Buffers`],
//! [`FrameBuffers`]), whose frames are then numbered from 0. The frames and their order in a batch
//! are the same as without blocks, and so are the bits of what the same kernels compute.
//! [`super::wave_stream::WaveStream`] adds the exit waves of the block.

mod host;
mod passes;
mod reader;
mod slots;

use super::layout::Layout;
pub(in crate::engines::cuda) use passes::{BlockWork, Memory, PlacedWork};

use crate::engines::batch_shares::SHARES;
use crate::engines::cuda::batches::batch::Batch;
use crate::{Magnitudes, StreamPlan};
use host::Host;
use slots::Slots;
use std::ops::Range;
use std::sync::Arc;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::frame_blocks::PtychoWidenCounts;

/// Ranges of batches that are kept on the device: blocks have few different ones, if their batches
/// are the same in every pass.
const RANGES: usize = 64;

/// What the host keeps of a pixel.
enum Kept<M: Device> {
    /// Its counts; the code of a free pixel without counts.
    Codes(Slots<M, u16>, u32),
    /// √counts.
    Magnitudes(Slots<M, f32>),
}

/// The arrays of a block's frames, while others are in their place; those of all frames, while the
/// block is worked on.
struct Arrays<M: Device> {
    corners: M::Buffer<[u32; 2]>,
    fractions: M::Buffer<[f32; 2]>,
    scales: M::Buffer<f32>,
    /// errors, moved, photon, residual, free
    metrics: [M::Buffer<f32>; 5],
    /// 0, 1, 2, …
    order: M::Buffer<u32>,
    magnitudes: M::Buffer<f32>,
}

/// First frame and number of frames of the batches of a block, and where their shares end.
struct Ranges<M: Device> {
    values: Vec<[u32; 2]>,
    /// The same on the device.
    buffer: M::Buffer<[u32; 2]>,
    ends: Vec<[u32; SHARES]>,
    share_ends: M::Buffer<[u32; SHARES]>,
}

/// The counts of a scan in blocks.
pub(in crate::engines::cuda) struct FrameStream<M: Device> {
    plan: StreamPlan,
    kept: Kept<M>,
    block: Arrays<M>,
    /// Frames of all blocks in the order of the present pass.
    order: M::Buffer<u32>,
    /// What `order` holds.
    present_order: Vec<u32>,
    /// Ranges of batches that blocks have had, at most [`RANGES`] of them.
    ranges: Vec<Ranges<M>>,
    /// The one of them that is replaced next.
    oldest_ranges: usize,
}

/// Whether work on frames writes their metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engines::cuda) enum Metrics {
    /// All five of every frame.
    Written,
    /// None.
    Unchanged,
}

/// Some lists of frames that are worked on together.
pub(in crate::engines::cuda) struct Block {
    /// Numbers of the lists.
    pub(in crate::engines::cuda) lists: Range<usize>,
    /// Numbers of their frames among those of all lists.
    pub(in crate::engines::cuda) frames: Range<usize>,
}

/// What a pass over the blocks uses of their frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engines::cuda) struct Uses {
    /// Whether it needs the counts.
    pub(in crate::engines::cuda) counts: bool,
    pub(in crate::engines::cuda) metrics: Metrics,
}

impl<M: Device> FrameStream<M> {
    /// Copies the magnitudes of the frames `own` to page-locked memory as `plan` says, or leaves
    /// them in their temporary file.
    pub(in crate::engines::cuda) fn new(
        device: &M,
        layout: &Layout,
        plan: StreamPlan,
        (magnitudes, own): (&Magnitudes, &[usize]),
    ) -> Result<Self> {
        let (most, pixels) = (plan.block(), layout.pixels() as usize);
        let shape = [most, pixels, plan.slots()];
        let stored = match magnitudes {
            Magnitudes::Scratch(stored) if plan.stays_in_file() => Some(Arc::clone(stored)),
            _ => None,
        };
        let frames: Vec<usize> = own.to_vec();
        let (kept, widened) = if let Some(codes) = plan.codes() {
            let host = match stored {
                Some(stored) => Host::stored(device, shape, move |frame, to| {
                    stored.read_codes(frames[frame as usize], codes, to)
                })?,
                None => Host::copied(device, shape, own, |part, to| {
                    let part = magnitudes.select(part)?;
                    codes.encode(part.as_slice().unwrap_or_default(), to);
                    Ok(())
                })?,
            };
            let kept = Kept::Codes(Slots::new(device, host, shape)?, codes.first_free());
            (kept, most * pixels)
        } else {
            let host = match stored {
                Some(stored) => Host::stored(device, shape, move |frame, to| {
                    stored.read(frames[frame as usize], to)
                })?,
                None => Host::copied(device, shape, own, |part, to| {
                    let part = magnitudes.select(part)?;
                    to.copy_from_slice(part.as_slice().unwrap_or_default());
                    Ok(())
                })?,
            };
            (Kept::Magnitudes(Slots::new(device, host, shape)?), 0)
        };
        let metric = || device.alloc("a block's metrics", most);
        let mut new = Self {
            plan,
            kept,
            block: Arrays {
                corners: device.alloc("a block's positions", most)?,
                fractions: device.alloc("a block's fractions", most)?,
                scales: device.alloc("a block's intensity scales", most)?,
                metrics: [metric()?, metric()?, metric()?, metric()?, metric()?],
                order: device.alloc("the order of a block", most)?,
                magnitudes: device.alloc("a block's magnitudes", widened)?,
            },
            order: device.alloc("the order of the frames", layout.frames as usize)?,
            present_order: Vec::new(),
            ranges: Vec::new(),
            oldest_ranges: 0,
        };
        let order: Vec<u32> = (0..most as u32).collect();
        device.upload(&mut new.block.order, &order)?;
        Ok(new)
    }

    pub(in crate::engines::cuda) fn plan(&self) -> StreamPlan {
        self.plan
    }

    /// Where the ranges of batches are on the device.
    fn ranges_of(&mut self, device: &M, batches: &[Batch]) -> Result<usize> {
        let values: Vec<[u32; 2]> = batches.iter().map(|b| [b.first, b.count]).collect();
        let ends: Vec<[u32; SHARES]> = batches.iter().map(|b| b.ends).collect();
        if let Some(place) = self.ranges.iter().position(|of| of.values == values) {
            let of = &mut self.ranges[place];
            // Spread batches have other frames in each iteration.
            if of.ends != ends {
                device.upload(&mut of.share_ends, &ends)?;
                of.ends = ends;
            }
            return Ok(place);
        }
        let mut buffer = device.alloc("the batches of a block", values.len())?;
        let mut share_ends = device.alloc("the shares of a block's batches", values.len())?;
        device.upload(&mut buffer, &values)?;
        device.upload(&mut share_ends, &ends)?;
        let ranges = Ranges {
            values,
            buffer,
            ends,
            share_ends,
        };
        if self.ranges.len() < RANGES {
            self.ranges.push(ranges);
            return Ok(self.ranges.len() - 1);
        }
        let place = self.oldest_ranges;
        self.oldest_ranges = (place + 1) % RANGES;
        self.ranges[place] = ranges;
        Ok(place)
    }

    /// Makes the counts of a block of the present pass ready, and sends those of the next ones.
    fn make_ready(&mut self, device: &M, number: usize) -> Result<()> {
        match &mut self.kept {
            Kept::Codes(slots, first_free) => {
                let counts = slots.make_ready(device, number)?;
                let magnitudes = &mut self.block.magnitudes;
                let pixels = magnitudes.len().min(counts.len());
                device.launch(
                    &PtychoWidenCounts {
                        magnitudes: magnitudes.write(),
                        counts: counts.read(),
                        pixels,
                        first_free: *first_free,
                    },
                    Work::Elements(pixels),
                )
            }
            Kept::Magnitudes(slots) => slots.make_ready(device, number).map(|_| ()),
        }
    }
}
