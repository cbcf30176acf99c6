//! What the host learns of a batch before any of it travels: points that are skipped, and of every series whether its
//! points stand in order and between which times.

use crate::series::{Batch, NanPolicy, SeriesError};
use rayon::prelude::*;
use std::borrow::Cow;

/// Points that one thread looks at.
const LOOK: usize = 1 << 16;
/// Series that one thread looks at, where they are short.
const SERIES: usize = 256;

/// What one look at a series' timestamps shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// No timestamp stands after a greater one.
    pub(super) sorted: bool,
    /// Timestamps that equal the one before.
    pub(super) repeated: usize,
    /// Nanoseconds since 1970; 0 where there are no points.
    pub(super) least: u64,
    /// Nanoseconds since 1970; 0 where there are no points.
    pub(super) greatest: u64,
}

impl Look {
    const NOTHING: Self = Self {
        sorted: true,
        repeated: 0,
        least: 0,
        greatest: 0,
    };

    fn at(times: &[i64]) -> Self {
        let Some(first) = times.first() else {
            return Self::NOTHING;
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

    /// Of a long series, by several threads. Each looks at the last point of the part before too.
    fn at_long(times: &[i64]) -> Self {
        let parts = (0..times.len().div_ceil(LOOK)).into_par_iter();
        let of_part = |part: usize| {
            let first = (part * LOOK).saturating_sub(1);
            Self::at(&times[first..times.len().min((part + 1) * LOOK)])
        };
        parts
            .map(of_part)
            .reduce_with(Self::and)
            .unwrap_or(Self::NOTHING)
    }

    fn and(self, other: Self) -> Self {
        Self {
            sorted: self.sorted && other.sorted,
            repeated: self.repeated + other.repeated,
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
        }
    }
}

/// A batch without skipped points, and a look at each of its series.
pub(super) struct Prepared<'a> {
    /// (point), nanoseconds since 1970.
    pub(super) times: Cow<'a, [u64]>,
    /// (point).
    pub(super) values: Cow<'a, [f64]>,
    /// (series + 1).
    pub(super) offsets: Cow<'a, [usize]>,
    /// (series).
    pub(super) looks: Vec<Look>,
    /// Points that were NaN.
    pub(super) skipped: usize,
}

impl<'a> Prepared<'a> {
    /// Looks at a batch.
    ///
    /// # Errors
    /// Out of host memory.
    pub(super) fn new(batch: &'a Batch, nan: NanPolicy) -> Result<Self, SeriesError> {
        let mut prepared = Self {
            times: Cow::Borrowed(bytemuck::cast_slice(batch.times())),
            values: Cow::Borrowed(batch.values()),
            offsets: Cow::Borrowed(batch.offsets()),
            looks: Vec::new(),
            skipped: 0,
        };
        if nan == NanPolicy::Skip {
            prepared.skip()?;
        }
        prepared.look()?;
        Ok(prepared)
    }

    pub(super) fn points(&self) -> usize {
        self.times.len()
    }

    pub(super) fn series(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Leaves out points that are NaN.
    fn skip(&mut self) -> Result<(), SeriesError> {
        let of_part = |values: &[f64]| values.iter().filter(|value| value.is_nan()).count();
        let skipped: usize = self.values.par_chunks(LOOK).map(of_part).sum();
        if skipped == 0 {
            return Ok(());
        }
        let left = self.points() - skipped;
        let mut times = room(left)?;
        let mut values = room(left)?;
        let mut offsets = room(self.offsets.len())?;
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

    fn look(&mut self) -> Result<(), SeriesError> {
        let times: &[i64] = bytemuck::cast_slice(&self.times);
        let mut looks = room(self.series())?;
        let pairs = self.offsets.par_windows(2).with_min_len(SERIES);
        let of_series = |pair: &[usize]| match &times[pair[0]..pair[1]] {
            long if long.len() > 2 * LOOK => Look::at_long(long),
            short => Look::at(short),
        };
        pairs.map(of_series).collect_into_vec(&mut looks);
        self.looks = looks;
        Ok(())
    }
}

/// An empty vector with room for so many.
pub(super) fn room<T>(len: usize) -> Result<Vec<T>, SeriesError> {
    let mut room = Vec::new();
    room.try_reserve_exact(len)
        .map_err(|_| SeriesError::HostMemory {
            what: "points and buckets",
            needed: len.saturating_mul(size_of::<T>()),
        })?;
    Ok(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_is_seen_as_a_whole() {
        let rising: Vec<i64> = (0..3 * LOOK as i64).collect();
        let mut falls = rising.clone();
        // Between two threads' parts.
        falls.swap(LOOK - 1, LOOK);
        let mut repeats = rising.clone();
        repeats[2 * LOOK] = repeats[2 * LOOK - 1];
        for (times, sorted, repeated) in
            [(&rising, true, 0), (&falls, false, 0), (&repeats, true, 1)]
        {
            let look = Look::at_long(times);
            assert_eq!(look, Look::at(times));
            assert_eq!((look.sorted, look.repeated), (sorted, repeated));
            assert_eq!((look.least, look.greatest), (0, 3 * LOOK as u64 - 1));
        }
    }

    #[test]
    fn skipped_points_leave_series_where_they_were() {
        let nan = f64::NAN;
        let batch = Batch::new(
            vec![5, 4, 9, 9, 1],
            vec![nan, 1.0, nan, 2.0, nan],
            vec![0, 2, 2, 4, 5],
        )
        .unwrap();
        let prepared = Prepared::new(&batch, NanPolicy::Skip).unwrap();
        assert_eq!(*prepared.times, [4, 9]);
        assert_eq!(*prepared.values, [1.0, 2.0]);
        assert_eq!(*prepared.offsets, [0, 1, 1, 2, 2]);
        assert_eq!(prepared.skipped, 3);
        let sorted: Vec<bool> = prepared.looks.iter().map(|look| look.sorted).collect();
        assert_eq!(sorted, [true; 4]);
        let kept = Prepared::new(&batch, NanPolicy::Keep).unwrap();
        assert_eq!(kept.points(), 5);
        assert_eq!((kept.looks[0].sorted, kept.looks[2].repeated), (false, 1));
    }
}
