//! Stream compaction: copies selected points of every series together. Used to remove duplicates
//! and to take differences.

use super::resident::Points;
use super::sort::grow;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::series::compact::{
    SeriesCompactCount, SeriesCompactMove, SeriesCompactOffsets,
};
use warpstride_kernels::series::scan::SeriesScanRows;
use warpstride_kernels::series::series_of::tiles;

/// Buffers of a compaction.
pub(super) struct Compact<M: Device> {
    /// (tile).
    counts: M::Buffer<u32>,
    /// Number of selected points.
    total: M::Buffer<u32>,
    /// (point + 1), number of selected points before each point.
    ranks: M::Buffer<u32>,
}

impl<M: Device> Compact<M> {
    /// Makes empty buffers.
    pub(super) fn new(device: &M) -> Result<Self> {
        Ok(Self {
            counts: device.alloc("points of tiles", 0)?,
            total: device.alloc("selected points", 1)?,
            ranks: device.alloc("ranks of points", 0)?,
        })
    }

    /// Queues the compaction of `from` to `to` by a rule of
    /// [`warpstride_kernels::series::compact`]. `to` has the largest possible number of points.
    /// `from` must not be empty.
    pub(super) fn queue(
        &mut self,
        device: &M,
        from: &Points<M>,
        to: &mut Points<M>,
        rule: u32,
    ) -> Result<()> {
        let (points, series) = (from.points, from.series);
        let tiles = tiles(points);
        grow(device, "points of tiles", &mut self.counts, tiles)?;
        grow(device, "ranks of points", &mut self.ranks, points + 1)?;
        let count = SeriesCompactCount {
            times: from.times.read(),
            values: from.values.read(),
            offsets: from.offsets.read(),
            counts: self.counts.write(),
            points: points as u32,
            series: series as u32,
            rule,
        };
        device.launch(&count, Work::Blocks(tiles))?;
        let scan = SeriesScanRows {
            counts: self.counts.write(),
            totals: self.total.write(),
            rows: 1,
            length: tiles as u32,
        };
        device.launch(&scan, Work::Blocks(1))?;
        let moving = SeriesCompactMove {
            times: from.times.read(),
            values: from.values.read(),
            offsets: from.offsets.read(),
            counts: self.counts.read(),
            times_out: to.times.write(),
            values_out: to.values.write(),
            ranks: self.ranks.write(),
            points: points as u32,
            series: series as u32,
            rule,
            kept: to.points as u32,
        };
        device.launch(&moving, Work::Blocks(tiles))?;
        let offsets = SeriesCompactOffsets {
            ranks: self.ranks.read(),
            offsets: from.offsets.read(),
            out: to.offsets.write(),
            points: points as u32,
            series: series as u32,
        };
        device.launch(&offsets, Work::Elements(series + 1))
    }

    /// Waits for the number of selected points.
    pub(super) fn selected(&self, device: &M) -> Result<usize> {
        let mut selected = [0_u32];
        device.download(&self.total, &mut selected)?;
        Ok(selected[0] as usize)
    }
}
