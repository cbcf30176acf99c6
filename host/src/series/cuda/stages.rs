//! The stages of the device, and the buffers that their results come to.

use super::buckets::OnePass;
use super::duplicates::Duplicates;
use super::order::Order;
use super::rates::Rates;
use super::resident::{Columns, Heads, Points};
use super::sort::{Sort, Survey};
use super::wanted::Wanted;
use crate::gpu::{Machine, Result};
use warpstride_kernels::series::bucket::Bucketing;
use warpstride_kernels::series::sums::SHORT;

/// What stages of points keep.
pub(super) struct Stages<M: Machine> {
    sort: Sort<M>,
    duplicates: Duplicates<M>,
    rates: Rates<M>,
}

impl<M: Machine> Stages<M> {
    /// Without memory.
    pub(super) fn new(machine: &M) -> Result<Self> {
        Ok(Self {
            sort: Sort::new(machine)?,
            duplicates: Duplicates::new(machine)?,
            rates: Rates::new(machine)?,
        })
    }

    /// Brings the points of every series in the order of time.
    pub(super) fn sort(&mut self, machine: &M, points: &mut Points<M>) -> Result<()> {
        let survey = Survey::of(machine, points)?;
        self.sort.queue(machine, points, survey.varying)
    }

    /// Leaves out points at whose time another one of the series stands before.
    pub(super) fn drop_duplicates(&mut self, machine: &M, points: &mut Points<M>) -> Result<()> {
        self.duplicates.drop_from(machine, points).map(drop)
    }

    /// Differences of sorted points.
    pub(super) fn rates(
        &mut self,
        machine: &M,
        points: &Points<M>,
        rates: &mut Points<M>,
    ) -> Result<()> {
        self.rates.queue(machine, points, rates)
    }
}

/// Buckets and aggregates of one granularity.
pub(super) struct Table<M: Machine> {
    pub(super) heads: Heads<M>,
    pub(super) columns: Columns<M>,
    /// (window of 32 points), the bucket that its first point lies in.
    covering: M::Buffer<u32>,
}

/// Buckets and aggregates of values, or of rates.
pub(super) struct Tables<M: Machine> {
    /// Place of the first among the results.
    pub(super) first: usize,
    /// (granularity).
    pub(super) of: Vec<Table<M>>,
    one_pass: OnePass<M>,
    order: Order<M>,
}

impl<M: Machine> Tables<M> {
    /// Without memory.
    pub(super) fn new(
        machine: &M,
        first: usize,
        granularities: usize,
        wanted: &Wanted,
    ) -> Result<Self> {
        let table = |_| {
            Ok(Table {
                heads: Heads::with_room(machine, 0, 0)?,
                columns: Columns::with_room(machine, 0, wanted.columns())?,
                covering: machine.alloc("buckets of points", 0)?,
            })
        };
        Ok(Self {
            first,
            of: (0..granularities).map(table).collect::<Result<_>>()?,
            one_pass: OnePass::new(machine, &wanted.one_pass)?,
            order: Order::new(machine, &wanted.of_order, wanted.one_pass.len())?,
        })
    }

    /// Where series begin, which all granularities need.
    pub(super) fn series(&mut self, machine: &M, points: &Points<M>) -> Result<()> {
        self.one_pass.queue_series(machine, points)
    }

    /// Where the buckets of a granularity begin, and the methods of one pass.
    pub(super) fn one_pass(
        &mut self,
        machine: &M,
        points: &Points<M>,
        granularity: usize,
        rule: Bucketing,
    ) -> Result<()> {
        let table = &mut self.of[granularity];
        let (heads, columns) = (&mut table.heads, &mut table.columns);
        self.one_pass
            .queue(machine, points, rule, heads, &mut table.covering, columns)
    }

    /// The methods of one pass of buckets of more than 32 points, and their greatest length, where `longest`, as it is
    /// known, says that there are any and somebody wants it. Whether the host needs that length.
    pub(super) fn long(
        &mut self,
        machine: &M,
        points: &Points<M>,
        granularity: usize,
        longest: usize,
    ) -> Result<bool> {
        let ordered = !self.order.is_empty();
        if longest <= SHORT || (self.one_pass.is_empty() && !ordered) {
            return Ok(false);
        }
        let table = &mut self.of[granularity];
        let (heads, columns) = (&mut table.heads, &mut table.columns);
        self.one_pass
            .queue_long(machine, points, &table.covering, heads, columns)?;
        Ok(ordered)
    }

    /// Order statistics; no bucket has more than `longest` points.
    pub(super) fn order(
        &mut self,
        machine: &M,
        points: &Points<M>,
        granularity: usize,
        longest: usize,
    ) -> Result<()> {
        let table = &mut self.of[granularity];
        let (heads, columns) = (&table.heads, &mut table.columns);
        self.order
            .queue(machine, points, &table.covering, heads, columns, longest)
    }
}

impl<M: Machine> Table<M> {
    /// Room for so many buckets.
    pub(super) fn reserve(&mut self, machine: &M, buckets: usize, series: usize) -> Result<()> {
        self.heads.reserve(machine, buckets, series)?;
        self.columns.reserve(machine, buckets)
    }
}
