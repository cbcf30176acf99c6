//! Archive policies: what a store keeps of every series.

#[cfg(test)]
mod tests;
mod written;

use super::super::{Aggregate, Granularity, Method, NanPolicy, Resample};
use super::StoreError;
use std::fmt;

/// Most archives of a policy.
pub const MOST_ARCHIVES: usize = 16;
/// Most aggregates of a policy.
pub const MOST_AGGREGATES: usize = 64;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Buckets of one length, and how many of them are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Archive {
    /// Length of a bucket, nanoseconds.
    pub step: u64,
    /// Buckets that are kept: the one of the last point, and those before it.
    pub buckets: u64,
}

impl Archive {
    /// So many nanoseconds of buckets of so many.
    const fn spanning(step: u64, timespan: u64) -> Self {
        Self {
            step,
            buckets: timespan / step,
        }
    }

    /// Length of a bucket.
    #[must_use]
    pub fn granularity(&self) -> Granularity {
        Granularity::Fixed(self.step)
    }

    /// How far back it reaches, nanoseconds.
    #[must_use]
    pub fn timespan(&self) -> u64 {
        self.step * self.buckets
    }

    /// The first bucket that is kept where the last point is at `last`: its start is later than the last bucket's
    /// less the timespan.
    pub(super) fn first_kept(&self, last: i64) -> u64 {
        (last as u64 / self.step).saturating_sub(self.buckets - 1)
    }
}

impl fmt::Display for Archive {
    /// `1m for 7d`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timespan = Granularity::Fixed(self.timespan());
        write!(f, "{} for {timespan}", self.granularity())
    }
}

/// What a store keeps of every series: archives, the aggregates of their buckets, and how late points may come.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    name: String,
    archives: Vec<Archive>,
    aggregates: Vec<Aggregate>,
    back_window: u64,
}

impl Policy {
    /// Names of those that need no file.
    pub const BUILT_IN: [&'static str; 3] = ["low", "medium", "high"];

    /// `back_window`: buckets of the coarsest granularity, before the one of the last point, that points may still come
    /// for. `aggregates` are those of every archive.
    ///
    /// # Errors
    /// No archive or too many, one twice, lengths of nothing, no aggregates, one twice, or times beyond 2⁶³ ns.
    pub fn new(
        name: String,
        mut archives: Vec<Archive>,
        aggregates: Vec<Aggregate>,
        back_window: u64,
    ) -> Result<Self, StoreError> {
        let refuse = |why: String| {
            Err(StoreError::Policy {
                name: name.clone(),
                why,
            })
        };
        if archives.is_empty() || archives.len() > MOST_ARCHIVES {
            return refuse(format!(
                "has {} archives: 1 to {MOST_ARCHIVES} are expected",
                archives.len()
            ));
        }
        if aggregates.is_empty() || aggregates.len() > MOST_AGGREGATES {
            return refuse(format!(
                "has {} aggregates: 1 to {MOST_AGGREGATES} are expected",
                aggregates.len()
            ));
        }
        for archive in &archives {
            let timespan = archive.step.checked_mul(archive.buckets);
            if !matches!(timespan, Some(1..) if timespan <= Some(i64::MAX as u64)) {
                return refuse(format!(
                    "an archive of {} buckets of {} ns: a timespan of 1 ns to 292 years is expected",
                    archive.buckets, archive.step
                ));
            }
        }
        archives.sort_by_key(|archive| archive.step);
        let coarsest = archives[archives.len() - 1].step;
        if !matches!(coarsest.checked_mul(back_window), Some(window) if window <= i64::MAX as u64) {
            return refuse(format!(
                "back_window is {back_window}: so many buckets of {} are more than 292 years",
                Granularity::Fixed(coarsest)
            ));
        }
        let granularities = archives.iter().map(Archive::granularity).collect();
        if let Err(why) = Resample::new(granularities, aggregates.clone(), NanPolicy::Keep) {
            return refuse(why.to_string());
        }
        Ok(Self {
            name,
            archives,
            aggregates,
            back_window,
        })
    }

    /// Of a name in [`Policy::BUILT_IN`].
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let (archives, back_window) = match name {
            "low" => (vec![Archive::spanning(5 * MINUTE, 30 * DAY)], 12),
            "medium" => (
                vec![
                    Archive::spanning(MINUTE, 7 * DAY),
                    Archive::spanning(HOUR, 365 * DAY),
                ],
                1,
            ),
            "high" => (
                vec![
                    Archive::spanning(SECOND, HOUR),
                    Archive::spanning(MINUTE, 7 * DAY),
                    Archive::spanning(HOUR, 365 * DAY),
                ],
                1,
            ),
            _ => return None,
        };
        let methods = [
            Method::Count,
            Method::Sum,
            Method::Mean,
            Method::Min,
            Method::Max,
            Method::Last,
            Method::Std,
            Method::Percentile(95.0),
        ];
        let aggregates = methods.map(Aggregate::of).to_vec();
        Self::new(name.to_owned(), archives, aggregates, back_window).ok()
    }

    /// Its name, for people: two policies are the same if they keep the same.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// From the finest to the coarsest.
    #[must_use]
    pub fn archives(&self) -> &[Archive] {
        &self.archives
    }

    /// Of every archive, in the order given.
    #[must_use]
    pub fn aggregates(&self) -> &[Aggregate] {
        &self.aggregates
    }

    /// Buckets of the coarsest granularity before the one of the last point.
    #[must_use]
    pub fn back_window(&self) -> u64 {
        self.back_window
    }

    /// What an engine must compute for a store of this policy.
    ///
    /// # Errors
    /// None: it was tried when the policy was made.
    pub fn plan(&self) -> Result<Resample, StoreError> {
        let granularities = self.archives.iter().map(Archive::granularity).collect();
        Ok(Resample::new(
            granularities,
            self.aggregates.clone(),
            NanPolicy::Keep,
        )?)
    }

    /// Whether both keep the same, whatever their names.
    #[must_use]
    pub fn keeps_the_same(&self, other: &Self) -> bool {
        (&self.archives, &self.aggregates, self.back_window)
            == (&other.archives, &other.aggregates, other.back_window)
    }

    pub(super) fn has_rates(&self) -> bool {
        self.aggregates.iter().any(|aggregate| aggregate.rate)
    }

    /// The first moment that points may still come for, where the last point is at `last`; nanoseconds since 1970.
    #[must_use]
    pub fn window_start(&self, last: i64) -> i64 {
        let coarsest = self.archives[self.archives.len() - 1].step;
        let block = (last as u64 / coarsest).saturating_sub(self.back_window);
        (block * coarsest) as i64
    }

    /// The start of the earliest bucket that a point at `time` lies in: to compute its buckets again, points are needed
    /// from there on.
    pub(super) fn reach(&self, time: i64) -> i64 {
        let starts = self
            .archives
            .iter()
            .map(|archive| time as u64 / archive.step * archive.step);
        starts.min().unwrap_or(0) as i64
    }
}

impl fmt::Display for Policy {
    /// `medium (1m for 7d, 1h for 365d; mean, max; back window 1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let archives: Vec<String> = self.archives.iter().map(ToString::to_string).collect();
        let aggregates: Vec<String> = self.aggregates.iter().map(ToString::to_string).collect();
        write!(
            f,
            "{} ({}; {}; back window {})",
            self.name,
            archives.join(", "),
            aggregates.join(", "),
            self.back_window
        )
    }
}
