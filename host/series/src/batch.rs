//! Points of many series.

use super::{NanPolicy, SeriesError};
use rayon::prelude::*;

/// Points of several series, one series after another: series s has the points `offsets[s]` to
/// `offsets[s + 1]`.
///
/// Points of a series may have any order; those of the same time have that of the batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    times: Vec<i64>,
    values: Vec<f64>,
    offsets: Vec<usize>,
}

impl Batch {
    /// Makes a batch of `times`: (point), nanoseconds since 1970; `values`: (point); `offsets`:
    /// (series + 1), from 0 to the number of points.
    ///
    /// # Errors
    /// If the lengths disagree, the offsets do not rise from 0 to the number of points, or a
    /// timestamp is before 1970.
    pub fn new(
        times: Vec<i64>,
        values: Vec<f64>,
        offsets: Vec<usize>,
    ) -> Result<Self, SeriesError> {
        if times.len() != values.len() {
            return Err(SeriesError::Batch(format!(
                "expected a value for each of {} timestamps, found {}",
                times.len(),
                values.len()
            )));
        }
        let rises = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        if offsets.first() != Some(&0) || offsets.last() != Some(&times.len()) || !rises {
            return Err(SeriesError::Batch(format!(
                "offsets of series must rise from 0 to the number of points, {}",
                times.len()
            )));
        }
        if let Some(point) = times.iter().position(|time| *time < 0) {
            return Err(SeriesError::Negative {
                point,
                time: times[point],
            });
        }
        Ok(Self {
            times,
            values,
            offsets,
        })
    }

    /// Makes a batch of one series.
    ///
    /// # Errors
    /// The same as of [`Batch::new`].
    pub fn single(times: Vec<i64>, values: Vec<f64>) -> Result<Self, SeriesError> {
        let points = times.len();
        Self::new(times, values, vec![0, points])
    }

    /// Timestamps: (point), nanoseconds since 1970.
    #[must_use]
    pub fn times(&self) -> &[i64] {
        &self.times
    }

    /// Values: (point).
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Offsets: (series + 1), first points of the series.
    #[must_use]
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Number of points of all series.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether the batch has no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Number of series.
    #[must_use]
    pub fn series(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Fails if two points of a series have the same time.
    ///
    /// # Errors
    /// [`SeriesError::SameTime`].
    pub(super) fn reject_duplicates(&self, nan: NanPolicy) -> Result<(), SeriesError> {
        let repeated = |series: usize| {
            let points = self.offsets[series]..self.offsets[series + 1];
            let kept = |point: &usize| nan == NanPolicy::Keep || !self.values[*point].is_nan();
            let mut times: Vec<i64> = points.filter(kept).map(|p| self.times[p]).collect();
            if !times.is_sorted() {
                times.sort_unstable();
            }
            let pair = times.windows(2).find(|pair| pair[0] == pair[1])?;
            Some(SeriesError::SameTime {
                series,
                time: pair[0],
            })
        };
        let series = (0..self.series()).into_par_iter();
        series.find_map_first(repeated).map_or(Ok(()), Err)
    }

    /// Returns times, values and offsets.
    #[must_use]
    pub fn into_parts(self) -> (Vec<i64>, Vec<f64>, Vec<usize>) {
        (self.times, self.values, self.offsets)
    }
}
