//! Mirrors cpu/model/multislice.rs: the waves in a thick specimen of several slices.
//!
//! The slices are stacked in rows: the object is one array of `slices · rows` × columns, and the
//! window of a frame on slice s has its corner `s · rows` further down. So the kernels of thin
//! objects compute products, sums and directions of slices. Waves travel between slices by the
//! launch of near fields, with other factors.

use super::exposure_points::PointView;
use super::window_product::product;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::memory::layout::Layout;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;

mod batches;
mod changes;
mod memory;

pub(in crate::engines::cuda) use changes::{backward, linear_changes};
pub(in crate::engines::cuda) use memory::{DistanceSums, SliceBuffers, ThickWaves};

/// The waves at the first slice, and at those behind it.
type Incident<'a, M> = (
    &'a <M as Device>::Buffer<Complex32>,
    &'a [<M as Device>::Buffer<Complex32>],
);

impl<M: Device> FrameBuffers<M> {
    /// Writes the waves at the slices, from the shifted probes on, and the exit waves behind the
    /// last one to `chi`.
    pub(in crate::engines::cuda) fn thick_products(
        &mut self,
        device: &M,
        layout: &Layout,
        (buffers, slices): (&Buffers<M>, &SliceBuffers<M>),
        batch: Batch,
    ) -> Result<()> {
        let Self {
            size,
            order,
            probes,
            chi,
            fft,
            thick,
            ..
        } = self;
        let thick = match thick {
            Some(thick) => thick,
            None => {
                let waves = (*size, probes.len());
                thick.insert(ThickWaves::new(device, slices.count(), waves)?)
            }
        };
        for slice in 0..slices.count() {
            let (before, behind) = thick.incident.split_at_mut(slice);
            let from = before.last().unwrap_or(probes);
            let to = behind.first_mut().unwrap_or(chi);
            product(
                device,
                layout,
                &at_slice(layout, buffers, &slices.corners[slice], (order, batch)),
                (to, 0),
                (from, Some(0)),
                &buffers.object,
                false,
            )?;
            if slice + 1 < slices.count() {
                slices.forward(device, fft, to, slice)?;
            }
        }
        Ok(())
    }
}

/// The frames of a batch with their windows on a slice.
fn at_slice<'a, M: Device>(
    layout: &Layout,
    buffers: &'a Buffers<M>,
    corners: &'a M::Buffer<[u32; 2]>,
    frames: (&'a M::Buffer<u32>, Batch),
) -> PointView<'a, M> {
    PointView {
        corners,
        ..PointView::new(layout, buffers, None, frames)
    }
}
