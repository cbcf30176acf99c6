//! What a stream returns.

use super::StreamError;
use crate::{Aggregate, Granularity};

/// Buckets of one series, granularity and aggregate, in time order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rows<'r> {
    /// Index of the series.
    pub series: usize,
    /// Length of the buckets.
    pub granularity: Granularity,
    /// The aggregate of the values.
    pub aggregate: Aggregate,
    /// (bucket), bucket start in nanoseconds since 1970.
    pub starts: &'r [i64],
    /// (bucket).
    pub values: &'r [f64],
    /// (bucket), number of points, if some buckets may have too few points for the aggregate; these
    /// must be omitted.
    pub counts: Option<&'r [u32]>,
}

impl Rows<'_> {
    /// Starts and values of the buckets that have enough points.
    pub fn present(&self) -> impl Iterator<Item = (i64, f64)> {
        let least = self.aggregate.method.min_values();
        let counts = self.counts;
        let all = self.starts.iter().zip(self.values).enumerate();
        all.filter(move |(bucket, _)| counts.is_none_or(|counts| counts[*bucket] >= least))
            .map(|(_, (start, value))| (*start, *value))
    }
}

/// Consumes aggregates.
pub trait Sink: Send {
    /// Receives rows in the order of the series, the plan's granularities, its aggregates, and
    /// time. Long columns arrive in several calls.
    ///
    /// # Errors
    /// Its own errors, which end the stream; [`StreamError::Stopped`] to stop.
    fn take<'r>(&mut self, rows: &mut dyn Iterator<Item = Rows<'r>>) -> Result<(), StreamError>;
}
