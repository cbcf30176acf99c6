//! Results: aggregates of buckets.

use super::{Aggregate, Granularity};

/// The results of a plan for a batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resampled {
    /// Buckets of values in the order of the plan's granularities, then buckets of rates in the
    /// same order. Either is missing if the plan has no such aggregates.
    pub buckets: Vec<Buckets>,
    /// Points with the series and time of an earlier one, whether the plan keeps them or not.
    pub duplicates: usize,
    /// Points left out because they are NaN.
    pub skipped: usize,
}

/// The buckets of all series at one granularity.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    /// Length of the buckets.
    pub granularity: Granularity,
    /// Whether these are buckets of rates.
    pub rate: bool,
    /// (series + 1): series s has the buckets `offsets[s]` to `offsets[s + 1]`.
    pub offsets: Vec<usize>,
    /// (bucket), bucket start in nanoseconds since 1970; rising within a series.
    pub starts: Vec<i64>,
    /// (bucket), number of points.
    pub counts: Vec<u32>,
    /// The aggregates, in the order of the plan.
    pub columns: Vec<Column>,
}

/// An aggregate of all buckets.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The aggregate.
    pub aggregate: Aggregate,
    /// (bucket); [`super::Method::Std`] is NaN for buckets with one point. [`Buckets::of`] omits
    /// these.
    pub values: Vec<f64>,
}

impl Buckets {
    /// Starts (nanoseconds since 1970) and aggregates of a series' buckets in time order, without
    /// buckets that have too few points for the aggregate.
    pub fn of<'a>(
        &'a self,
        column: &'a Column,
        series: usize,
    ) -> impl Iterator<Item = (i64, f64)> + 'a {
        let least = column.aggregate.method.min_values();
        (self.offsets[series]..self.offsets[series + 1])
            .filter(move |bucket| self.counts[*bucket] >= least)
            .map(|bucket| (self.starts[bucket], column.values[bucket]))
    }
}
