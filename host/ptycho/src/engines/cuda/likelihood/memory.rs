//! Device memory of conjugate gradients.

use super::fused::Fused;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::likelihood::{Last, Search};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_kernels::ptycho::conjugate_direction::SEARCH;

/// Blocks of the regulariser's sums.
pub(super) const BLOCKS: usize = 128;
/// Blocks among which the values of a large object and its probe are divided.
const PARTS: usize = 128;
/// The fewest values of such a block.
const LEAST: usize = 1024;

/// Object (row, column) and probe (mode, row, column), or their gradients or directions.
pub(super) type Pair<M> = [<M as Device>::Buffer<Complex32>; 2];

/// Device memory of gradients and directions.
pub(in crate::engines::cuda) struct LikelihoodBuffers<M: Device> {
    pub(super) gradient: Pair<M>,
    /// Preconditioned gradients z.
    pub(super) descent: Pair<M>,
    pub(super) last_gradient: Pair<M>,
    pub(super) direction: Pair<M>,
    /// Object and probe before the step.
    pub(super) start: Pair<M>,
    /// Sums of the probe's gradient (slice, mode, row, column).
    pub(super) probe_sums: M::Buffer<Complex32>,
    pub(super) slices: u32,
    /// W (row, column) on the object; V (slice, row, column) on the probe, whose first slice is the
    /// sum.
    pub(super) weights: [M::Buffer<f32>; 2],
    /// Bits of the largest weights: object, probe.
    pub(super) largest: M::Buffer<u32>,
    /// (frame), or those of a block of frames.
    pub(super) losses: M::Buffer<f64>,
    /// The sum of all losses, if they were computed in blocks of frames.
    pub(super) loss_of_blocks: Option<f64>,
    /// (frame, 9), or those of a block.
    pub(super) line: M::Buffer<[f64; 9]>,
    /// Values of a block in kernels over object and probe.
    pub(super) share: u32,
    /// (block, 3): the first blocks have the object, the others the probe.
    pub(super) products: M::Buffer<[f64; 3]>,
    pub(super) smoothness: M::Buffer<[f32; 2]>,
    /// Half of the smoothing kernel; empty: none.
    pub(super) kernel: M::Buffer<f32>,
    /// What fused launches need, once it is needed.
    pub(super) fused: Option<Fused<M>>,
    /// Two zeros.
    pub(super) no_steps: M::Buffer<f32>,
    /// β, the step and what they follow from, where the device computes them ([`super::ahead`]).
    pub(super) search: M::Buffer<f64>,
    /// ⟨g, z⟩ of the last iteration as `search` has it; NaN: none.
    pub(super) norm: f64,
    /// Whether the gradient and the last one have changed places an odd number of times.
    pub(super) swapped: bool,
    /// ⟨g, z⟩ of the last iteration, and what it updated.
    pub(super) last: Option<(f64, [bool; 2])>,
    pub(super) count: usize,
}

impl<M: Device> LikelihoodBuffers<M> {
    /// The last iteration's gradient and direction on the probe, if there is one.
    pub(in crate::engines::cuda) fn on_probe(&mut self) -> Option<[&mut M::Buffer<Complex32>; 2]> {
        let [_, gradient] = &mut self.last_gradient;
        let [_, direction] = &mut self.direction;
        self.last.is_some().then_some([gradient, direction])
    }

    /// The same on the object.
    pub(in crate::engines::cuda) fn on_object(&mut self) -> Option<[&mut M::Buffer<Complex32>; 2]> {
        let [gradient, _] = &mut self.last_gradient;
        let [direction, _] = &mut self.direction;
        self.last.is_some().then_some([gradient, direction])
    }

