//! Finds the buckets of a granularity, and computes the one-pass methods.

use super::resident::{Columns, Heads, Points};
use super::sort::grow;
use crate::Method;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::series::bucket::Bucketing;
use warpstride_kernels::series::lookback::progress_len;
use warpstride_kernels::series::methods;
use warpstride_kernels::series::partial::places;
use warpstride_kernels::series::reduce_long::{SeriesDeviations, SeriesReduceLong, WARP_POINTS};
use warpstride_kernels::series::reduce_tiles::{SeriesReduceCalendar, SeriesReduceFixed};
use warpstride_kernels::series::starts::SeriesStarts;
use warpstride_kernels::series::tile::tiles;

/// Number of points per block for long buckets: eight warps.
const BLOCK: usize = 8 * WARP_POINTS as usize;

/// The bit set of the one-pass methods; columns are in the order of the bits.
fn method_bits(methods: &[Method]) -> u32 {
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
    methods.iter().map(bit).fold(0, |all, bit| all | bit)
}

/// Buffers for finding buckets and for the one-pass methods.
pub(super) struct OnePass<M: Device> {
    methods: u32,
    /// (point), bits that mark the first points of series.
    begins: M::Buffer<u32>,
    /// (tile + 1), first series of each tile.
    of_tile: M::Buffer<u32>,
    /// State of the tile kernel; all 0 when new.
    progress: M::Buffer<u32>,
    /// (chunk), partial sums of buckets with several chunks.
    sums: M::Buffer<f64>,
    /// (chunk), keys of the smallest and largest value.
    keys: M::Buffer<[u64; 2]>,
    /// (chunk), number of finished chunks; all 0 between launches.
    come: M::Buffer<u32>,
}

impl<M: Device> OnePass<M> {
    /// Makes empty buffers.
    pub(super) fn new(device: &M, methods: &[Method]) -> Result<Self> {
        Ok(Self {
            methods: method_bits(methods),
            begins: device.alloc("beginnings of series", 0)?,
            of_tile: device.alloc("series of tiles", 0)?,
            progress: device.alloc("tiles of points", 0)?,
            sums: device.alloc("sums of chunks", 0)?,
            keys: device.alloc("extremes of chunks", 0)?,
            come: device.alloc("finished chunks of buckets", 0)?,
        })
    }

    /// Whether no one-pass method is requested, only the buckets themselves.
    pub(super) fn is_empty(&self) -> bool {
        self.methods == 0
    }

    /// Queues the search for the first points of series, which all granularities of the same points
    /// need.
    pub(super) fn queue_series(&mut self, device: &M, points: &Points<M>) -> Result<()> {
        let (count, series) = (points.points, points.series);
        grow(
            device,
            "beginnings of series",
            &mut self.begins,
            count.div_ceil(32),
        )?;
        grow(
            device,
            "series of tiles",
            &mut self.of_tile,
            tiles(count) + 1,
        )?;
        device.zero(&mut self.begins)?;
        let launch = SeriesStarts {
            offsets: points.offsets.read(),
            bits: self.begins.write(),
            of_tile: self.of_tile.write(),
            points: count as u32,
            series: series as u32,
        };
        device.launch(&launch, Work::Elements(series.max(tiles(count) + 1)))
    }

    /// Queues the search for the buckets of a granularity. `covering`: (window of 32 points),
    /// receives the bucket of the window's first point.
    pub(super) fn queue(
        &mut self,
        device: &M,
        points: &Points<M>,
        rule: Bucketing,
        heads: &mut Heads<M>,
        covering: &mut M::Buffer<u32>,
        columns: &mut Columns<M>,
    ) -> Result<()> {
        let count = points.points;
        grow(
            device,
            "tiles of points",
            &mut self.progress,
            progress_len(count),
        )?;
        grow(device, "buckets of points", covering, count.div_ceil(32))?;
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
                    progress_length: self.progress.len() as u32,
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
            device.launch(&tiles!(SeriesReduceFixed, step, magic, shift), work)
        } else {
            device.launch(&tiles!(SeriesReduceCalendar, calendar), work)
        }
    }

    /// Queues the methods of buckets with more than 32 points, and the length of the longest
    /// bucket.
    pub(super) fn queue_long(
        &mut self,
        device: &M,
        points: &Points<M>,
        covering: &M::Buffer<u32>,
        heads: &mut Heads<M>,
        columns: &mut Columns<M>,
    ) -> Result<()> {
        let count = points.points;
        grow(device, "sums of chunks", &mut self.sums, places(count))?;
        grow(device, "extremes of chunks", &mut self.keys, places(count))?;
        grow(
            device,
            "finished chunks of buckets",
            &mut self.come,
            places(count),
        )?;
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
        device.launch(&long!(SeriesReduceLong, write), work)?;
        if self.methods & methods::STD != 0 {
            device.launch(&long!(SeriesDeviations, read), work)?;
        }
        Ok(())
    }
}
