//! The points of the exposures of a fly scan: to most launches they are frames of their own, whose
//! probes are shifted further.

use super::propagation::BetweenPixels;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::exposure_points::PtychoExposurePoints;

/// Windows, fractions and scales of the points of a batch (frame of the batch, point).
pub(in crate::engines::cuda) struct Points<M: Device> {
    corners: M::Buffer<[u32; 2]>,
    fractions: M::Buffer<[f32; 2]>,
    scales: M::Buffer<f32>,
    order: M::Buffer<u32>,
}

impl<M: Device> Points<M> {
    /// Memory for `size` frames.
    pub(in crate::engines::cuda) fn new(device: &M, layout: &Layout, size: usize) -> Result<Self> {
        let points = size * layout.points as usize;
        Ok(Self {
            corners: device.alloc("the points' windows", points)?,
            fractions: device.alloc("the points' fractions", points)?,
            scales: device.alloc("the points' scales", points)?,
            order: device.alloc("the points' order", points)?,
        })
    }

    /// Computes those of a batch in `order`; their scales have the frames' as factors if `scaled`.
    pub(in crate::engines::cuda) fn set(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        (order, batch): (&M::Buffer<u32>, Batch),
        scaled: bool,
    ) -> Result<()> {
        device.launch(
            &PtychoExposurePoints {
                point_corners: self.corners.write(),
                point_fractions: self.fractions.write(),
                point_scales: self.scales.write(),
                point_order: self.order.write(),
                corners: buffers.corners.read(),
                fractions: buffers.fractions.read(),
                scales: buffers.scales.read(),
                paths: buffers.paths.read(),
                order: order.read(),
                frames: layout.frames,
                path_frames: buffers.paths.len() as u32,
                first: batch.first,
                count: batch.count,
                points: layout.points,
                scaled: u32::from(scaled),
            },
            Work::Elements(batch.count as usize * layout.points as usize),
        )
    }
}

impl<M: Device> Points<M> {
    /// The fractions of all of them.
    pub(in crate::engines::cuda) fn all(&self) -> BetweenPixels<'_, M> {
        let count = self.order.len() as u32;
        BetweenPixels::new(&self.fractions, &self.order, count)
    }
}

/// What launches take as frames: those of a batch, or the points of their exposures.
pub(in crate::engines::cuda) struct PointView<'a, M: Device> {
    pub(in crate::engines::cuda) corners: &'a M::Buffer<[u32; 2]>,
    pub(in crate::engines::cuda) fractions: &'a M::Buffer<[f32; 2]>,
    pub(in crate::engines::cuda) scales: &'a M::Buffer<f32>,
    pub(in crate::engines::cuda) order: &'a M::Buffer<u32>,
    pub(in crate::engines::cuda) frames: u32,
    pub(in crate::engines::cuda) first: u32,
    pub(in crate::engines::cuda) count: u32,
    /// Points for each frame.
    pub(in crate::engines::cuda) points: u32,
    /// Whether scales are factors in any case, as those of points are.
    pub(in crate::engines::cuda) shared: bool,
}

impl<'a, M: Device> PointView<'a, M> {
    /// Those of a batch in `order`.
    pub(in crate::engines::cuda) fn new(
        layout: &Layout,
        buffers: &'a Buffers<M>,
        points: Option<&'a Points<M>>,
        (order, batch): (&'a M::Buffer<u32>, Batch),
    ) -> Self {
        match points {
            None => Self {
                corners: &buffers.corners,
                fractions: &buffers.fractions,
                scales: &buffers.scales,
                order,
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                points: 1,
                shared: false,
            },
            Some(of) => Self {
                corners: &of.corners,
                fractions: &of.fractions,
                scales: &of.scales,
                order: &of.order,
                frames: of.order.len() as u32,
                first: 0,
                count: batch.count * layout.points,
                points: layout.points,
                shared: true,
            },
        }
    }

    /// The frames, or the points of their exposures, whose probes are shifted by fractions of a
    /// pixel.
    pub(in crate::engines::cuda) fn between_pixels(&self) -> BetweenPixels<'a, M> {
        BetweenPixels {
            fractions: self.fractions,
            order: self.order,
            frames: self.frames,
            first: self.first,
            count: self.count,
        }
    }
}
