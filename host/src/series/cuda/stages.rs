//! The stages of the device in their order, and the buffers that their results come to.

use super::resident::{Columns, Heads, Points};
use super::wanted::Wanted;
use crate::gpu::{Machine, Result};
use warpstride_kernels::series::bucket::Bucketing;

/// Buckets and aggregates of one granularity.
pub(super) struct Table<M: Machine> {
    pub(super) heads: Heads<M>,
    pub(super) columns: Columns<M>,
}

/// Buckets and aggregates of values, or of rates.
pub(super) struct Tables<M: Machine> {
    /// Place of the first among the results.
    pub(super) first: usize,
    /// (granularity).
    pub(super) of: Vec<Table<M>>,
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
            })
        };
        let of = (0..granularities).map(table).collect::<Result<_>>()?;
        Ok(Self { first, of })
    }
}

impl<M: Machine> Table<M> {
    /// Room for so many buckets.
    pub(super) fn reserve(&mut self, machine: &M, buckets: usize, series: usize) -> Result<()> {
        self.heads.reserve(machine, buckets, series)?;
        self.columns.reserve(machine, buckets)
    }
}

/// What the stages keep.
pub(super) struct Stages<M: Machine> {
    kept: M::Buffer<u32>,
}

impl<M: Machine> Stages<M> {
    /// Without memory.
    pub(super) fn new(machine: &M) -> Result<Self> {
        Ok(Self {
            kept: machine.alloc("", 0)?,
        })
    }

    /// Brings the points of every series in the order of time.
    pub(super) fn sort(&mut self, machine: &M, points: &mut Points<M>) -> Result<()> {
        Ok(())
    }

    /// Leaves out points at whose time another one of the series stands before; how many are left.
    pub(super) fn drop_duplicates(&mut self, machine: &M, points: &mut Points<M>) -> Result<usize> {
        Ok(points.points)
    }

    /// Differences of sorted points.
    pub(super) fn rates(
        &mut self,
        machine: &M,
        points: &Points<M>,
        rates: &mut Points<M>,
    ) -> Result<()> {
        Ok(())
    }

    /// Where the buckets of a granularity begin.
    pub(super) fn heads(
        &mut self,
        machine: &M,
        points: &Points<M>,
        rule: Bucketing,
        table: &mut Table<M>,
    ) -> Result<()> {
        Ok(())
    }

    /// Methods of one pass.
    pub(super) fn reduce(
        &mut self,
        machine: &M,
        points: &Points<M>,
        wanted: &Wanted,
        table: &mut Table<M>,
    ) -> Result<()> {
        Ok(())
    }

    /// Order statistics.
    pub(super) fn order(
        &mut self,
        machine: &M,
        points: &Points<M>,
        wanted: &Wanted,
        table: &mut Table<M>,
    ) -> Result<()> {
        Ok(())
    }
}
