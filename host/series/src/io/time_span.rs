//! Whether the times of a file are likely ones, where its format or the name of a column states
//! their unit.

use super::iso;
use super::timestamp::{Plausible, TimestampFormat, Unit, UnitOrigin, latest_year};
use crate::Zone;

/// The numbers of seconds, milliseconds and microseconds from which on times are likely ones, and
/// products of these with units, as nanoseconds: 1990-01-01 in each unit, read in another.
const LIMITS: [i64; 4] = [
    631_152_000,
    631_152_000_000,
    631_152_000_000_000,
    631_152_000_000_000_000,
];
/// How many times larger than the spans of times before and after it a gap is.
const GAP: i128 = 8;
/// A day in nanoseconds.
const DAY: i128 = 86_400_000_000_000;

/// The first and the last times of a file, nanoseconds since 1970.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TimeSpan {
    /// `None` without times.
    ends: Option<(i64, i64)>,
    /// The first one after 1970-01-01T00:00:00Z, which may stand for no time.
    first_after_zero: Option<i64>,
    /// Number of times.
    count: u64,
    /// Whether a time is not midnight.
    has_clock: bool,
    /// The last time before each of [`LIMITS`], and the first one from it on.
    around: [(Option<i64>, Option<i64>); LIMITS.len()],
}

impl TimeSpan {
    /// `zone`: where the day begins at midnight, UTC without one.
    pub(super) fn add(&mut self, times: &[i64], zone: Option<Zone>) {
        let of_day = |time: &i64| {
            let east = zone.map_or(0, |zone| zone.offset(*time));
            (i128::from(*time) + i128::from(east) * 1_000_000_000) % DAY
        };
        self.has_clock = self.has_clock || times.iter().any(|time| of_day(time) != 0);
        self.count += times.len() as u64;
        let Some(begin) = times.first() else {
            return;
        };
        let earlier = |one: Option<i64>, other: i64| Some(one.map_or(other, |one| one.min(other)));
        let (mut first, mut last) = (*begin, *begin);
        for time in times {
            (first, last) = (first.min(*time), last.max(*time));
            if *time > 0 {
                self.first_after_zero = earlier(self.first_after_zero, *time);
            }
        }
        for (limit, (before, from)) in LIMITS.into_iter().zip(&mut self.around) {
            // Few blocks have times on both sides.
            let is_split = first < limit && limit <= last;
            let (lower, upper) = match is_split {
                true => (
                    times.iter().copied().filter(|time| *time < limit).max(),
                    times.iter().copied().filter(|time| *time >= limit).min(),
                ),
                false => (
                    (last < limit).then_some(last),
                    (first >= limit).then_some(first),
                ),
            };
            *before = (*before).max(lower);
            *from = upper.map_or(*from, |upper| earlier(*from, upper));
        }
        let (of_all, end_of_all) = self.ends.unwrap_or((first, last));
        self.ends = Some((of_all.min(first), end_of_all.max(last)));
    }

