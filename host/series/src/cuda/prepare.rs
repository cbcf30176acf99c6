//! The host examines a batch before the transfer: it drops NaN if requested, and all but the last
//! point of a time if requested, and determines for every series whether its points are sorted and
//! their range of time.

use crate::{Batch, Duplicates, NanPolicy, SeriesError};
use rayon::prelude::*;
use std::borrow::Cow;

/// Number of points that one thread examines.
const PART_POINTS: usize = 1 << 16;
/// Number of short series that one thread examines.
const SERIES: usize = 256;

/// Order and range of a series' timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimestampStats {
    /// Whether no timestamp follows a later one.
    pub(super) sorted: bool,
    /// Number of timestamps equal to the preceding one.
    pub(super) repeated: usize,
    /// Nanoseconds since 1970; 0 if there are no points.
    pub(super) least: u64,
    /// Nanoseconds since 1970; 0 if there are no points.
    pub(super) greatest: u64,
}

impl TimestampStats {
    const EMPTY: Self = Self {
        sorted: true,
        repeated: 0,
        least: 0,
        greatest: 0,
    };

    fn of(times: &[i64]) -> Self {
        let Some(first) = times.first() else {
            return Self::EMPTY;
        };
        let (mut least, mut greatest) = (*first, *first);
        let (mut falls, mut repeated) = (0_usize, 0_usize);
        for pair in times.windows(2) {
            falls += usize::from(pair[1] < pair[0]);
            repeated += usize::from(pair[1] == pair[0]);
            least = least.min(pair[1]);
            greatest = greatest.max(pair[1]);
        }
        Self {
            sorted: falls == 0,
            repeated,
            least: least as u64,
            greatest: greatest as u64,
        }
    }

    /// Examines a long series with several threads. Each also reads the last point of the preceding
    /// part.
    fn of_long(times: &[i64]) -> Self {
        let parts = (0..times.len().div_ceil(PART_POINTS)).into_par_iter();
        let of_part = |part: usize| {
            let first = (part * PART_POINTS).saturating_sub(1);
            Self::of(&times[first..times.len().min((part + 1) * PART_POINTS)])
        };
        parts
            .map(of_part)
            .reduce_with(Self::combined_with)
            .unwrap_or(Self::EMPTY)
    }

    fn combined_with(self, other: Self) -> Self {
        Self {
            sorted: self.sorted && other.sorted,
            repeated: self.repeated + other.repeated,
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
        }
    }
}

/// A batch without skipped points, and the facts about each of its series.
pub(super) struct Prepared<'a> {
    /// (point), nanoseconds since 1970.
    pub(super) times: Cow<'a, [u64]>,
    /// (point).
    pub(super) values: Cow<'a, [f64]>,
    /// (series + 1).
    pub(super) offsets: Cow<'a, [usize]>,
    /// (series).
    pub(super) stats: Vec<TimestampStats>,
    /// Number of skipped points with NaN.
    pub(super) skipped: usize,
    /// Number of points that were dropped because a later one has the same time.
    pub(super) dropped: usize,
    /// Whether points of the same time are kept.
    pub(super) keeps_duplicates: bool,
}

impl<'a> Prepared<'a> {
    /// Examines a batch.
    ///
    /// # Errors
    /// If host memory is insufficient.
    pub(super) fn new(
        batch: &'a Batch,
        nan: NanPolicy,
        duplicates: Duplicates,
    ) -> Result<Self, SeriesError> {
        if duplicates == Duplicates::Error {
            batch.reject_duplicates(nan)?;
        }
        let mut prepared = Self {
            times: Cow::Borrowed(bytemuck::cast_slice(batch.times())),
            values: Cow::Borrowed(batch.values()),
            offsets: Cow::Borrowed(batch.offsets()),
            stats: Vec::new(),
            skipped: 0,
            dropped: 0,
            keeps_duplicates: duplicates == Duplicates::Keep,
        };
        if nan == NanPolicy::Skip {
            prepared.skip()?;
        }
        prepared.examine()?;
        let may_repeat = |stats: &TimestampStats| stats.repeated > 0 || !stats.sorted;
        if duplicates == Duplicates::Last && prepared.stats.iter().any(may_repeat) {
            prepared.keep_last()?;
            prepared.examine()?;
        }
        Ok(prepared)
    }

    pub(super) fn points(&self) -> usize {
        self.times.len()
    }

