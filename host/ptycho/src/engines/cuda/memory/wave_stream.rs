//! Exit waves that stay in page-locked host memory, for projection engines: blocks of frames travel
//! to the device and back beside the work on the blocks before.
//!
//! A block has consecutive frames, and its counts come with it
//! ([`FrameStream`](super::frame_stream::FrameStream)). The blocks end at multiples of the slices
//! of a probe update, counted from the end of the scan, so that its sums have the same order as
//! without blocks if the last block comes first. Passes take turns in their direction: what one has
//! used last, the next one uses first, and only what has changed is written back.

mod slots;

pub(in crate::engines::cuda) use slots::Access;

use super::buffers::Buffers;
use super::frame_stream::{Block, Memory, Metrics, PlacedWork, Uses};
use super::layout::Layout;
use crate::engines::cuda::projections::packed_waves::{narrowed, widened};
use crate::{GpuWaves, StreamPlan};
use num_complex::Complex;
use slots::Slots;
use std::mem::swap;
use std::ops::Range;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_device::Complex32;

/// What the host keeps of a value.
enum Kept<M: Device> {
    /// ψ, or Ψ of separate kernels.
    Single(Slots<M, Complex32>),
    /// ψ in bf16.
    Packed(Slots<M, u32>),
}

/// The exit waves of a scan in blocks.
pub(in crate::engines::cuda) struct WaveStream<M: Device> {
    /// Frames of each block.
    blocks: Vec<Range<u32>>,
    /// Largest number of frames of a block.
    most: u32,
    kept: Kept<M>,
    /// Whether `kept` has unnormalised transforms.
    spectra: bool,
    /// Whether the last pass began with the last block.
    descended: bool,
}

/// What a pass over the blocks does.
#[derive(Debug, Clone, Copy)]
pub(in crate::engines::cuda) struct Pass {
    /// Whether it begins with the last block.
    pub(in crate::engines::cuda) descends: bool,
    /// Whether the pass after it has the opposite direction.
    pub(in crate::engines::cuda) returns: bool,
    pub(in crate::engines::cuda) counts: bool,
    pub(in crate::engines::cuda) metrics: Metrics,
    pub(in crate::engines::cuda) waves: Access,
}

/// Blocks of at most `most` frames, all but the first one full.
fn blocks(frames: u32, most: u32) -> Vec<Range<u32>> {
    let most = most.max(1);
    let first = frames % most;
    let mut blocks: Vec<Range<u32>> = (first > 0).then_some(0..first).into_iter().collect();
    blocks.extend(
        (first..frames)
            .step_by(most as usize)
            .map(|start| start..start + most),
    );
    blocks
}

impl<M: Device> WaveStream<M> {
    /// Allocates memory for exit waves that are `stored` so, as `plan` says; `None` if it has no
    /// blocks of exit waves.
    pub(in crate::engines::cuda) fn new(
        device: &M,
        layout: &Layout,
        plan: StreamPlan,
        stored: GpuWaves,
    ) -> Result<Option<Self>> {
        let Some([most, count]) = plan.wave_blocks() else {
            return Ok(None);
        };
        let most = most as u32;
        let blocks = blocks(layout.frames, most);
        let length = |block: &Range<u32>| block.len() * layout.probe_elements();
        let lengths: Vec<usize> = blocks.iter().map(length).collect();
        let kept = match stored {
            GpuWaves::F32 => Kept::Single(Slots::new(device, &lengths, count)?),
            GpuWaves::Bf16 => Kept::Packed(Slots::new(device, &lengths, count)?),
        };
        Ok(Some(Self {
            blocks,
            most,
            kept,
            spectra: false,
            descended: true,
        }))
    }

    /// Frames of each block.
    pub(in crate::engines::cuda) fn blocks(&self) -> &[Range<u32>] {
        &self.blocks
    }

    /// The layout of the largest block.
    pub(in crate::engines::cuda) fn largest(&self, layout: &Layout) -> Layout {
        Layout {
            frames: self.most.min(layout.frames),
            ..*layout
        }
    }

    /// Whether the exit waves are stored in bf16.
    pub(in crate::engines::cuda) fn packed(&self) -> bool {
        matches!(self.kept, Kept::Packed(_))
    }

    /// Says whether the exit waves are unnormalised transforms.
    pub(in crate::engines::cuda) fn set_spectra(&mut self, spectra: bool) {
        self.spectra = spectra;
    }

    /// A pass that uses first what the one before has used last.
    pub(in crate::engines::cuda) fn back(&self, waves: Access) -> Pass {
        Pass {
            descends: !self.descended,
            returns: true,
            counts: false,
            metrics: Metrics::Unchanged,
            waves,
        }
    }

