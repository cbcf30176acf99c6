//! Splits a series in time.
//!
//! A window computes the buckets that begin in it. It starts at the start of a bucket of the
//! longest granularity. Its points extend to the end of its last bucket, which may lie in the next
//! window if granularities do not divide each other. For rates, the last point before the window is
//! placed in front.

use super::StreamError;
use super::batch_memory::{BatchMemory, Extent, longest};
use super::gather::zeroed;
use super::run_file::{Point, RunFile};
use crate::{Batch, Duplicates, NanPolicy, Resample, SeriesError};
use std::ops::Range;
use warpstride_core::system::Bytes;
use warpstride_kernels::series::bucket::{Bucketing, DAY};

/// A window with its points.
#[derive(Debug)]
pub(super) struct Window {
    /// Sorted points without skipped points, and without duplicates unless they are kept.
    pub(super) batch: Batch,
    /// Start of the range of buckets to compute.
    pub(super) from: i64,
    /// End of the range; `None`: no end.
    pub(super) to: Option<i64>,
    /// Number of the window's own points.
    pub(super) own: u64,
    pub(super) duplicates: u64,
    pub(super) skipped: u64,
}

/// The consecutive windows of a series.
#[derive(Debug)]
pub(super) struct Windows<'a> {
    file: &'a RunFile,
    series: usize,
    plan: &'a Resample,
    need: &'a BatchMemory,
    /// (run), points that have not been in a window yet.
    left: Vec<Range<u64>>,
    /// Largest time of the series.
    last: i64,
    from: i64,
    /// The last point before `from`, if the plan has rates.
    before: Option<Point>,
    done: bool,
}

impl<'a> Windows<'a> {
    pub(super) fn new(
        file: &'a RunFile,
        series: usize,
        extent: &Extent,
        plan: &'a Resample,
        need: &'a BatchMemory,
    ) -> Result<Self, StreamError> {
        let mut left = Vec::new();
        for run in 0..file.runs() {
            let of_run = file.offsets(run, &(series..series + 1))?;
            left.push(of_run[0]..of_run[1]);
        }
        Ok(Self {
            file,
            series,
            plan,
            need,
            left,
            last: extent.last,
            from: i64::MIN,
            before: None,
            done: extent.points == 0,
        })
    }

