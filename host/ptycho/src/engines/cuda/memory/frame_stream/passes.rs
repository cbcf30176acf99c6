//! Passes over the blocks of a scan: a block's arrays take the place of those of all frames while
//! it is worked on.

use super::{Block, FrameStream, Kept, Metrics, Uses};
use crate::engines::cuda::batches::batch::{Batch, batches};
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::memory::layout::Layout;
use std::mem::swap;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::frame_blocks::{PtychoGatherFrames, PtychoPutBackMetrics};

/// Buffers of a run, and those of some frames at a time, if a pass has them.
pub(in crate::engines::cuda) type Memory<'a, M> =
    (&'a mut Buffers<M>, Option<&'a mut FrameBuffers<M>>);

/// What is done to a block with its place among the blocks of the pass.
pub(in crate::engines::cuda) type PlacedWork<'a, M> =
    dyn FnMut(usize, &Layout, Memory<'_, M>, &[Batch]) -> Result<()> + 'a;

/// What is done to a block.
pub(in crate::engines::cuda) type BlockWork<'a, M> =
    dyn FnMut(&Layout, &mut Buffers<M>, &mut FrameBuffers<M>, &[Batch]) -> Result<()> + 'a;

/// Puts lists together as long as they have at most `most` frames. What a block has in one pass and
/// in the next is the same only if it is one list, so `most` is not much more than a list where
/// lists are large.
fn blocks(lists: &[Vec<u32>], most: usize) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut first = 0;
    for (number, list) in lists.iter().enumerate() {
        let end = first + list.len();
        match blocks.last_mut() {
            Some(last) if end - last.frames.start <= most => {
                last.lists.end = number + 1;
                last.frames.end = end;
            }
            _ => blocks.push(Block {
                lists: number..number + 1,
                frames: first..end,
            }),
        }
        first = end;
    }
    blocks
}

