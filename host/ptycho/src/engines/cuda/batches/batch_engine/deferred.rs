//! Momentum that is applied to a tile of the object when a batch comes to it.
//!
//! The momentum moves the whole object in each batch, also where the batch has no windows; a pixel
//! there depends on no other value. So the pixels beyond the tiles under the windows are left
//! alone, each tile counts the batches that it has, and catches up before χ of a batch with windows
//! over it is computed; after the last batch of an iteration all tiles do. The roundings are the
//! same, and so are the bits: under the windows of each batch, and at the end of an iteration.
//! Nothing reads the rest of object and velocity between batches.

use super::{Deferred, Run};
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::projections::object_update::clip_limits;
use crate::engines::method::BatchMethod;
use crate::{BatchOrder, Step};
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{deferred_momentum::PtychoDeferredMomentum, tile_frames::tiles};

/// Object pixels for each multiprocessor below which a pass over all of them takes about as long as
/// two launches: 132 multiprocessors of an H100 move 32 bytes of each in 12 µs.
const PIXELS: usize = 8192;

/// Whether to defer the momentum of an iteration with so many batches: if there is momentum, no
/// regulariser, which needs the whole object, and each batch has windows over a part of a large
/// object.
pub(super) fn defers<M: Device>(
    device: &M,
    layout: &Layout,
    step: &Step,
    method: &BatchMethod,
    batches: usize,
) -> bool {
    let large = PIXELS.saturating_mul(device.multiprocessors() as usize);
    step.update_object
        && method.momentum() > 0.0
        && method.smoothness().is_none()
        && method.order == BatchOrder::Compact
        && batches > 1
        && !layout.is_layered()
        && layout.object_elements() >= large
}

impl<M: Device> Run<'_, M> {
    /// No tile has any batch of the iteration that begins.
    pub(super) fn begin_deferred(&mut self) -> Result<()> {
        let [rows, columns] = [self.layout.object_rows, self.layout.object_columns];
        let count = tiles(rows as usize, columns as usize);
        self.hold_counters(count)?;
        self.device.zero(&mut self.batches.applied)?;
        self.deferred = Some(Deferred { before: 0 });
        Ok(())
    }

    /// Makes the counters of at least `count` tiles.
    pub(super) fn hold_counters(&mut self, count: usize) -> Result<()> {
        let applied = &mut self.batches.applied;
        if applied.len() < count {
            *applied = self
                .device
                .alloc("the counters of deferred momentum", count)?;
        }
        Ok(())
    }

    /// Before χ of a batch: the tiles under its windows catch up with the batches before it.
    pub(in crate::engines::cuda) fn catch_up(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        batch: Batch,
    ) -> Result<()> {
        let Some(of_batches) = self.deferred else {
            return Ok(());
        };
        let before = of_batches.and(batch.number as usize);
        self.apply(step, method, before, Some(batch))
    }

    /// After the last batch of an iteration: all tiles have all batches.
    pub(super) fn end_deferred(&mut self, step: &Step, method: &BatchMethod) -> Result<()> {
        let Some(all) = self.deferred.take() else {
            return Ok(());
        };
        self.apply(step, method, all, None)
    }

    /// Applies the momentum to the tiles under the windows of a batch, which then has its turn, or
    /// to all.
    fn apply(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        Deferred { before }: Deferred,
        batch: Option<Batch>,
    ) -> Result<()> {
        let (layout, frames) = (self.layout, &*self.frames);
        let [clip_low, clip_high] = clip_limits(step.clip_object);
        let tiles = self.batches.applied.len();
        self.device.launch(
            &PtychoDeferredMomentum {
                object: self.buffers.object.write(),
                velocity: self.batches.object_velocity.write(),
                applied: self.batches.applied.write(),
                corners: self.buffers.corners.read(),
                order: frames.order.read(),
                ranges: frames.ranges.read(),
                given_bounds: frames.bounds.read(),
                frames: layout.frames,
                most: frames.size as u32,
                batches: frames.ranges.len() as u32,
                batch: batch.map_or(0, |batch| batch.number),
                rows: layout.rows,
                columns: layout.columns,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                before,
                given: frames.bounds.len() as u32,
                whole: u32::from(batch.is_none()),
                momentum: method.momentum() as f32,
                clip_low,
                clip_high,
            },
            Work::Turns(tiles),
        )
    }
}