    /// The next window; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Window>, StreamError> {
        if self.done {
            return Ok(None);
        }
        let to = self.end()?;
        let until = to.and_then(|to| reach(self.plan, to));
        let mut points = self.load(until)?;
        let own = |time: i64| to.is_none_or(|to| time < to);
        let (mut skipped, mut duplicates) = (0, 0);
        let all = points.iter().filter(|p| own(p.time)).count() as u64;
        if self.plan.nan() == NanPolicy::Skip {
            points.retain(|p| {
                skipped += u64::from(p.value.is_nan() && own(p.time));
                !p.value.is_nan()
            });
        }
        let repeats = points
            .windows(2)
            .filter(|pair| pair[0].time == pair[1].time);
        let mut repeats = repeats.map(|pair| pair[0].time).peekable();
        match (self.plan.duplicates(), repeats.peek()) {
            (Duplicates::Error, Some(time)) => {
                let (series, time) = (self.series, *time);
                return Err(SeriesError::SameTime { series, time }.into());
            }
            _ => duplicates += repeats.filter(|time| own(*time)).count() as u64,
        }
        match self.plan.duplicates() {
            Duplicates::Keep | Duplicates::Error => {}
            Duplicates::First => points.dedup_by_key(|point| point.time),
            Duplicates::Last => points.dedup_by(|later, kept| {
                let same = later.time == kept.time;
                if same {
                    *kept = *later;
                }
                same
            }),
        }
        let rates = self.plan.aggregates().iter().any(|a| a.rate);
        let before = self.before.take();
        if rates {
            self.before = points
                .iter()
                .rev()
                .find(|p| own(p.time))
                .copied()
                .or(before);
        }
        let in_front = before.iter().chain(&points);
        let times = in_front.clone().map(|p| p.time).collect();
        let values = in_front.map(|p| p.value).collect();
        let window = Window {
            batch: Batch::single(times, values)?,
            from: self.from,
            to,
            own: all,
            duplicates,
            skipped,
        };
        match to {
            None => self.done = true,
            Some(to) => {
                for (run, left) in self.left.iter_mut().enumerate() {
                    left.start = self.file.first_from(run, left, to)?;
                }
                self.from = to;
                self.done = self.left.iter().all(Range::is_empty);
            }
        }
        Ok(Some(window))
    }

    /// The end of the window: the latest start of a bucket of the longest granularity such that the
    /// points fit.
    fn end(&self) -> Result<Option<i64>, StreamError> {
        let Some(granularity) = longest(self.plan) else {
            return Ok(None);
        };
        let rule = granularity.bucketing();
        let first = self.first()?;
        let taken = |to: Option<i64>| -> Result<Extent, StreamError> {
            let until = to.and_then(|to| reach(self.plan, to));
            let points = self.counts(until)?.iter().map(|r| r.end - r.start).sum();
            let last = until.map_or(self.last, |until| self.last.min(until - 1));
            Ok(Extent {
                points,
                first,
                last,
            })
        };
        let fits = |extent: &Extent| self.need.fits(extent.points, self.need.of(extent));
        if fits(&taken(None)?) {
            return Ok(None);
        }
        // Bucket indices: the window may end at `low`, and not at `high`.
        let mut low = rule.index(first as u64) + 1;
        let mut high = rule.index(self.last as u64) + 1;
        let at = |index: u64| bucket_start(&rule, index, self.last);
        let alone = taken(at(low))?;
        if !fits(&alone) {
            return Err(StreamError::Bucket {
                series: self.series,
                granularity,
                points: alone.points,
                needed: Bytes(u128::from(self.need.of(&alone))),
                available: Bytes(u128::from(self.need.limit())),
            });
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(&taken(at(middle))?) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(at(low))
    }

    /// The smallest remaining time.
    fn first(&self) -> Result<i64, StreamError> {
        let mut first = self.last;
        for (run, left) in self.left.iter().enumerate() {
            if !left.is_empty() {
                self.file.points(run, left.start..left.start + 1, |piece| {
                    first = piece.iter().map(|p| p.time).fold(first, i64::min);
                })?;
            }
        }
        Ok(first)
    }

    /// (run), remaining points before `until`.
    fn counts(&self, until: Option<i64>) -> Result<Vec<Range<u64>>, StreamError> {
        let runs = self.left.iter().enumerate();
        runs.map(|(run, left)| match until {
            None => Ok(left.clone()),
            Some(until) => Ok(left.start..self.file.first_from(run, left, until)?),
        })
        .collect()
    }

    /// Remaining points before `until`, sorted; points of equal time in the order of the input.
    fn load(&self, until: Option<i64>) -> Result<Vec<Point>, StreamError> {
        let ranges = self.counts(until)?;
        let count: u64 = ranges.iter().map(|r| r.end - r.start).sum();
        let mut points: Vec<Point> = zeroed(count as usize)?;
        let mut next = 0;
        for (run, range) in ranges.into_iter().enumerate() {
            self.file.points(run, range, |piece| {
                points[next..next + piece.len()].copy_from_slice(piece);
                next += piece.len();
            })?;
        }
        points.sort_by_key(|point: &Point| point.time);
        Ok(points)
    }
}

/// The end of all buckets that begin before `to`; `None` if it exceeds the range of times.
fn reach(plan: &Resample, to: i64) -> Option<i64> {
    let last = (to - 1).max(0);
    let mut until = to;
    for granularity in plan.granularities() {
        let rule = granularity.bucketing();
        until = until.max(bucket_start(&rule, rule.index(last as u64) + 1, i64::MAX)?);
    }
    Some(until)
}

/// The start of bucket `index` if it is not after `last` and fits in 63 bits.
fn bucket_start(rule: &Bucketing, index: u64, last: i64) -> Option<i64> {
    let start = match rule.step {
        0 => {
            // Calendar computations cannot overflow up to a year before the last representable
            // time.
            let safe = i64::MAX as u64 - 367 * DAY;
            (rule.index(safe) >= index).then(|| rule.start(index))?
        }
        step => i64::try_from(u128::from(index) * u128::from(step)).ok()?,
    };
    (start <= last).then_some(start)
}