    /// Does `work` on all blocks, one after the other, with the number of the block: on its layout,
    /// its arrays, its exit waves in their place in [`Buffers`], and its batches if there are
    /// buffers of frames.
    pub(in crate::engines::cuda) fn each(
        &mut self,
        device: &M,
        layout: &Layout,
        (buffers, frames): Memory<'_, M>,
        pass: Pass,
        work: &mut PlacedWork<'_, M>,
    ) -> Result<()> {
        let Some(mut stream) = buffers.stream.take() else {
            return Ok(());
        };
        let mut order: Vec<usize> = (0..self.blocks.len()).collect();
        if pass.descends {
            order.reverse();
        }
        let together = frames.as_ref().map_or(self.most as usize, |of| of.size);
        let (mut lists, mut blocks, mut end) = (Vec::new(), Vec::new(), 0);
        for number in &order {
            let of_block: Vec<u32> = self.blocks[*number].clone().collect();
            let (first_list, first) = (lists.len(), end);
            end += of_block.len();
            lists.extend(of_block.chunks(together.max(1)).map(<[u32]>::to_vec));
            blocks.push(Block {
                lists: first_list..lists.len(),
                frames: first..end,
            });
        }
        if pass.waves != Access::Unused {
            self.descended = pass.descends;
            match &mut self.kept {
                Kept::Single(slots) => slots.begin(&order, pass.returns, pass.waves),
                Kept::Packed(slots) => slots.begin(&order, pass.returns, pass.waves),
            }
        }
        let uses = Uses {
            counts: pass.counts,
            metrics: pass.metrics,
        };
        let done = stream.run(
            device,
            layout,
            (&mut *buffers, frames),
            (&lists, &blocks),
            uses,
            &mut |place, layout, (buffers, frames), batches| {
                if pass.waves == Access::Unused {
                    return work(order[place], layout, (buffers, frames), batches);
                }
                match &mut self.kept {
                    Kept::Single(slots) => slots.make_ready(device, place)?,
                    Kept::Packed(slots) => slots.make_ready(device, place)?,
                }
                self.exchange(place, buffers);
                let done = work(order[place], layout, (&mut *buffers, frames), batches);
                self.exchange(place, buffers);
                done
            },
        );
        buffers.stream = Some(stream);
        done
    }

    /// Exchanges the exit waves of the block at `place` with the buffer in which kernels look for
    /// them.
    fn exchange(&mut self, place: usize, buffers: &mut Buffers<M>) {
        match &mut self.kept {
            Kept::Single(slots) if self.spectra => slots.exchange(place, &mut buffers.spectra),
            Kept::Single(slots) => slots.exchange(place, &mut buffers.waves),
            Kept::Packed(slots) => slots.exchange(place, &mut buffers.packed_waves),
        }
    }

    /// Exchanges the two arrays of waves of a block that [`Self::each`] works on.
    pub(in crate::engines::cuda) fn swap_arrays(buffers: &mut Buffers<M>) {
        swap(&mut buffers.spectra, &mut buffers.waves);
    }

    /// The exit waves of all frames (frame, mode, row, column).
    pub(in crate::engines::cuda) fn download(&mut self, device: &M) -> Result<Vec<Complex<f32>>> {
        Ok(match &mut self.kept {
            Kept::Single(slots) => {
                let values = slots.download(device)?;
                let one = |v: Complex32| Complex::new(v.re, v.im);
                values.into_iter().map(one).collect()
            }
            Kept::Packed(slots) => slots.download(device)?.into_iter().map(widened).collect(),
        })
    }

    /// Replaces the exit waves of all frames.
    pub(in crate::engines::cuda) fn upload(
        &mut self,
        device: &M,
        waves: &[Complex<f32>],
    ) -> Result<()> {
        match &mut self.kept {
            Kept::Single(slots) => slots.upload(device, bytemuck::cast_slice(waves)),
            Kept::Packed(slots) => {
                let pairs: Vec<u32> = waves.iter().map(narrowed).collect();
                slots.upload(device, &pairs)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_every_frame_once_and_end_at_multiples_from_the_end() {
        for (frames, most) in [
            (0, 3),
            (1, 3),
            (3, 3),
            (7, 3),
            (8, 3),
            (9, 3),
            (5, 0),
            (2, 9),
        ] {
            let blocks = blocks(frames, most);
            let all: Vec<u32> = blocks.iter().cloned().flatten().collect();
            assert_eq!(all, (0..frames).collect::<Vec<_>>());
            for block in &blocks {
                assert!(block.len() <= most.max(1) as usize);
                assert_eq!((frames - block.end) % most.max(1), 0);
            }
        }
    }
}
