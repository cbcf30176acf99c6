//! The axis of times: marked where seconds, hours, days, … begin, as densely as the marks can be read.

use crate::io::series::iso;
use crate::report::canvas::width_of;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;
use warpstride_kernels::series::bucket::Bucketing;

/// Nanoseconds.
pub(super) const SECOND: i64 = 1_000_000_000;
pub(super) const DAY: i64 = 86_400 * SECOND;

/// Between two marks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Nanoseconds(i64),
    Months(u32),
}

impl Step {
    /// From the shortest to the longest.
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

    /// Multiples within `times`, no more than `most`; `None` where there are more.
    fn marks(self, times: &Range<i64>, most: usize) -> Option<Vec<i64>> {
        let mut marks = Vec::new();
        let mut add = |mark: i64| {
            marks.push(mark);
            marks.len() <= most
        };
        let all = match self {
            Self::Nanoseconds(step) => {
                let first = times.start.div_euclid(step) + 1;
                let mut places = (first..=times.end.div_euclid(step)).map(|n| n * step);
                places.all(&mut add)
            }
            Self::Months(months) => {
                let rule = Bucketing::calendar(months);
                let [first, last] = [times.start, times.end].map(|t| rule.index(t.max(0) as u64));
                let mut places = (first + 1..=last).map(|n| rule.start(n));
                places.all(&mut add)
            }
        };
        all.then_some(marks)
    }

    fn label(self, time: i64, one_year: bool) -> String {
        let text = iso(time);
        let text = match self {
            Self::Months(12..) => text.get(..4),
            Self::Months(_) => text.get(..7),
            Self::Nanoseconds(DAY..) if one_year => text.get(5..10),
            Self::Nanoseconds(DAY..) => text.get(..10),
            // Midnight is where the date changes.
            Self::Nanoseconds(_) if time % DAY == 0 => text.get(5..10),
            Self::Nanoseconds(step) if step >= 60 * SECOND => text.get(11..16),
            Self::Nanoseconds(SECOND..) => text.get(11..19),
            Self::Nanoseconds(step) => return fine(time, step),
        };
        text.unwrap_or_default().to_owned()
    }
}

/// Second and its parts, as many digits as `step` needs.
fn fine(time: i64, step: i64) -> String {
    let digits = (0..9).find(|d| step % 10_i64.pow(9 - d) == 0).unwrap_or(9);
    let part = time.rem_euclid(SECOND) / 10_i64.pow(9 - digits);
    let second = time.div_euclid(SECOND).rem_euclid(60);
    format!("{second:02}.{part:0width$}", width = digits as usize)
}

/// Nanoseconds since 1970, marked where days, hours, … begin.
pub(super) struct TimeAxis {
    times: Range<i64>,
    step: Step,
    places: Vec<i64>,
    one_year: bool,
    /// What the marks are, and of which time.
    pub(super) words: String,
}

impl TimeAxis {
    /// `times` with marks that `width` pixels hold; `data` is the stretch with data.
    pub(super) fn new(times: Range<i64>, data: (i64, i64), width: usize) -> Self {
        let [first, last] = [data.0, data.1].map(iso);
        let one_year = first.get(..4) == last.get(..4);
        let fits = |step: Step| {
            let label = step.label(times.start - times.start % DAY + 1, one_year);
            let label = width_of(&label).max(width_of("00-00")) + width_of("00");
            step.marks(&times, width / label).map(|marks| (step, marks))
        };
        let longest = || (Step::Months(600), Vec::new());
        let (step, places) = Step::all().find_map(fits).unwrap_or_else(longest);
        let what = match step {
            Step::Months(12..) => "year",
            Step::Months(_) => "month",
            Step::Nanoseconds(DAY..) => "date",
            Step::Nanoseconds(SECOND..) => "time of the day",
            Step::Nanoseconds(_) => "second",
        };
        // Marks of parts of a second do not say the minute.
        let length = if matches!(step, Step::Nanoseconds(..SECOND)) {
            16
        } else {
            10
        };
        let [from, to] =
            [first, last].map(|text| text.get(..length).unwrap_or_default().replace('T', " "));
        let words = if from == to {
            format!("{what} (UTC), {from}")
        } else {
            format!("{what} (UTC), {from} to {to}")
        };
        Self {
            times,
            step,
            places,
            one_year,
            words,
        }
    }

    #[cfg(test)]
    pub(super) fn labels(&self) -> Vec<String> {
        let label = |time: &i64| self.step.label(*time, self.one_year);
        self.places.iter().map(label).collect()
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
        self.places.clone()
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
        self.step.label(*time, self.one_year)
    }
}
