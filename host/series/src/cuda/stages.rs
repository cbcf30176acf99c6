//! The stages of the device, and the buffers of their results.

use super::buckets::OnePass;
use super::duplicates::Duplicates;
use super::order::Order;
use super::output_columns::OutputColumns;
use super::rates::Rates;
use super::resident::{Columns, Heads, Points};
use super::sort::{Sort, TimestampCheck};
use warpstride_cuda::gpu::{Device, Result};
use warpstride_kernels::series::bucket::Bucketing;
use warpstride_kernels::series::sums::SHORT;

/// Buffers of the stages that process points.
pub(super) struct Stages<M: Device> {
    sort: Sort<M>,
    duplicates: Duplicates<M>,
    rates: Rates<M>,
}

impl<M: Device> Stages<M> {
    /// Makes empty buffers.
    pub(super) fn new(device: &M) -> Result<Self> {
        Ok(Self {
            sort: Sort::new(device)?,
            duplicates: Duplicates::new(device)?,
            rates: Rates::new(device)?,
        })
    }

    /// Sorts the points of every series by time.
    pub(super) fn sort(&mut self, device: &M, points: &mut Points<M>) -> Result<()> {
        let check = TimestampCheck::of(device, points)?;
        self.sort.queue(device, points, check.varying)
    }

    /// Removes points for which an earlier point of the series has the same time.
    pub(super) fn drop_duplicates(&mut self, device: &M, points: &mut Points<M>) -> Result<()> {
        self.duplicates.drop_from(device, points).map(drop)
    }

    /// Computes the differences of sorted points.
    pub(super) fn rates(
        &mut self,
        device: &M,
        points: &Points<M>,
        rates: &mut Points<M>,
    ) -> Result<()> {
        self.rates.queue(device, points, rates)
    }
}

/// Buckets and aggregates of one granularity.
pub(super) struct Table<M: Device> {
    pub(super) heads: Heads<M>,
    pub(super) columns: Columns<M>,
    /// (window of 32 points), the bucket of the window's first point.
    covering: M::Buffer<u32>,
}

/// Buckets and aggregates of values, or of rates.
pub(super) struct Tables<M: Device> {
    /// Index of the first table among the results.
    pub(super) first: usize,
    /// (granularity).
    pub(super) tables: Vec<Table<M>>,
    one_pass: OnePass<M>,
    order: Order<M>,
}

impl<M: Device> Tables<M> {
    /// Makes empty buffers.
    pub(super) fn new(
        device: &M,
        first: usize,
        granularities: usize,
        outputs: &OutputColumns,
    ) -> Result<Self> {
        let table = |_| {
            Ok(Table {
                heads: Heads::with_capacity(device, 0, 0)?,
                columns: Columns::with_capacity(device, 0, outputs.columns())?,
                covering: device.alloc("buckets of points", 0)?,
            })
        };
        Ok(Self {
            first,
            tables: (0..granularities).map(table).collect::<Result<_>>()?,
            one_pass: OnePass::new(device, &outputs.one_pass)?,
            order: Order::new(device, &outputs.ordered, outputs.one_pass.len())?,
        })
    }

    /// Finds the first points of series, which all granularities need.
    pub(super) fn series(&mut self, device: &M, points: &Points<M>) -> Result<()> {
        self.one_pass.queue_series(device, points)
    }

    /// Finds the buckets of a granularity and computes the one-pass methods.
    pub(super) fn one_pass(
        &mut self,
        device: &M,
        points: &Points<M>,
        granularity: usize,
        rule: Bucketing,
    ) -> Result<()> {
        let table = &mut self.tables[granularity];
        let (heads, columns) = (&mut table.heads, &mut table.columns);
        self.one_pass
            .queue(device, points, rule, heads, &mut table.covering, columns)
    }

    /// Computes the one-pass methods of buckets with more than 32 points, and the length of the
    /// longest bucket, if `longest`, the known bound, allows such buckets and the result is needed.
    /// Returns whether the host needs that length.
    pub(super) fn long(
        &mut self,
        device: &M,
        points: &Points<M>,
        granularity: usize,
        longest: usize,
    ) -> Result<bool> {
        let ordered = !self.order.is_empty();
        if longest <= SHORT || (self.one_pass.is_empty() && !ordered) {
            return Ok(false);
        }
        let table = &mut self.tables[granularity];
        let (heads, columns) = (&mut table.heads, &mut table.columns);
        self.one_pass
            .queue_long(device, points, &table.covering, heads, columns)?;
        Ok(ordered)
    }

    /// Computes the order statistics; no bucket has more than `longest` points.
    pub(super) fn order(
        &mut self,
        device: &M,
        points: &Points<M>,
        granularity: usize,
        longest: usize,
    ) -> Result<()> {
        let table = &mut self.tables[granularity];
        let (heads, columns) = (&table.heads, &mut table.columns);
        self.order
            .queue(device, points, &table.covering, heads, columns, longest)
    }
}

impl<M: Device> Table<M> {
    /// Makes the buffers large enough for the given numbers of buckets and series.
    pub(super) fn reserve(&mut self, device: &M, buckets: usize, series: usize) -> Result<()> {
        self.heads.reserve(device, buckets, series)?;
        self.columns.reserve(device, buckets)
    }
}
