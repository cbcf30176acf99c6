//! Batches whose frames are divided among devices: each computes χ, sums and steps of its own
//! frames; what the sums of all of them are added to, and the step, is the same everywhere.
//!
//! Devices exchange the sums on the probe and on the object under the windows of the batch, and
//! then the sums behind the frames' steps. Which frames are summed apart does not depend on the
//! number of devices ([`crate::engines::batch_shares`]), so the bits do not.

use super::memory::Divided;
use super::{BatchBuffers, Run};
use crate::Step;
use crate::engines::batch_shares::order_of_devices;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::step_arguments::updates;
use crate::engines::interleaved::Interleaved;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    batch_exchange::{PtychoAddSums, PtychoPackSums, packed_values},
    tile_frames::{TILE_COLUMNS, TILE_ROWS},
};

/// The object's pixels under the windows of some frames, beginning with a whole tile.
fn bounds_of(layout: &Layout, frames: &[u32], corners: &[[u32; 2]]) -> [u32; 4] {
    let windows = || {
        frames
            .iter()
            .filter_map(|frame| corners.get(*frame as usize))
    };
    let tile = [TILE_ROWS, TILE_COLUMNS];
    let shape = [layout.rows, layout.columns];
    let object = [layout.object_rows, layout.object_columns];
    let along = |axis: usize| {
        let of_axis = || windows().map(|corner| corner[axis]);
        let first = of_axis().min().unwrap_or(0) / tile[axis] * tile[axis];
        let end = of_axis().max().map_or(0, |last| last + shape[axis]);
        [first, end.min(object[axis])]
    };
    let [[top, bottom], [left, right]] = [along(0), along(1)];
    [top, left, bottom, right]
}

impl<M: Device> BatchBuffers<M> {
    /// The frames of the batches that follow are not divided.
    pub(in crate::engines::cuda) fn end_divided(
        &mut self,
        device: &M,
        frames: &mut FrameBuffers<M>,
    ) -> Result<()> {
        self.divided = None;
        if !frames.bounds.is_empty() {
            frames.bounds = device.alloc("the bounds of the batches", 0)?;
        }
        Ok(())
    }

    /// Prepares an iteration over `lists` of the frames of the scan, which have windows at
    /// `corners`.
    pub(in crate::engines::cuda) fn begin_divided(
        &mut self,
        device: &M,
        layout: &Layout,
        frames: &mut FrameBuffers<M>,
        division: &Interleaved,
        (lists, corners): (&[Vec<u32>], &[[u32; 2]]),
    ) -> Result<()> {
        let order = order_of_devices(division.ranks());
        let bounds: Vec<[u32; 4]> = (lists.iter())
            .map(|list| bounds_of(layout, list, corners))
            .collect();
        let counts = |list: &Vec<u32>| {
            let counts = division.counts(list);
            order.iter().map(|rank| counts[*rank]).collect()
        };
        let needed = (bounds.iter())
            .map(|bounds| packed_length(layout, *bounds))
            .max()
            .unwrap_or(0);
        let mut own = match self.divided.take() {
            Some(own) => own,
            None => Divided {
                bounds: Vec::new(),
                counts: Vec::new(),
                ranges: device.alloc("the batches of all devices", 0)?,
                packed: device.alloc("a batch's sums", 0)?,
                all: device.alloc("a batch's sums of all devices", 0)?,
                step_sums: device.alloc("the steps' sums of all devices", self.step_sums.len())?,
            },
        };
        if own.packed.len() < needed {
            // Memory is freed before more is taken.
            own.packed = device.alloc("a batch's sums", 0)?;
            own.all = device.alloc("a batch's sums of all devices", 0)?;
            own.packed = device.alloc("a batch's sums", needed)?;
            own.all = device.alloc("a batch's sums of all devices", order.len() * needed)?;
        }
        own.counts = lists.iter().map(counts).collect();
        let ranges: Vec<[u32; 2]> = lists.iter().map(|list| [0, list.len() as u32]).collect();
        if own.ranges.len() != ranges.len() {
            own.ranges = device.alloc("the batches of all devices", ranges.len())?;
            frames.bounds = device.alloc("the bounds of the batches", bounds.len())?;
        } else if frames.bounds.len() != bounds.len() {
            frames.bounds = device.alloc("the bounds of the batches", bounds.len())?;
        }
        device.upload(&mut own.ranges, &ranges)?;
        device.upload(&mut frames.bounds, &bounds)?;
        own.bounds = bounds;
        self.divided = Some(own);
        Ok(())
    }
}

