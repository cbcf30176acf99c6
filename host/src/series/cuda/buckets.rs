//! Where the buckets of a granularity begin, and the methods of one pass.

use super::resident::{Columns, Heads, Points};
use super::sort::grow;
use crate::gpu::{Buffer, Machine, Result};
use crate::series::Method;
use warpstride_device::launch::Work;
use warpstride_kernels::series::bucket::Bucketing;
use warpstride_kernels::series::methods;
use warpstride_kernels::series::partial::places;
use warpstride_kernels::series::reduce_long::{STRETCH, SeriesDeviations, SeriesReduceLong};
use warpstride_kernels::series::reduce_tiles::{SeriesReduceCalendar, SeriesReduceFixed};
use warpstride_kernels::series::starts::SeriesStarts;
use warpstride_kernels::series::tile::tiles;
use warpstride_kernels::series::told::progress_len;

/// Points of a block for long buckets: eight warps.
const BLOCK: usize = 8 * STRETCH as usize;

/// Bits of methods of one pass; columns stand in the order of the bits.
fn bits_of(wanted: &[Method]) -> u32 {
    let bit = |method: &Method| match method {
        Method::Sum => methods::SUM,
        Method::Mean => methods::MEAN,
        Method::Min => methods::MIN,
        Method::Max => methods::MAX,
        Method::First => methods::FIRST,
        Method::Last => methods::LAST,
        Method::Std => methods::STD,
        _ => 0,
    };
    wanted.iter().map(bit).fold(0, |all, bit| all | bit)
}

/// What finding buckets keeps.
pub(super) struct OnePass<M: Machine> {
    methods: u32,
    /// (point), bits of the points that series begin with.
    begins: M::Buffer<u32>,
    /// (tile + 1), first series.
    of_tile: M::Buffer<u32>,
    /// The tile kernel's own; all 0 where it is new.
    progress: M::Buffer<u32>,
    /// (chunk), of buckets that have several.
    sums: M::Buffer<f64>,
    /// (chunk), least and greatest.
    keys: M::Buffer<[u64; 2]>,
    /// (chunk); all 0 between launches.
    come: M::Buffer<u32>,
}

impl<M: Machine> OnePass<M> {
    /// Without memory.
    pub(super) fn new(machine: &M, wanted: &[Method]) -> Result<Self> {
        Ok(Self {
            methods: bits_of(wanted),
            begins: machine.alloc("beginnings of series", 0)?,
            of_tile: machine.alloc("series of tiles", 0)?,
            progress: machine.alloc("tiles of points", 0)?,
            sums: machine.alloc("sums of chunks", 0)?,
            keys: machine.alloc("least and greatest of chunks", 0)?,
            come: machine.alloc("chunks of buckets", 0)?,
        })
    }

    /// Whether nothing but where buckets begin is wanted.
    pub(super) fn is_empty(&self) -> bool {
        self.methods == 0
    }

    /// Queues where series begin, which all granularities of the same points need.
    pub(super) fn queue_series(&mut self, machine: &M, points: &Points<M>) -> Result<()> {
        let (count, series) = (points.points, points.series);
        grow(
            machine,
            "beginnings of series",
            &mut self.begins,
            count.div_ceil(32),
        )?;
        grow(
            machine,
            "series of tiles",
            &mut self.of_tile,
            tiles(count) + 1,
        )?;
        machine.zero(&mut self.begins)?;
        let launch = SeriesStarts {
            offsets: points.offsets.read(),
            bits: self.begins.write(),
            of_tile: self.of_tile.write(),
            points: count as u32,
            series: series as u32,
        };
        machine.launch(&launch, Work::Elements(series.max(tiles(count) + 1)))
    }

    /// Queues the buckets of a granularity; `covering`: (window of 32 points), gets the bucket that its first point lies
    /// in.
    pub(super) fn queue(
        &mut self,
        machine: &M,
        points: &Points<M>,
        rule: Bucketing,
        heads: &mut Heads<M>,
        covering: &mut M::Buffer<u32>,
        columns: &mut Columns<M>,
    ) -> Result<()> {
        let count = points.points;
        grow(
            machine,
            "tiles of points",
            &mut self.progress,
            progress_len(count),
        )?;
        grow(machine, "buckets of points", covering, count.div_ceil(32))?;
        macro_rules! tiles {
            ($kernel:ident, $($rule:ident),*) => {
                $kernel {
                    times: points.times.read(),
                    values: points.values.read(),
                    bits: self.begins.read(),
                    of_tile: self.of_tile.read(),
                    offsets: points.offsets.read(),
                    first: heads.first.write(),
                    starts: heads.starts.write(),
                    of_series: heads.of_series.write(),
                    covering: covering.write(),
                    facts: heads.facts.write(),
                    columns: columns.values.write(),
                    room: self.progress.len() as u32,
                    progress: self.progress.write(),
                    points: count as u32,
                    series: points.series as u32,
                    capacity: heads.capacity as u32,
                    column: 0,
                    stride: columns.stride as u32,
                    methods: self.methods,
                    $($rule: rule.$rule,)*
                }
            };
        }
        let work = Work::Turns(tiles(count));
        if rule.calendar == 0 {
            machine.launch(&tiles!(SeriesReduceFixed, step, magic, shift), work)
        } else {
            machine.launch(&tiles!(SeriesReduceCalendar, calendar), work)
        }
    }

    /// Queues the methods of buckets of more than 32 points, and their greatest length.
    pub(super) fn queue_long(
        &mut self,
        machine: &M,
        points: &Points<M>,
        covering: &M::Buffer<u32>,
        heads: &mut Heads<M>,
        columns: &mut Columns<M>,
    ) -> Result<()> {
        let count = points.points;
        grow(machine, "sums of chunks", &mut self.sums, places(count))?;
        grow(
            machine,
            "least and greatest of chunks",
            &mut self.keys,
            places(count),
        )?;
        grow(machine, "chunks of buckets", &mut self.come, places(count))?;
        macro_rules! long {
            ($kernel:ident, $facts:ident) => {
                $kernel {
                    values: points.values.read(),
                    first: heads.first.read(),
                    covering: covering.read(),
                    facts: heads.facts.$facts(),
                    columns: columns.values.write(),
                    sums: self.sums.write(),
                    keys: self.keys.write(),
                    come: self.come.write(),
                    points: count as u32,
                    capacity: heads.capacity as u32,
                    column: 0,
                    stride: columns.stride as u32,
                    methods: self.methods,
                }
            };
        }
        let work = Work::Turns(count.div_ceil(BLOCK).max(1));
        machine.launch(&long!(SeriesReduceLong, write), work)?;
        if self.methods & methods::STD != 0 {
            machine.launch(&long!(SeriesDeviations, read), work)?;
        }
        Ok(())
    }
}
