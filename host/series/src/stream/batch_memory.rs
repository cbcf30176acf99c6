//! What memory a portion takes.

use crate::{Calendar, Granularity, Resample};

/// Bytes of a point that is gathered: time, value, series, and the same once more while they are
/// put in order.
pub(super) const GATHERED: u64 = 48;
/// Bytes of a point in a batch.
const IN_BATCH: u64 = 16;
/// Bytes that an engine takes for a point: in order, without duplicates, differences, sorted
/// values, marks.
const IN_ENGINE: u64 = 80;
/// Most points of a batch: engines count them with 32 bits, signs apart.
const MAX_POINTS: u64 = (1 << 31) - 1;

/// Points and the span of their times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) points: u64,
    /// Least and greatest time; nothing is said of no points.
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Extent {
    pub(super) const NONE: Self = Self {
        points: 0,
        first: i64::MAX,
        last: i64::MIN,
    };

    /// One more point.
    #[inline]
    pub(super) fn add(&mut self, time: i64) {
        self.points += 1;
        self.first = self.first.min(time);
        self.last = self.last.max(time);
    }
}

/// Bytes of a plan's results.
#[derive(Debug, Clone)]
pub(super) struct BatchMemory {
    /// Shortest length of the buckets in nanoseconds, and bytes of a bucket.
    granularities: Vec<(u64, u64)>,
    limit: u64,
}

impl BatchMemory {
    pub(super) fn new(plan: &Resample, limit: u64) -> Self {
        let of_rates = plan.aggregates().iter().filter(|a| a.rate).count();
        let kinds = usize::from(of_rates > 0) + usize::from(of_rates < plan.aggregates().len());
        // Starts and counts of each kind, and the columns.
        let bucket = 12 * kinds as u64 + 8 * plan.aggregates().len() as u64;
        let granularities = plan.granularities().iter();
        Self {
            granularities: granularities.map(|g| (shortest(*g), bucket)).collect(),
            limit,
        }
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that a batch of one series takes, with its results and those of the batch before.
    pub(super) fn of(&self, extent: &Extent) -> u64 {
        if extent.points == 0 {
            return 0;
        }
        let span = extent.last.abs_diff(extent.first);
        let results: u64 = self
            .granularities
            .iter()
            .map(|(length, bytes)| (span / length).saturating_add(2).min(extent.points) * bytes)
            .sum();
        extent.points * (IN_BATCH + IN_ENGINE) + 2 * results
    }

    /// Whether a batch may have so many points and take so many bytes.
    pub(super) fn fits(&self, points: u64, bytes: u64) -> bool {
        bytes <= self.limit && points <= MAX_POINTS
    }
}

/// Nanoseconds of the shortest bucket of a granularity.
fn shortest(granularity: Granularity) -> u64 {
    const DAY: u64 = warpstride_kernels::series::bucket::DAY;
    match granularity {
        Granularity::Fixed(length) => length,
        Granularity::Calendar(Calendar::Week) => 7 * DAY,
        Granularity::Calendar(Calendar::Month) => 28 * DAY,
        Granularity::Calendar(Calendar::Quarter) => 90 * DAY,
        Granularity::Calendar(Calendar::HalfYear) => 181 * DAY,
        Granularity::Calendar(Calendar::Year) => 365 * DAY,
    }
}

/// The granularity with the longest buckets.
pub(super) fn longest(plan: &Resample) -> Option<Granularity> {
    plan.granularities()
        .iter()
        .copied()
        .max_by_key(|g| shortest(*g))
}
