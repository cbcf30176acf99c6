//! Archive policies: what a store keeps of every series.

mod file;
#[cfg(test)]
mod tests;

use super::super::{Aggregate, Granularity, Method, NanPolicy, Resample};
use super::StoreError;
use std::fmt;

/// Largest number of archives in a policy.
pub const MAX_ARCHIVES: usize = 16;
/// Largest number of aggregates in a policy.
pub const MAX_AGGREGATES: usize = 64;

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A bucket length, and how many buckets are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Archive {
    /// Length of a bucket in nanoseconds.
    pub step: u64,
    /// Number of buckets kept: the bucket of the last point, and those before it.
    pub buckets: u64,
}

impl Archive {
    /// An archive of `timespan` nanoseconds with buckets of `step` nanoseconds.
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

    /// Length of the kept period in nanoseconds.
    #[must_use]
    pub fn timespan(&self) -> u64 {
        self.step * self.buckets
    }

    /// Index of the first bucket kept if the last point is at `last`: its start is later than the
    /// start of the last bucket minus the timespan.
    pub(super) fn first_kept(&self, last: i64) -> u64 {
        (last as u64 / self.step).saturating_sub(self.buckets - 1)
    }
}

impl fmt::Display for Archive {
    /// Formats as `1m for 7d`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timespan = Granularity::Fixed(self.timespan());
        write!(f, "{} for {timespan}", self.granularity())
    }
}

/// What a store keeps of every series: archives, the aggregates of their buckets, and how late
/// points may arrive.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    name: String,
    archives: Vec<Archive>,
    aggregates: Vec<Aggregate>,
    back_window: u64,
}

impl Policy {
    /// Names of the built-in policies.
    pub const BUILT_IN: [&'static str; 3] = ["low", "medium", "high"];

    /// Makes a policy. `back_window`: number of buckets of the coarsest granularity, before the
    /// bucket of the last point, for which points are still accepted. `aggregates` apply to every
    /// archive.
    ///
    /// # Errors
    /// If there are no archives or too many, repeated archives, empty lengths, no aggregates,
    /// repeated aggregates, or times beyond 2⁶³ ns.
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
        if archives.is_empty() || archives.len() > MAX_ARCHIVES {
            return refuse(format!(
                "archive: expected 1 to {MAX_ARCHIVES}, found {}",
                archives.len()
            ));
        }
        if aggregates.is_empty() || aggregates.len() > MAX_AGGREGATES {
            return refuse(format!(
                "aggregates: expected 1 to {MAX_AGGREGATES}, found {}",
                aggregates.len()
            ));
        }
        for archive in &archives {
            let timespan = archive.step.checked_mul(archive.buckets);
            if !matches!(timespan, Some(1..) if timespan <= Some(i64::MAX as u64)) {
                return refuse(format!(
                    "archive: expected a timespan of 1 ns to 292 years, found {} buckets of {} ns",
                    archive.buckets, archive.step
                ));
            }
        }
        archives.sort_by_key(|archive| archive.step);
        let coarsest = archives[archives.len() - 1].step;
        if !matches!(coarsest.checked_mul(back_window), Some(window) if window <= i64::MAX as u64) {
            return refuse(format!(
                "back_window: expected at most 292 years of buckets of {}, found {back_window}",
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

    /// The policy with a name in [`Policy::BUILT_IN`].
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

    /// The name, for display: policies are compared by their contents only.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The archives from the finest to the coarsest.
    #[must_use]
    pub fn archives(&self) -> &[Archive] {
        &self.archives
    }

    /// The aggregates of every archive, in the given order.
    #[must_use]
    pub fn aggregates(&self) -> &[Aggregate] {
        &self.aggregates
    }

    /// Number of buckets of the coarsest granularity before the bucket of the last point.
    #[must_use]
    pub fn back_window(&self) -> u64 {
        self.back_window
    }

    /// The plan of an engine for a store with this policy.
    ///
    /// # Errors
    /// None: [`Policy::new`] has checked the plan.
    pub fn plan(&self) -> Result<Resample, StoreError> {
        let granularities = self.archives.iter().map(Archive::granularity).collect();
        Ok(Resample::new(
            granularities,
            self.aggregates.clone(),
            NanPolicy::Keep,
        )?)
    }

    /// Whether both policies keep the same, regardless of their names.
    #[must_use]
    pub fn same_contents(&self, other: &Self) -> bool {
        (&self.archives, &self.aggregates, self.back_window)
            == (&other.archives, &other.aggregates, other.back_window)
    }

    pub(super) fn has_rates(&self) -> bool {
        self.aggregates.iter().any(|aggregate| aggregate.rate)
    }

    /// Start of the back window if the last point is at `last`; nanoseconds since 1970.
    #[must_use]
    pub fn window_start(&self, last: i64) -> i64 {
        let coarsest = self.archives[self.archives.len() - 1].step;
        let block = (last as u64 / coarsest).saturating_sub(self.back_window);
        (block * coarsest) as i64
    }

    /// Start of the earliest bucket that contains `time`: recomputing the buckets of `time` needs
    /// the points from there on.
    pub(super) fn reach(&self, time: i64) -> i64 {
        let starts = self
            .archives
            .iter()
            .map(|archive| time as u64 / archive.step * archive.step);
        starts.min().unwrap_or(0) as i64
    }
}

impl fmt::Display for Policy {
    /// Formats as `medium (1m for 7d, 1h for 365d; mean, max; back window 1)`.
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
