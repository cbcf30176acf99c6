//! Products of the waves of a batch with a grid of the object's shape, in the windows of the
//! frames.

use super::exposure_points::PointView;
use crate::engines::cuda::memory::layout::Layout;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::window_product::PtychoWindowProduct;

/// `to = from · grid` for every layer of the grid, or the sum over the layers of `from ·
/// conj(grid)`, in the windows of the frames.
pub(in crate::engines::cuda) fn product<M: Device>(
    device: &M,
    layout: &Layout,
    at: &PointView<'_, M>,
    (to, to_first): (&mut M::Buffer<Complex32>, u32),
    // Without a first frame, all frames have the same.
    (from, from_first): (&M::Buffer<Complex32>, Option<u32>),
    grid: &M::Buffer<Complex32>,
    conjugate: bool,
) -> Result<()> {
    let layers = layout.object_layers;
    let (to_layers, from_layers) = if conjugate { (1, layers) } else { (layers, 1) };
    let from_start = from_first.unwrap_or(0) * at.points;
    device.launch(
        &PtychoWindowProduct {
            to: to.write(),
            from: from.read(),
            grid: grid.read(),
            corners: at.corners.read(),
            order: at.order.read(),
            frames: at.frames,
            first: at.first,
            count: at.count,
            modes: layout.modes,
            rows: layout.rows,
            columns: layout.columns,
            object_rows: layout.object_rows,
            object_columns: layout.object_columns,
            parts: layout.parts,
            to_first: to_first * at.points,
            from_first: from_start,
            conjugate: u32::from(conjugate),
            sources: from_first.map_or(1, |_| from_start + at.count),
            to_layers,
            from_layers,
        },
        Work::Blocks(at.count as usize * layout.parts as usize),
    )
}