impl<M: Device> FrameStream<M> {
    /// Does `work` on `lists` of frames, which together have all of them, each at most as many as a
    /// block: on the layout of a block, its arrays and its batches, one block after the other.
    pub(in crate::engines::cuda) fn each(
        &mut self,
        device: &M,
        layout: &Layout,
        (buffers, frames): (&mut Buffers<M>, &mut FrameBuffers<M>),
        lists: &[Vec<u32>],
        metrics: Metrics,
        work: &mut BlockWork<'_, M>,
    ) -> Result<()> {
        let blocks = blocks(lists, self.plan.block());
        let uses = Uses {
            counts: true,
            metrics,
        };
        let mut on_frames =
            |_: usize, layout: &Layout, (buffers, frames): Memory<'_, M>, batches: &[Batch]| {
                match frames {
                    Some(frames) => work(layout, buffers, frames, batches),
                    None => Ok(()),
                }
            };
        let memory = (buffers, Some(frames));
        self.run(
            device,
            layout,
            memory,
            (lists, &blocks),
            uses,
            &mut on_frames,
        )
    }

    /// Does `work` on `blocks` of `lists`, which together have all frames, each block at most as
    /// many as the plan says.
    pub(in crate::engines::cuda) fn run(
        &mut self,
        device: &M,
        layout: &Layout,
        (buffers, mut frames): Memory<'_, M>,
        (lists, blocks): (&[Vec<u32>], &[Block]),
        uses: Uses,
        work: &mut PlacedWork<'_, M>,
    ) -> Result<()> {
        let order = lists.concat();
        if self.present_order != order {
            device.upload(&mut self.order, &order)?;
            self.present_order = order;
        }
        if uses.counts {
            let contents: Vec<&[u32]> = blocks
                .iter()
                .map(|block| &self.present_order[block.frames.clone()])
                .collect();
            match &mut self.kept {
                Kept::Codes(slots, _) => slots.begin(&contents),
                Kept::Magnitudes(slots) => slots.begin(&contents),
            }
        }
        for (number, block) in blocks.iter().enumerate() {
            let batches = batches(layout, &lists[block.lists.clone()]);
            let ranges = self.ranges_of(device, &batches)?;
            if uses.counts {
                self.make_ready(device, number)?;
            }
            self.gather(device, layout, buffers, block)?;
            let place = [block.frames.start, block.frames.len()];
            if let Some(of) = &mut buffers.variations {
                of.exchange_block(device, layout, &self.order, place, false)?;
            }
            let of_block = Layout {
                frames: block.frames.len() as u32,
                ..*layout
            };
            let counts = uses.counts.then_some(number);
            self.exchange(counts, ranges, buffers, frames.as_deref_mut());
            let memory = (&mut *buffers, frames.as_deref_mut());
            let done = work(number, &of_block, memory, &batches);
            self.exchange(counts, ranges, buffers, frames.as_deref_mut());
            if let Some(of) = &mut buffers.variations {
                of.exchange_block(device, layout, &self.order, place, true)?;
            }
            done?;
            if uses.metrics == Metrics::Written {
                self.put_back(device, layout, buffers, block)?;
            }
        }
        Ok(())
    }

    fn gather(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        block: &Block,
    ) -> Result<()> {
        let to = &mut self.block;
        device.launch(
            &PtychoGatherFrames {
                to_corners: to.corners.write(),
                to_fractions: to.fractions.write(),
                to_scales: to.scales.write(),
                corners: buffers.corners.read(),
                fractions: buffers.fractions.read(),
                scales: buffers.scales.read(),
                order: self.order.read(),
                frames: layout.frames,
                first: block.frames.start as u32,
                count: block.frames.len() as u32,
            },
            Work::Elements(block.frames.len()),
        )
    }

    fn put_back(
        &self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        block: &Block,
    ) -> Result<()> {
        let [errors, moved, photon, residual, free] = &self.block.metrics;
        device.launch(
            &PtychoPutBackMetrics {
                errors: buffers.errors.write(),
                moved: buffers.moved.write(),
                photon: buffers.photon.write(),
                residual: buffers.residual.write(),
                free: buffers.free.write(),
                block_errors: errors.read(),
                block_moved: moved.read(),
                block_photon: photon.read(),
                block_residual: residual.read(),
                block_free: free.read(),
                order: self.order.read(),
                frames: layout.frames,
                first: block.frames.start as u32,
                count: block.frames.len() as u32,
            },
            Work::Elements(block.frames.len()),
        )
    }

    /// Exchanges the arrays of a block of the present pass, with its number if counts are used, and
    /// those of all frames.
    fn exchange(
        &mut self,
        counts: Option<usize>,
        ranges: usize,
        buffers: &mut Buffers<M>,
        frames: Option<&mut FrameBuffers<M>>,
    ) {
        let own = &mut self.block;
        swap(&mut own.corners, &mut buffers.corners);
        swap(&mut own.fractions, &mut buffers.fractions);
        swap(&mut own.scales, &mut buffers.scales);
        let Buffers {
            errors,
            moved,
            photon,
            residual,
            free,
            ..
        } = buffers;
        for (own, other) in (own.metrics.iter_mut()).zip([errors, moved, photon, residual, free]) {
            swap(own, other);
        }
        if let Some(frames) = frames {
            swap(&mut own.order, &mut frames.order);
            if let Some(of_block) = self.ranges.get_mut(ranges) {
                swap(&mut of_block.buffer, &mut frames.ranges);
                swap(&mut of_block.share_ends, &mut frames.share_ends);
            }
        }
        match (&mut self.kept, counts) {
            (_, None) => {}
            (Kept::Codes(..), _) => swap(&mut own.magnitudes, &mut buffers.magnitudes),
            (Kept::Magnitudes(slots), Some(number)) => {
                slots.exchange(number, &mut buffers.magnitudes);
            }
        }
    }
}
