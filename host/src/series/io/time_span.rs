//! Whether the times of a file are likely ones, where its format or the name of a column states
//! their unit.

use super::iso;
use super::timestamp::{Plausible, TimestampFormat, Unit, UnitOrigin, latest_year};

/// The first and the last times of a file, nanoseconds since 1970.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TimeSpan {
    /// `None` without times.
    ends: Option<(i64, i64)>,
    /// The first one after 1970-01-01T00:00:00Z, which may stand for no time.
    first_after_zero: Option<i64>,
}

impl TimeSpan {
    pub(super) fn add(&mut self, times: &[i64]) {
        let earlier = |one: Option<i64>, other: i64| Some(one.map_or(other, |one| one.min(other)));
        for time in times {
            let (first, last) = self.ends.unwrap_or((*time, *time));
            self.ends = Some((first.min(*time), last.max(*time)));
            if *time > 0 {
                self.first_after_zero = earlier(self.first_after_zero, *time);
            }
        }
    }

    pub(super) fn last(&self) -> Option<i64> {
        self.ends.map(|(_, last)| last)
    }

    /// A note on times of a unit that no option states, if they are unlikely.
    pub(super) fn note(&self, time_format: Option<&TimestampFormat>) -> Option<String> {
        let Some(TimestampFormat::Epoch { unit, origin }) = time_format else {
            return None;
        };
        let (first, last) = self.ends?;
        let likely = |time: i64| Plausible::of(*unit).contains(number(time, *unit));
        let doubtful = match origin {
            UnitOrigin::Stated | UnitOrigin::Inferred => false,
            UnitOrigin::Column | UnitOrigin::Format => !likely(first) || !likely(last),
            UnitOrigin::Elapsed => !self.begins_at_zero(*unit),
        };
        doubtful.then(|| {
            let range = match first == last {
                true => iso(first),
                false => format!("{} to {}", iso(first), iso(last)),
            };
            format!(
                "its times are {range}, not all from 1990 to {}; timestamps are read as {} since 1970, {} (--time-unit states the unit)",
                latest_year(),
                unit.description(),
                origin.source()
            )
        })
    }

    /// Whether these may be times since the start of a measurement. Their first is then no later
    /// than the time from it to the last. Zeros among times of today that are in another unit stand
    /// for no time.
    fn begins_at_zero(&self, unit: Unit) -> bool {
        let (Some((first, last)), Some(positive)) = (self.ends, self.first_after_zero) else {
            return true;
        };
        let is_today = |unit: &Unit, number: u64| Plausible::of(*unit).contains(number);
        let units = Unit::ALL;
        let in_another = |time: i64| {
            units
                .iter()
                .any(|other| is_today(other, number(time, unit)))
        };
        let zeros_among_others = positive > last - positive && in_another(positive);
        first <= last - first && !zeros_among_others
    }
}

/// Nanoseconds in a unit.
fn number(time: i64, unit: Unit) -> u64 {
    time.unsigned_abs() / unit.nanoseconds()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::io::TimeUnit;

    fn note(times: &[i64], unit: TimeUnit) -> Option<String> {
        let units = Unit::named(unit).unwrap().nanoseconds();
        let first = times[0].to_string();
        let time_format = TimestampFormat::assumed(first.as_bytes(), unit, false).unwrap();
        let mut span = TimeSpan::default();
        let times: Vec<i64> = times.iter().map(|time| time * units as i64).collect();
        span.add(&times);
        span.note(Some(&time_format))
    }

    #[test]
    fn times_since_a_start_are_likely_and_others_of_1970_are_not() {
        use TimeUnit::{Milliseconds, Nanoseconds, Seconds};
        let regular: Vec<i64> = (0..3_000).map(|n| n * 1_000_000).collect();
        for (times, unit) in [
            (&[0][..], Milliseconds),
            (&[0, 100_000], Milliseconds),
            (&[500, 1_000, 1_500], Milliseconds),
            (&[0, 1_500_000_000, 3_000_000_000], Nanoseconds),
            (&regular, Nanoseconds),
            (&[1_739_184_970, 1_739_184_971], Seconds),
        ] {
            assert_eq!(note(times, unit), None, "{times:?}");
        }
        for (times, unit) in [
            // A number that no unit makes a time of, days, dates, and seconds among zeros.
            (&[100_000][..], Milliseconds),
            (&[45_292, 45_293], Seconds),
            (&[20_240_101, 20_240_102], Milliseconds),
            (&[0, 1_739_184_970, 1_739_185_970], Milliseconds),
            (&[1_739_184_970_553, 100_000], Milliseconds),
            (&[2_500_000_000], Seconds),
        ] {
            let found = note(times, unit).unwrap_or_default();
            assert!(found.contains("not all from 1990 to"), "{times:?}: {found}");
            assert!(found.contains("--time-unit"), "{times:?}: {found}");
        }
    }
}