fn pixels_of([top, left, bottom, right]: [u32; 4]) -> usize {
    bottom.saturating_sub(top) as usize * right.saturating_sub(left) as usize
}

/// Values of the packed sums of a batch.
fn packed_length(layout: &Layout, bounds: [u32; 4]) -> usize {
    let (elements, pixels) = (layout.probe_elements(), layout.pixels() as usize);
    packed_values(pixels_of(bounds), elements, pixels)
}

impl<M: Device> Run<'_, M> {
    /// Replaces the sums of a batch by those of all devices, and the largest weights; the sums on
    /// the probe are multiplied by `scale` then. Does nothing if there is one device.
    pub(in crate::engines::cuda) fn add_devices(
        &mut self,
        step: &Step,
        batch: Batch,
        scale: f32,
    ) -> Result<()> {
        let BatchBuffers {
            object,
            object_weights,
            probe,
            probe_weights,
            largest: [largest, _],
            fused,
            divided: Some(own),
            ..
        } = &mut *self.batches
        else {
            return Ok(());
        };
        let (Some(exchange), Some(bounds)) = (
            self.exchange.as_deref_mut(),
            own.bounds.get(batch.number as usize),
        ) else {
            return Ok(());
        };
        let largest = (fused.as_mut()).map_or(largest, |fused| &mut fused.largest);
        let (device, layout, frames) = (self.device, self.layout, &*self.frames);
        let (elements, pixels) = (layout.probe_elements(), layout.pixels());
        let length = packed_length(layout, *bounds);
        let devices = exchange.ranks().size();
        let capacity = own.packed.len() as u32;
        let work = Work::Elements(pixels_of(*bounds) + elements + pixels as usize);
        device.launch(
            &PtychoPackSums {
                packed: own.packed.write(),
                numerators: object.read(),
                weights: object_weights.read(),
                sums: probe.read(),
                probe_weights: probe_weights.read(),
                given_bounds: frames.bounds.read(),
                capacity,
                batches: frames.bounds.len() as u32,
                batch: batch.number,
                object_elements: layout.object_elements() as u32,
                columns: layout.object_columns,
                elements: elements as u32,
                pixels,
                updates: updates(step),
            },
            work,
        )?;
        let lengths = vec![length; devices];
        exchange.gather_in_order(device, &own.packed, &mut own.all, &lengths)?;
        device.launch(
            &PtychoAddSums {
                numerators: object.write(),
                weights: object_weights.write(),
                sums: probe.write(),
                probe_weights: probe_weights.write(),
                largest: largest.write(),
                all: own.all.read(),
                given_bounds: frames.bounds.read(),
                batches: frames.bounds.len() as u32,
                batch: batch.number,
                devices: devices as u32,
                length: length as u32,
                object_elements: layout.object_elements() as u32,
                columns: layout.object_columns,
                elements: elements as u32,
                pixels,
                updates: updates(step),
                scale,
            },
            work,
        )
    }

    /// Gets the sums behind the steps of all frames of a batch, in `parts` parts each; does nothing
    /// if there is one device.
    pub(super) fn gather_step_sums(&mut self, batch: Batch, parts: u32) -> Result<()> {
        let BatchBuffers {
            step_sums,
            divided: Some(own),
            ..
        } = &mut *self.batches
        else {
            return Ok(());
        };
        let (Some(exchange), Some(counts)) = (
            self.exchange.as_deref_mut(),
            own.counts.get(batch.number as usize),
        ) else {
            return Ok(());
        };
        let lengths: Vec<usize> = counts.iter().map(|count| count * parts as usize).collect();
        exchange.gather_in_order(self.device, step_sums, &mut own.step_sums, &lengths)
    }
}
