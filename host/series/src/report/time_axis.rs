//! The time axis, with as many legible ticks as possible at the starts of seconds, hours, days, …

use crate::Zone;
use crate::io::iso;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;
use warpstride_kernels::series::bucket::Bucketing;
use warpstride_report::canvas::width_of;

/// Nanoseconds in a second.
pub(super) const SECOND: i64 = 1_000_000_000;
pub(super) const DAY: i64 = 86_400 * SECOND;

/// Distance between two ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Nanoseconds(i64),
    Months(u32),
}

impl Step {
    /// All steps, from the shortest to the longest.
    fn all() -> impl Iterator<Item = Self> {
        const SECONDS: [i64; 14] = [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
        ];
        const HOURS: [i64; 7] = [3, 6, 12, 24, 48, 96, 240];
        const MONTHS: [u32; 10] = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600];
        let parts = (0..9).flat_map(|power| [1, 2, 5].map(|m| m * 10_i64.pow(power)));
        parts
            .chain(SECONDS.map(|s| s * SECOND))
            .chain(HOURS.map(|h| h * 3600 * SECOND))
            .map(Self::Nanoseconds)
            .chain(MONTHS.map(Self::Months))
    }

    /// Multiples of the step on the clocks, within `times`; `None` if there are more than `most`.
    fn ticks(self, clocks: Clocks, times: &Range<i64>, most: usize) -> Option<Vec<i64>> {
        let mut ticks = Vec::new();
        for (times, offset) in clocks.periods(times) {
            let [before, last] = [times.start, times.end].map(|t| t.saturating_add(offset));
            let mut add = |local: i64| {
                ticks.push(local.saturating_sub(offset));
                ticks.len() <= most
            };
            let all = match self {
                Self::Nanoseconds(step) => {
                    let first = before.div_euclid(step) + 1;
                    let mut positions = (first..=last.div_euclid(step)).map(|n| n * step);
                    positions.all(&mut add)
                }
                Self::Months(months) => {
                    let rule = Bucketing::calendar(months);
                    let [before, last] = [before, last].map(|t| rule.index(t.max(0) as u64));
                    let mut positions = (before + 1..=last).map(|n| rule.start(n));
                    positions.all(&mut add)
                }
            };
            if !all {
                return None;
            }
        }
        Some(ticks)
    }

    /// The label of a time on the clocks.
    fn label(self, time: i64, one_year: bool) -> String {
        let text = iso(time);
        let text = match self {
            Self::Months(12..) => text.get(..4),
            Self::Months(_) => text.get(..7),
            Self::Nanoseconds(DAY..) if one_year => text.get(5..10),
            Self::Nanoseconds(DAY..) => text.get(..10),
            // At midnight, the date is shown.
            Self::Nanoseconds(_) if time % DAY == 0 => text.get(5..10),
            Self::Nanoseconds(step) if step >= 60 * SECOND => text.get(11..16),
            Self::Nanoseconds(SECOND..) => text.get(11..19),
            Self::Nanoseconds(step) => return fine(time, step),
        };
        text.unwrap_or_default().to_owned()
    }
}

/// Seconds and fraction with as many digits as `step` needs.
fn fine(time: i64, step: i64) -> String {
    let digits = (0..9).find(|d| step % 10_i64.pow(9 - d) == 0).unwrap_or(9);
    let part = time.rem_euclid(SECOND) / 10_i64.pow(9 - digits);
    let second = time.div_euclid(SECOND).rem_euclid(60);
    format!("{second:02}.{part:0width$}", width = digits as usize)
}

/// The clocks that an axis shows: those of a zone, or UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Clocks(Option<Zone>);

impl Clocks {
    /// What they show, in nanoseconds since 1970 without regard to offsets.
    fn local(self, time: i64) -> i64 {
        let offset = self.0.map_or(0, |zone| zone.offset(time) * SECOND);
        time.saturating_add(offset)
    }

    /// Parts of `times` with one offset each, in nanoseconds; the start of a range is not a part of
    /// it, and its end is.
    fn periods(self, times: &Range<i64>) -> Vec<(Range<i64>, i64)> {
        let Some(zone) = self.0 else {
            return vec![(times.clone(), 0)];
        };
        let mut periods = Vec::new();
        let mut before = times.start;
        while before < times.end {
            let first = before + 1;
            let change = zone.change_after(first);
            let last = change.map_or(times.end, |change| times.end.min(change - 1));
            periods.push((before..last, zone.offset(first) * SECOND));
            before = last;
        }
        periods
    }

    fn name(self) -> &'static str {
        self.0.map_or("UTC", Zone::name)
    }
}

/// A range of nanoseconds since 1970 with ticks.
pub(super) struct TimeAxis {
    times: Range<i64>,
    step: Step,
    positions: Vec<i64>,
    one_year: bool,
    clocks: Clocks,
    /// Title of the axis: the unit of the ticks, the zone and the range of time.
    pub(super) title: String,
}

impl TimeAxis {
    /// Chooses ticks that fit in `width` pixels, on the clocks of a zone or in UTC; `data` is the
    /// range of the data.
    pub(super) fn new(
        times: Range<i64>,
        data: (i64, i64),
        width: usize,
        zone: Option<Zone>,
    ) -> Self {
        let clocks = Clocks(zone);
        let [first, last] = [data.0, data.1].map(|time| iso(clocks.local(time)));
        let one_year = first.get(..4) == last.get(..4);
        let fits = |step: Step| {
            let label = step.label(times.start - times.start % DAY + 1, one_year);
            let label = width_of(&label).max(width_of("00-00")) + width_of("00");
            let ticks = step.ticks(clocks, &times, width / label)?;
            Some((step, ticks))
        };
        let longest = || (Step::Months(600), Vec::new());
        let (step, positions) = Step::all().find_map(fits).unwrap_or_else(longest);
        let what = match step {
            Step::Months(12..) => "year",
            Step::Months(_) => "month",
            Step::Nanoseconds(DAY..) => "date",
            Step::Nanoseconds(SECOND..) => "time of the day",
            Step::Nanoseconds(_) => "second",
        };
        // Ticks within a second do not show the minute.
        let length = if matches!(step, Step::Nanoseconds(..SECOND)) {
            16
        } else {
            10
        };
        let [from, to] =
            [first, last].map(|text| text.get(..length).unwrap_or_default().replace('T', " "));
        let title = if from == to {
            format!("{what} ({}), {from}", clocks.name())
        } else {
            format!("{what} ({}), {from} to {to}", clocks.name())
        };
        Self {
            times,
            step,
            positions,
            one_year,
            clocks,
            title,
        }
    }

    #[cfg(test)]
    pub(super) fn labels(&self) -> Vec<String> {
        self.positions
            .iter()
            .map(|time| self.format_ext(time))
            .collect()
    }
}

impl Ranged for TimeAxis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = i64;

    fn map(&self, time: &i64, limit: (i32, i32)) -> i32 {
        let share = time.saturating_sub(self.times.start) as f64
            / self.times.end.saturating_sub(self.times.start) as f64;
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<i64> {
        self.positions.clone()
    }

    fn range(&self) -> Range<i64> {
        self.times.clone()
    }
}

impl ValueFormatter<i64> for TimeAxis {
    fn format(time: &i64) -> String {
        time.to_string()
    }

    fn format_ext(&self, time: &i64) -> String {
        self.step.label(self.clocks.local(*time), self.one_year)
    }
}
