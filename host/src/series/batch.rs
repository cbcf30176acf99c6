//! Points of many series.

use super::SeriesError;

/// Points of several series, one series after another: series s has the points `offsets[s]` to
/// `offsets[s + 1]`.
///
/// Points of a series may have any order. If a timestamp occurs more than once in a series, the
/// first point is used.
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

    /// Returns times, values and offsets.
    #[must_use]
    pub fn into_parts(self) -> (Vec<i64>, Vec<f64>, Vec<usize>) {
        (self.times, self.values, self.offsets)
    }
}
