//! Aggregates to write.

use crate::{Aggregate, BucketAxis, Buckets, Column, Granularity, Resampled, Zone};

/// The format of timestamps in CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timestamps {
    /// Nanoseconds since 1970, in the column `timestamp_ns`.
    #[default]
    Nanoseconds,
    /// ISO 8601 in UTC, in the column `timestamp`.
    Iso,
    /// ISO 8601 with the offset of a zone, in the column `timestamp`.
    Local(Zone),
}

/// Buckets of one series, granularity and aggregate, in time order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run<'r> {
    /// Name of the series.
    pub series: &'r str,
    /// Length of the buckets.
    pub granularity: Granularity,
    /// The aggregate of the values.
    pub aggregate: Aggregate,
    /// (bucket), bucket start in nanoseconds since 1970.
    pub starts: &'r [i64],
    /// (bucket).
    pub values: &'r [f64],
    /// (bucket), number of points; buckets with too few points for the aggregate are omitted.
    /// `None` if there are none.
    pub counts: Option<&'r [u32]>,
    /// The axis of `starts`; `None`: they are nanoseconds since 1970, UTC.
    pub axis: Option<BucketAxis>,
}

impl<'r> Run<'r> {
    /// The runs of a result: series by series in the order of `names`, each with its granularities
    /// and aggregates in the order of the result.
    pub fn all<'n: 'r, N: AsRef<str>>(
        names: &'n [N],
        resampled: &'r Resampled,
    ) -> impl Iterator<Item = Self> {
        names.iter().enumerate().flat_map(move |(series, name)| {
            resampled.buckets.iter().flat_map(move |buckets| {
                let columns = buckets.columns.iter();
                columns.filter_map(move |column| Self::of(name.as_ref(), series, buckets, column))
            })
        })
    }

    fn of(name: &'r str, series: usize, buckets: &'r Buckets, column: &'r Column) -> Option<Self> {
        let range = *buckets.offsets.get(series)?..*buckets.offsets.get(series + 1)?;
        Some(Self {
            series: name,
            granularity: buckets.granularity,
            aggregate: column.aggregate,
            starts: buckets.starts.get(range.clone())?,
            values: column.values.get(range.clone())?,
            counts: buckets.counts.get(range),
            axis: None,
        })
    }

    /// A range of its buckets.
    pub(super) fn part(&self, from: usize, end: usize) -> Self {
        Self {
            starts: &self.starts[from..end],
            values: &self.values[from..end],
            counts: self.counts.and_then(|counts| counts.get(from..end)),
            ..*self
        }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len().min(self.values.len())
    }

    /// Starts and values of the buckets to write.
    pub(super) fn rows(&self) -> impl Iterator<Item = (i64, f64)> {
        let least = self.aggregate.method.min_values();
        let (counts, axis) = (self.counts, self.axis);
        let enough = move |bucket: usize| {
            counts.is_none_or(|counts| counts.get(bucket).is_none_or(|n| *n >= least))
        };
        self.starts
            .iter()
            .zip(self.values)
            .enumerate()
            .filter(move |(bucket, _)| enough(*bucket))
            .map(move |(_, (start, value))| {
                (axis.map_or(*start, |axis| axis.start(*start)), *value)
            })
    }
}

/// The bucket length for the column `granularity_s`: seconds, or a calendar letter.
pub(super) fn seconds(granularity: Granularity) -> String {
    match granularity {
        Granularity::Fixed(nanoseconds) => {
            let (whole, part) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
            let text = format!("{whole}.{part:09}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Granularity::Calendar(_) => granularity.to_string(),
    }
}
