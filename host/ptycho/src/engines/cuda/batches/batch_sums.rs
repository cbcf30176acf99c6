//! Sums over the frames of a batch, on the grids of the object and of the probe. Mirrors
//! `add_object_sums` and `add_probe_sums` of cpu/batches/batch_engine.rs.

use super::batch::Batch;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::model::exposure_points::PointView;
use crate::engines::update_version::TILE;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Launch, Work};
use warpstride_kernels::ptycho::{
    object_direction::PtychoObjectDirection, probe_direction::PtychoProbeDirection,
};

/// Where sums go: the array of numerators and that of weights.
pub(in crate::engines::cuda) type Sums<'a, M> = (
    &'a mut <M as Device>::Buffer<Complex32>,
    &'a mut <M as Device>::Buffer<f32>,
);

/// The waves that an object's sums are made of, how they begin, and what they are multiplied by.
pub(in crate::engines::cuda) struct Waves<'a, M: Device> {
    /// (frame, mode, row, column).
    pub(in crate::engines::cuda) chi: &'a M::Buffer<Complex32>,
    /// Number, in `chi`, of the batch's first frame.
    pub(in crate::engines::cuda) first: u32,
    pub(in crate::engines::cuda) scale: f32,
}

/// Σ conj(S\[P\]) χ · scale and Σ |S\[P\]|² over the batch, added to what is there if `add`.
pub(in crate::engines::cuda) fn object_sums<M: Device>(
    device: &M,
    layout: &Layout,
    (buffers, frames): (&Buffers<M>, &FrameBuffers<M>),
    batch: Batch,
    waves: &Waves<'_, M>,
    sums: Sums<'_, M>,
    add: bool,
) -> Result<()> {
    let at = PointView::new(
        layout,
        buffers,
        frames.points.as_ref(),
        (&frames.order, batch),
    );
    let at = SumWindows {
        corners: at.corners,
        order: at.order,
        frames: at.frames,
        first: at.first,
        count: at.count,
        points: at.points,
    };
    let waves = (&frames.probes, waves);
    object_sums_with(device, layout, &at, waves, sums, add)
}

/// The windows in which an object's sums are.
pub(in crate::engines::cuda) struct SumWindows<'a, M: Device> {
    pub(in crate::engines::cuda) corners: &'a M::Buffer<[u32; 2]>,
    pub(in crate::engines::cuda) order: &'a M::Buffer<u32>,
    pub(in crate::engines::cuda) frames: u32,
    pub(in crate::engines::cuda) first: u32,
    pub(in crate::engines::cuda) count: u32,
    /// Points for each frame.
    pub(in crate::engines::cuda) points: u32,
}

impl<'a, M: Device> SumWindows<'a, M> {
    /// Those of the frames of a batch.
    pub(in crate::engines::cuda) fn of_batch(
        layout: &Layout,
        (corners, order): (&'a M::Buffer<[u32; 2]>, &'a M::Buffer<u32>),
        batch: Batch,
    ) -> Self {
        Self {
            corners,
            order,
            frames: layout.frames,
            first: batch.first,
            count: batch.count,
            points: 1,
        }
    }
}

/// [`object_sums`] in other windows, with other waves for S\[P\].
pub(in crate::engines::cuda) fn object_sums_with<M: Device>(
    device: &M,
    layout: &Layout,
    at: &SumWindows<'_, M>,
    (probes, waves): (&M::Buffer<Complex32>, &Waves<'_, M>),
    (numerators, weights): Sums<'_, M>,
    add: bool,
) -> Result<()> {
    let Layout {
        object_rows,
        object_columns,
        ..
    } = *layout;
    let tiles =
        (object_rows as usize).div_ceil(TILE[0]) * (object_columns as usize).div_ceil(TILE[1]);
    device.launch(
        &PtychoObjectDirection {
            numerators: numerators.write(),
            weights: weights.write(),
            probes: probes.read(),
            chi: waves.chi.read(),
            corners: at.corners.read(),
            order: at.order.read(),
            frames: at.frames,
            first: at.first,
            count: at.count,
            modes: layout.modes,
            rows: layout.rows,
            columns: layout.columns,
            object_rows,
            object_columns,
            chi_first: waves.first * at.points,
            add: u32::from(add),
            layers: layout.object_layers,
            scale: waves.scale,
        },
        Work::Blocks(tiles * layout.object_layers as usize),
    )
}

/// How the frames of a batch are added up on the probe's grid.
pub(in crate::engines::cuda) struct Slices {
    /// Parts of the frames that are summed apart.
    pub(in crate::engines::cuda) count: u32,
    /// Whether sums have the frames' scales as factors.
    pub(in crate::engines::cuda) scaled: bool,
    /// Whether they are added to what is there.
    pub(in crate::engines::cuda) add: bool,
    /// Whether each share of the batch has a quarter of the slices.
    pub(in crate::engines::cuda) apart: bool,
}

/// Slices of Σ S⁻¹ of the spectra in the work waves and of Σ |O|² over the batch.
pub(in crate::engines::cuda) fn probe_sums<M: Device>(
    device: &M,
    layout: &Layout,
    (buffers, frames): (&Buffers<M>, &FrameBuffers<M>),
    batch: Batch,
    slices: &Slices,
    (sums, weights): Sums<'_, M>,
) -> Result<()> {
    let threads = <PtychoProbeDirection<'_, M::Space> as Launch<M::Space>>::INFO.block[0];
    let groups = layout.pixels().div_ceil(threads) as usize;
    let at = PointView::new(
        layout,
        buffers,
        frames.points.as_ref(),
        (&frames.order, batch),
    );
    device.launch(
        &PtychoProbeDirection {
            sums: sums.write(),
            weights: weights.write(),
            spectra: frames.work.read(),
            object: buffers.object.read(),
            corners: at.corners.read(),
            fractions: at.fractions.read(),
            scales: at.scales.read(),
            order: at.order.read(),
            frames: at.frames,
            first: at.first,
            count: at.count,
            modes: layout.modes,
            rows: layout.rows,
            columns: layout.columns,
            object_rows: layout.object_rows,
            object_columns: layout.object_columns,
            slices: slices.count,
            scaled: u32::from(slices.scaled || at.shared),
            add: u32::from(slices.add),
            apart: u32::from(slices.apart),
            end_0: batch.ends[0] * at.points,
            end_1: batch.ends[1] * at.points,
            end_2: batch.ends[2] * at.points,
            layers: layout.object_layers,
        },
        Work::Blocks(slices.count as usize * layout.modes as usize * groups),
    )
}
