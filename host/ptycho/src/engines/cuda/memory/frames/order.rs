//! The frames in the order of the launches, and the batches that follow each other in it.

use super::FrameBuffers;
use crate::engines::batch_shares::SHARES;
use crate::engines::cuda::batches::batch::{Batch, batches};
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frame_stream::{BlockWork, Metrics};
use crate::engines::cuda::memory::layout::Layout;
use warpstride_cuda::gpu::{Buffer, Device, Result};

impl<M: Device> FrameBuffers<M> {
    /// Sets the order of the frames from lists of at most `size`; returns the batches.
    pub(in crate::engines::cuda) fn set_order(
        &mut self,
        device: &M,
        layout: &Layout,
        lists: &[Vec<u32>],
    ) -> Result<Vec<Batch>> {
        device.upload(&mut self.order, &lists.concat())?;
        let batches = batches(layout, lists);
        let ranges: Vec<[u32; 2]> = batches.iter().map(|b| [b.first, b.count]).collect();
        let ends: Vec<[u32; SHARES]> = batches.iter().map(|b| b.ends).collect();
        if self.ranges.len() != ranges.len() {
            self.epochs.clear();
            self.ranges = device.alloc("the batches", ranges.len())?;
            self.share_ends = device.alloc("the shares of the batches", ends.len())?;
        }
        if self.present_ranges != ranges {
            device.upload(&mut self.ranges, &ranges)?;
            self.present_ranges = ranges;
        }
        if self.present_ends != ends {
            device.upload(&mut self.share_ends, &ends)?;
            self.present_ends = ends;
        }
        Ok(batches)
    }

    /// All frames in their order, as many at a time as there is memory for.
    pub(in crate::engines::cuda) fn all(
        &mut self,
        device: &M,
        layout: &Layout,
    ) -> Result<Vec<Batch>> {
        self.set_order(device, layout, &self.lists(layout))
    }

    /// Does `work` on `lists` of frames: at once, or on one block after the other if not all counts
    /// are on the device; then layout, buffers and batches are those of a block
    /// ([`crate::engines::cuda::memory::frame_stream::FrameStream::each`]).
    pub(in crate::engines::cuda) fn each(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        lists: &[Vec<u32>],
        metrics: Metrics,
        work: &mut BlockWork<'_, M>,
    ) -> Result<()> {
        let Some(mut stream) = buffers.stream.take() else {
            let batches = self.set_order(device, layout, lists)?;
            return work(layout, buffers, self, &batches);
        };
        let done = stream.each(device, layout, (buffers, self), lists, metrics, work);
        buffers.stream = Some(stream);
        done
    }

    /// All frames in lists of as many as there is memory for.
    pub(in crate::engines::cuda) fn lists(&self, layout: &Layout) -> Vec<Vec<u32>> {
        let frames: Vec<u32> = (0..layout.frames).collect();
        frames.chunks(self.size).map(<[u32]>::to_vec).collect()
    }
}
