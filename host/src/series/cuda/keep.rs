//! Some points of every series, packed; what leaving out duplicates and taking differences share.

use super::resident::Points;
use super::sort::grow;
use crate::gpu::{Buffer, Machine, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::series::keep::{SeriesKeepCount, SeriesKeepMove, SeriesKeepOffsets};
use warpstride_kernels::series::scan::SeriesScanRows;
use warpstride_kernels::series::series_of::tiles;

/// What packing keeps.
pub(super) struct Keep<M: Machine> {
    /// (tile).
    counts: M::Buffer<u32>,
    /// How many points were kept.
    total: M::Buffer<u32>,
    /// (point + 1), points kept before.
    ranks: M::Buffer<u32>,
}

impl<M: Machine> Keep<M> {
    /// Without memory.
    pub(super) fn new(machine: &M) -> Result<Self> {
        Ok(Self {
            counts: machine.alloc("points of tiles", 0)?,
            total: machine.alloc("points that are kept", 1)?,
            ranks: machine.alloc("places of points", 0)?,
        })
    }

    /// Queues: what a rule of [`warpstride_kernels::series::keep`] keeps of `from` comes to `to`, which says how many
    /// points that are at most. There must be points.
    pub(super) fn queue(
        &mut self,
        machine: &M,
        from: &Points<M>,
        to: &mut Points<M>,
        rule: u32,
    ) -> Result<()> {
        let (points, series) = (from.points, from.series);
        let tiles = tiles(points);
        grow(machine, "points of tiles", &mut self.counts, tiles)?;
        grow(machine, "places of points", &mut self.ranks, points + 1)?;
        let count = SeriesKeepCount {
            times: from.times.read(),
            values: from.values.read(),
            offsets: from.offsets.read(),
            counts: self.counts.write(),
            points: points as u32,
            series: series as u32,
            rule,
        };
        machine.launch(&count, Work::Blocks(tiles))?;
        let scan = SeriesScanRows {
            counts: self.counts.write(),
            totals: self.total.write(),
            rows: 1,
            length: tiles as u32,
        };
        machine.launch(&scan, Work::Blocks(1))?;
        let moving = SeriesKeepMove {
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
        machine.launch(&moving, Work::Blocks(tiles))?;
        let offsets = SeriesKeepOffsets {
            ranks: self.ranks.read(),
            offsets: from.offsets.read(),
            out: to.offsets.write(),
            points: points as u32,
            series: series as u32,
        };
        machine.launch(&offsets, Work::Elements(series + 1))
    }

    /// Waits for how many points were kept.
    pub(super) fn kept(&self, machine: &M) -> Result<usize> {
        let mut kept = [0_u32];
        machine.download(&self.total, &mut kept)?;
        Ok(kept[0] as usize)
    }
}
