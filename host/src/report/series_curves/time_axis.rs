//! The axis of times: marked where seconds, hours, days, … begin.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// Most marks of the time axis.
pub(super) const MARKS: i64 = 9;
/// Nanoseconds.
pub(super) const SECOND: i64 = 1_000_000_000;
pub(super) const DAY: i64 = 86_400 * SECOND;

/// Where the time axis is marked, and how.
pub(super) struct Marks {
    pub(super) places: Vec<i64>,
    /// What the numbers are.
    pub(super) unit: &'static str,
    /// Parts of a date that are shown.
    form: Form,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Seconds,
    Minutes,
    Days,
    Years,
}

impl Marks {
    pub(super) fn of(times: &Range<i64>) -> Self {
        const STEPS: [i64; 17] = [
            1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
            172_800,
        ];
        let span = times.end.saturating_sub(times.start);
        let step = STEPS
            .into_iter()
            .map(|s| s * SECOND)
            .find(|step| span / step <= MARKS);
        let days = (span / DAY / MARKS + 1) * DAY;
        let step = step.unwrap_or(days);
        let first = times.start.div_euclid(step) + 1;
        let places = (first..=times.end.div_euclid(step))
            .map(|n| n * step)
            .collect();
        let form = match step {
            s if s < 60 * SECOND => Form::Seconds,
            s if s < DAY => Form::Minutes,
            s if s < 400 * DAY => Form::Days,
            _ => Form::Years,
        };
        let unit = match form {
            Form::Seconds | Form::Minutes => "time of the day (UTC)",
            Form::Days => "date (UTC)",
            Form::Years => "month (UTC)",
        };
        Self { places, unit, form }
    }

    fn label(&self, time: i64) -> String {
        let [year, month, day] = date(time.div_euclid(DAY));
        let second = time.rem_euclid(DAY) / SECOND;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        match self.form {
            Form::Years => format!("{year}-{month:02}"),
            Form::Days => format!("{year}-{month:02}-{day:02}"),
            // Midnight is where the date changes.
            Form::Minutes if (hour, minute) == (0, 0) => format!("{month:02}-{day:02}"),
            Form::Minutes => format!("{hour:02}:{minute:02}"),
            Form::Seconds => format!("{hour:02}:{minute:02}:{second:02}"),
        }
    }
}

/// Nanoseconds since 1970, marked where days, hours, … begin.
pub(super) struct TimeAxis {
    pub(super) times: Range<i64>,
    pub(super) marks: Marks,
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
        self.marks.places.clone()
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
        self.marks.label(*time)
    }
}

/// Year, month and day of the day `days` after 1970-01-01 (E. G. Richards, Mapping Time, Oxford 1998).
pub(super) fn date(days: i64) -> [i64; 3] {
    // From 0000-03-01, in eras of 400 years.
    let z = days + 719_468;
    let (era, of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    [era * 400 + year + i64::from(month <= 2), month, day]
}