    pub(super) fn series(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Drops points with NaN.
    fn skip(&mut self) -> Result<(), SeriesError> {
        let of_part = |values: &[f64]| values.iter().filter(|value| value.is_nan()).count();
        let skipped: usize = self.values.par_chunks(PART_POINTS).map(of_part).sum();
        if skipped == 0 {
            return Ok(());
        }
        let left = self.points() - skipped;
        let mut times = vec_with_capacity(left)?;
        let mut values = vec_with_capacity(left)?;
        let mut offsets = vec_with_capacity(self.offsets.len())?;
        offsets.push(0);
        for pair in self.offsets.windows(2) {
            for point in pair[0]..pair[1] {
                let value = self.values[point];
                if !value.is_nan() {
                    times.push(self.times[point]);
                    values.push(value);
                }
            }
            offsets.push(times.len());
        }
        self.times = Cow::Owned(times);
        self.values = Cow::Owned(values);
        self.offsets = Cow::Owned(offsets);
        self.skipped = skipped;
        Ok(())
    }

    /// Sorts the points of every series by time, and drops all but the last of each time.
    fn keep_last(&mut self) -> Result<(), SeriesError> {
        let mut times = vec_with_capacity(self.points())?;
        let mut values = vec_with_capacity(self.points())?;
        let mut offsets = vec_with_capacity(self.offsets.len())?;
        let mut points: Vec<(u64, f64)> = Vec::new();
        offsets.push(0);
        for (pair, stats) in self.offsets.windows(2).zip(&self.stats) {
            let range = pair[0]..pair[1];
            let of_series = self.times[range.clone()].iter().zip(&self.values[range]);
            points.clear();
            points.extend(of_series.map(|(time, value)| (*time, *value)));
            if !stats.sorted {
                points.par_sort_by_key(|point| point.0);
            }
            for (position, (time, value)) in points.iter().enumerate() {
                if points.get(position + 1).is_none_or(|next| next.0 != *time) {
                    times.push(*time);
                    values.push(*value);
                }
            }
            offsets.push(times.len());
        }
        self.dropped = self.points() - times.len();
        self.times = Cow::Owned(times);
        self.values = Cow::Owned(values);
        self.offsets = Cow::Owned(offsets);
        Ok(())
    }

    fn examine(&mut self) -> Result<(), SeriesError> {
        let times: &[i64] = bytemuck::cast_slice(&self.times);
        let mut stats = vec_with_capacity(self.series())?;
        let pairs = self.offsets.par_windows(2).with_min_len(SERIES);
        let of_series = |pair: &[usize]| match &times[pair[0]..pair[1]] {
            long if long.len() > 2 * PART_POINTS => TimestampStats::of_long(long),
            short => TimestampStats::of(short),
        };
        pairs.map(of_series).collect_into_vec(&mut stats);
        self.stats = stats;
        Ok(())
    }
}

/// An empty vector with the given capacity.
pub(super) fn vec_with_capacity<T>(len: usize) -> Result<Vec<T>, SeriesError> {
    let mut vector = Vec::new();
    vector
        .try_reserve_exact(len)
        .map_err(|_| SeriesError::HostMemory {
            what: "points and buckets",
            needed: len.saturating_mul(size_of::<T>()),
        })?;
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_long_series_are_combined() {
        let rising: Vec<i64> = (0..3 * PART_POINTS as i64).collect();
        let mut falls = rising.clone();
        // At the boundary between two threads' parts.
        falls.swap(PART_POINTS - 1, PART_POINTS);
        let mut repeats = rising.clone();
        repeats[2 * PART_POINTS] = repeats[2 * PART_POINTS - 1];
        for (times, sorted, repeated) in
            [(&rising, true, 0), (&falls, false, 0), (&repeats, true, 1)]
        {
            let stats = TimestampStats::of_long(times);
            assert_eq!(stats, TimestampStats::of(times));
            assert_eq!((stats.sorted, stats.repeated), (sorted, repeated));
            assert_eq!(
                (stats.least, stats.greatest),
                (0, 3 * PART_POINTS as u64 - 1)
            );
        }
    }

    #[test]
    fn skipping_points_keeps_the_order_of_series() {
        let nan = f64::NAN;
        let batch = Batch::new(
            vec![5, 4, 9, 9, 1],
            vec![nan, 1.0, nan, 2.0, nan],
            vec![0, 2, 2, 4, 5],
        )
        .unwrap();
        let prepared = Prepared::new(&batch, NanPolicy::Skip, Duplicates::Keep).unwrap();
        assert_eq!(*prepared.times, [4, 9]);
        assert_eq!(*prepared.values, [1.0, 2.0]);
        assert_eq!(*prepared.offsets, [0, 1, 1, 2, 2]);
        assert_eq!(prepared.skipped, 3);
        let sorted: Vec<bool> = prepared.stats.iter().map(|stats| stats.sorted).collect();
        assert_eq!(sorted, [true; 4]);
        let kept = Prepared::new(&batch, NanPolicy::Keep, Duplicates::Keep).unwrap();
        assert_eq!(kept.points(), 5);
        assert_eq!((kept.stats[0].sorted, kept.stats[2].repeated), (false, 1));
    }
}
