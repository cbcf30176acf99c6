//! Aggregates of buckets.

use super::{Aggregate, Granularity};

/// What a plan made of a batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resampled {
    /// Those of the values in the order of the plan's granularities, then those of the rates in this order; where the
    /// plan has no aggregates of the one or the other they are left out.
    pub buckets: Vec<Buckets>,
    /// Points that were left out because one of the same series and time stood before them.
    pub duplicates: usize,
    /// Points that were left out because they were NaN.
    pub skipped: usize,
}

/// All series' buckets of one granularity.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    /// Their length.
    pub granularity: Granularity,
    /// Whether they are of rates.
    pub rate: bool,
    /// (series + 1): buckets of series s are those from `offsets[s]` to `offsets[s + 1]`.
    pub offsets: Vec<usize>,
    /// (bucket), first moment in nanoseconds since 1970; rises within a series.
    pub starts: Vec<i64>,
    /// (bucket), points.
    pub counts: Vec<u32>,
    /// In the order of the plan.
    pub columns: Vec<Column>,
}

/// One aggregate of all buckets.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Which.
    pub aggregate: Aggregate,
    /// (bucket); of [`super::Method::Std`] NaN where the bucket has one point. Use [`Buckets::of`] to leave such out.
    pub values: Vec<f64>,
}

impl Buckets {
    /// First moments (nanoseconds since 1970) and aggregates of a series' buckets, in the order of time, without
    /// those that have none.
    pub fn of<'a>(
        &'a self,
        column: &'a Column,
        series: usize,
    ) -> impl Iterator<Item = (i64, f64)> + 'a {
        let least = column.aggregate.method.least_values();
        (self.offsets[series]..self.offsets[series + 1])
            .filter(move |bucket| self.counts[*bucket] >= least)
            .map(|bucket| (self.starts[bucket], column.values[bucket]))
    }
}
