//! Device memory of an engine by mini-batches.

use super::regions::RegionBuffers;
use crate::engines::batch_shares::{SHARES, SMALLEST};
use crate::engines::cuda::batches::fused_batches::{Fused, PARTS};
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::probe_slices::probe_slices;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;

/// Blocks of the sums of the regulariser.
pub(super) const SMOOTHNESS_BLOCKS: usize = 128;

/// What devices exchange in batches.
pub(in crate::engines::cuda) struct Divided<M: Device> {
    /// (batch): the object's pixels under its windows: top, left, bottom, right.
    pub(super) bounds: Vec<[u32; 4]>,
    /// (batch, device in the order of the sums): number of frames.
    pub(super) counts: Vec<Vec<usize>>,
    /// (batch): 0, and the number of frames on all devices.
    pub(super) ranges: M::Buffer<[u32; 2]>,
    /// Sums of this device.
    pub(super) packed: M::Buffer<f32>,
    /// (device, value): sums of all devices.
    pub(super) all: M::Buffer<f32>,
    /// (frame of the batch, part), of all devices.
    pub(super) step_sums: M::Buffer<[f32; 5]>,
}

/// Device memory of the directions and steps.
pub(in crate::engines::cuda) struct BatchBuffers<M: Device> {
    /// Frames of a batch.
    pub(in crate::engines::cuda) size: usize,
    /// (row, column) on the object.
    pub(in crate::engines::cuda) object: M::Buffer<Complex32>,
    pub(in crate::engines::cuda) object_weights: M::Buffer<f32>,
    /// (slice, mode, row, column); the first slice is the probe's direction.
    pub(in crate::engines::cuda) probe: M::Buffer<Complex32>,
    /// (slice, row, column).
    pub(in crate::engines::cuda) probe_weights: M::Buffer<f32>,
    pub(in crate::engines::cuda) slices: u32,
    /// Frames of a batch on all devices, at most.
    pub(in crate::engines::cuda) whole: usize,
    /// Slices of a batch, for each share as many; 0: the batches are too small for shares.
    pub(super) apart: u32,
    /// What is exchanged with other devices that have other frames of the batches; none if there
    /// are none.
    pub(in crate::engines::cuda) divided: Option<Divided<M>>,
    /// Copies of object and probe of regions; none until they are used.
    pub(super) regions: Option<RegionBuffers<M>>,
    /// Bits of the largest weight: object (and a second element for kernels that have both), probe.
    pub(in crate::engines::cuda) largest: [M::Buffer<u32>; 2],
    /// 1 element: the object's pixels under the windows of the batch (top, left, bottom, right).
    pub(in crate::engines::cuda) bounds: M::Buffer<[u32; 4]>,
    /// (frame of the batch, part).
    pub(in crate::engines::cuda) step_sums: M::Buffer<[f32; 5]>,
    pub(in crate::engines::cuda) solved: M::Buffer<[f32; 2]>,
    /// Object, probe.
    pub(in crate::engines::cuda) steps: M::Buffer<f32>,
    /// What `steps` holds, if the host has set them.
    pub(super) set_steps: Option<[f32; 2]>,
    pub(super) smoothness_sums: M::Buffer<[f32; 2]>,
    pub(in crate::engines::cuda) smoothness: M::Buffer<f32>,
    /// What fused launches need; none if the scan is not one for them.
    pub(in crate::engines::cuda) fused: Option<Fused<M>>,
    /// (row, column of tiles of the object): batches of the iteration that a tile has, if the
    /// momentum is deferred; empty until it is used.
    pub(super) applied: M::Buffer<u32>,
    /// Momentum of the object; empty until it is used.
    pub(in crate::engines::cuda) object_velocity: M::Buffer<Complex32>,
    /// Momentum of the probe; empty until it is used.
    pub(in crate::engines::cuda) probe_velocity: M::Buffer<Complex32>,
}

impl<M: Device> BatchBuffers<M> {
    /// Memory for `size` frames of batches of at most `whole` frames; with `separate` launches, not
    /// fused ones.
    pub(in crate::engines::cuda) fn new(
        device: &M,
        layout: &Layout,
        [size, whole]: [usize; 2],
        separate: bool,
    ) -> Result<Self> {
        let (object, probe) = (layout.object_elements(), layout.probe_elements());
        // Those of a device alone, unless frames are divided.
        let slices = match whole {
            1 => probe_slices(probe, layout.scan_frames as usize) as u32,
            _ => layout.slices,
        };
        let slices = slices.min(size as u32).max(1);
        let apart = slices_of_shares(layout, whole);
        let allocated = slices.max(apart) as usize;
        let most = size.max(whole);
        let largest = |len: usize| device.alloc("the largest weight", len);
        Ok(Self {
            size,
            object: device.alloc("the object's direction", object)?,
            object_weights: device.alloc("the object's weights", layout.object_pixels())?,
            probe: device.alloc("the probe's direction", allocated * probe)?,
            probe_weights: device
                .alloc("the probe's weights", allocated * layout.pixels() as usize)?,
            slices,
            whole,
            apart,
            divided: None,
            regions: None,
            largest: [largest(2)?, largest(1)?],
            bounds: device.alloc("the bounds of a batch", 1)?,
            step_sums: device.alloc(
                "the steps' sums",
                most * PARTS.max(layout.modes).max(layout.points) as usize,
            )?,
            solved: device.alloc("the frames' steps", most)?,
            steps: device.alloc("the steps", 2)?,
            set_steps: None,
            smoothness_sums: device.alloc("the regulariser's sums", SMOOTHNESS_BLOCKS)?,
            smoothness: device.alloc("the regulariser's sum", 2)?,
            fused: if separate || layout.is_layered() {
                None
            } else {
                Fused::new(device, layout)?
            },
            applied: device.alloc("the counters of deferred momentum", 0)?,
            object_velocity: device.alloc("the object's momentum", 0)?,
            probe_velocity: device.alloc("the probe's momentum", 0)?,
        })
    }
}

/// Slices of the frames of a batch of `whole` frames on all devices, a quarter of them for each
/// share; 0 for batches that are too small. They do not depend on the number of devices.
fn slices_of_shares(layout: &Layout, whole: usize) -> u32 {
    if whole < SMALLEST {
        return 0;
    }
    let slices = probe_slices(layout.probe_elements(), layout.scan_frames as usize);
    ((slices.min(whole) / SHARES).max(1) * SHARES) as u32
}

impl<M: Device> BatchBuffers<M> {
    /// Values of the momentum of object and probe that a step uses.
    pub(in crate::engines::cuda) fn velocities(&self, momentum: f64) -> [u32; 2] {
        let used = |buffer: &M::Buffer<Complex32>| {
            if momentum > 0.0 {
                buffer.len() as u32
            } else {
                0
            }
        };
        [used(&self.object_velocity), used(&self.probe_velocity)]
    }

    /// Sets the momentum of object and probe; empty: none.
    pub(in crate::engines::cuda) fn set_momentum(
        &mut self,
        device: &M,
        [object, probe]: &[Vec<Complex<f32>>; 2],
    ) -> Result<()> {
        self.object_velocity = device.alloc("the object's momentum", object.len())?;
        self.probe_velocity = device.alloc("the probe's momentum", probe.len())?;
        device.upload(&mut self.object_velocity, object)?;
        device.upload(&mut self.probe_velocity, probe)
    }
}