    /// Allocates memory for `size` frames at a time of `most_frames` that are worked on as a scan,
    /// and continues a search.
    pub(in crate::engines::cuda) fn new(
        device: &M,
        layout: &Layout,
        (size, most_frames): (usize, u32),
        search: &Search<Vec<Complex<f32>>>,
    ) -> Result<Self> {
        let lengths = [layout.object_elements(), layout.probe_elements()];
        let pixels = layout.pixels() as usize;
        let slices = layout.slices.min(size as u32).max(1);
        let pair = |what: &'static str| -> Result<Pair<M>> {
            Ok([
                device.alloc(what, lengths[0])?,
                device.alloc(what, lengths[1])?,
            ])
        };
        let frames = layout.frames.min(most_frames) as usize;
        let share = (lengths[0] + lengths[1]).div_ceil(PARTS).max(LEAST);
        let share = share.next_multiple_of(32);
        let parts = lengths[0].div_ceil(share) + lengths[1].div_ceil(share);
        let mut new = Self {
            gradient: pair("the gradients")?,
            descent: pair("the preconditioned gradients")?,
            last_gradient: pair("the last gradients")?,
            direction: pair("the directions")?,
            start: pair("object and probe before a step")?,
            probe_sums: device.alloc("the probe's sums", slices as usize * lengths[1])?,
            slices,
            weights: [
                device.alloc("the object's weights", layout.object_pixels())?,
                device.alloc("the probe's weights", slices as usize * pixels)?,
            ],
            largest: device.alloc("the largest weights", 2)?,
            losses: device.alloc("the frames' losses", frames)?,
            loss_of_blocks: None,
            line: device.alloc("the frames' sums along a line", frames)?,
            share: share as u32,
            products: device.alloc("the products of gradients", parts)?,
            smoothness: device.alloc("the regulariser's sums", BLOCKS)?,
            kernel: device.alloc("the smoothing kernel", 0)?,
            fused: None,
            no_steps: device.alloc("steps of zero", 2)?,
            search: device.alloc("the search along a line", SEARCH)?,
            norm: f64::NAN,
            swapped: false,
            last: None,
            count: search.count,
        };
        device.zero(&mut new.no_steps)?;
        device.upload(&mut new.search, &[f64::NAN; SEARCH])?;
        if let Some(last) = &search.last {
            for n in 0..2 {
                device.upload(&mut new.last_gradient[n], &last.gradient[n])?;
                device.upload(&mut new.direction[n], &last.direction[n])?;
            }
            new.last = Some((last.norm, last.updated));
        }
        Ok(new)
    }

    /// What the next iteration depends on.
    pub(in crate::engines::cuda) fn search(&self, device: &M) -> Result<Search<Vec<Complex<f32>>>> {
        let download = |buffer: &M::Buffer<Complex32>| -> Result<Vec<Complex<f32>>> {
            let mut values = vec![Complex::default(); buffer.len()];
            device.download(buffer, &mut values)?;
            Ok(values)
        };
        let both = |[a, b]: &Pair<M>| -> Result<_> { Ok([download(a)?, download(b)?]) };
        let last = match self.last {
            Some((norm, updated)) => Some(Last {
                gradient: both(&self.last_gradient)?,
                direction: both(&self.direction)?,
                norm,
                updated,
            }),
            None => None,
        };
        Ok(Search {
            last,
            count: self.count,
        })
    }

    /// The gradient becomes the last one.
    pub(super) fn keep_gradient(&mut self) {
        std::mem::swap(&mut self.gradient, &mut self.last_gradient);
        self.swapped = !self.swapped;
    }

    /// Forgets the last iteration.
    pub(in crate::engines::cuda) fn restart(&mut self) {
        self.last = None;
        self.changed();
    }

    /// Notes that buffers which captured launches use are gone.
    pub(in crate::engines::cuda) fn forget_captured(&mut self) {
        if let Some(fused) = &mut self.fused {
            fused.captured.clear();
        }
    }

    /// Notes that object, probe, positions or scales have changed.
    pub(in crate::engines::cuda) fn changed(&mut self) {
        if let Some(fused) = &mut self.fused {
            fused.changed();
        }
    }
}