    /// Whether there are several times, and all are midnight.
    pub(super) fn has_dates_alone(&self) -> bool {
        self.count > 1 && !self.has_clock
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
            UnitOrigin::Elapsed => !self.begins_at_zero(*unit) || self.has_dates(*unit),
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

    /// Whether the last of these times is a likely date while the first is not: in this unit after
    /// years without times, or in another one after a gap that is far larger than all else.
    fn has_dates(&self, unit: Unit) -> bool {
        let Some((first, last)) = self.ends else {
            return false;
        };
        let spread = |from: i64, to: i64| i128::from(to) - i128::from(from);
        Unit::ALL.into_iter().any(|other| {
            let scale = 1_000_000_000 / u128::from(other.nanoseconds());
            let limit = 631_152_000 * scale * u128::from(unit.nanoseconds());
            let index = LIMITS
                .iter()
                .position(|of| u128::try_from(*of) == Ok(limit));
            let Some((Some(before), Some(from))) = index.map(|index| self.around[index]) else {
                return false;
            };
            if !Plausible::of(other).contains(number(last, unit)) {
                return false;
            }
            let gap = spread(before, from);
            let (lower, upper) = (spread(first, before), spread(from, last));
            match other == unit {
                // Regular times from 1970 on have no gap.
                true => 4 * gap > spread(first, last),
                false => {
                    let others = lower.max(upper);
                    let is_large = gap > GAP * others.max(i128::from(first));
                    // Without a second time on either side, only its length says that the gap is a
                    // large one: seconds of today are days as milliseconds.
                    is_large && (others > 0 || gap > DAY)
                }
            }
        })
    }
}

/// Nanoseconds in a unit.
fn number(time: i64, unit: Unit) -> u64 {
    time.unsigned_abs() / unit.nanoseconds()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::TimeUnit;

    fn note(times: &[i64], unit: TimeUnit) -> Option<String> {
        let units = Unit::named(unit).unwrap().nanoseconds();
        let first = times[0].to_string();
        let time_format = TimestampFormat::assumed(first.as_bytes(), unit, false).unwrap();
        let mut span = TimeSpan::default();
        let times: Vec<i64> = times.iter().map(|time| time * units as i64).collect();
        span.add(&times, None);
        span.note(Some(&time_format))
    }

    #[test]
    fn times_at_midnight_alone_are_dates() {
        let day = 86_400_000_000_000;
        let japan = Zone::named("Asia/Tokyo").ok();
        for (times, zone, expected) in [
            (&[day, day, 3 * day][..], None, true),
            (&[day, day + 1], None, false),
            // One row may be at midnight.
            (&[day], None, false),
            (&[day, 2 * day], japan, false),
            (&[day - 9 * day / 24, 2 * day - 9 * day / 24], japan, true),
        ] {
            let mut span = TimeSpan::default();
            span.add(times, zone);
            assert_eq!(span.has_dates_alone(), expected, "{times:?}");
        }
    }

    #[test]
    fn times_since_a_start_are_likely_and_others_of_1970_are_not() {
        use TimeUnit::{Microseconds, Milliseconds, Nanoseconds, Seconds};
        let regular: Vec<i64> = (0..3_000).map(|n| n * 1_000_000).collect();
        for (times, unit) in [
            (&[0][..], Milliseconds),
            (&[0, 100_000], Milliseconds),
            (&[500, 1_000, 1_500], Milliseconds),
            (&[0, 1_500_000_000, 3_000_000_000], Nanoseconds),
            (&regular, Nanoseconds),
            (&[1_739_184_970, 1_739_184_971], Seconds),
            (&[1_000_000, 1_001_000_000, 2_001_000_000], Nanoseconds),
            (&[5, 1_000_000_005], Nanoseconds),
            (&[1, 1_500_000_000], Microseconds),
            // From 1970 to 2025, every five years.
            (
                &(0..12).map(|n| n * 157_680_000).collect::<Vec<_>>(),
                Seconds,
            ),
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
            // Dates after a number that is none, in this unit and in another.
            (&[5, 1_739_184_970_553, 1_739_184_980_553], Milliseconds),
            (&[100_000, 200_000, 1_739_184_970_553], Milliseconds),
            (&[100, 1_739_184_970], Seconds),
            (&[5, 1_739_184_970, 1_739_184_980], Milliseconds),
            (&[5, 1_739_184_970], Milliseconds),
            (&[1_739_184_970_553, 5], Microseconds),
            (&[1_739_184_980, 5, 1_739_184_970], Nanoseconds),
            (&[2_500_000_000], Seconds),
        ] {
            let found = note(times, unit).unwrap_or_default();
            assert!(found.contains("not all from 1990 to"), "{times:?}: {found}");
            assert!(found.contains("--time-unit"), "{times:?}: {found}");
        }
    }
}
