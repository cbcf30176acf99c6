//! IANA time zones: offsets from UTC at any time from 1970 to 2262, and the times of local
//! readings.
//!
//! The zones are those of the time zone database that the crate `jiff` contains, whatever the
//! system has. A zone becomes a table of its changes of offset, so that a conversion is a binary
//! search.

mod bucket_axis;

pub use bucket_axis::{AxisError, BucketAxis};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The last second of 64-bit nanoseconds since 1970.
const LAST_SECOND: i64 = i64::MAX / SECOND;
/// Nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;
/// Seconds before 1970 from which on changes of offset are known: buckets of weeks may begin there.
const EARLIER: i64 = 14 * 86_400;
/// Zones of similar names in an error.
const SIMILAR: usize = 3;

/// A time zone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Zone(&'static ZoneTable);

/// The changes of offset of a zone.
#[derive(Debug, PartialEq, Eq)]
struct ZoneTable {
    name: String,
    /// In order of time; the first holds from the beginning on.
    periods: Vec<Period>,
}

/// A time with one offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Period {
    /// First second since 1970, UTC.
    start: i64,
    /// Seconds east of UTC.
    offset: i64,
}

impl Period {
    /// First second since 1970 in local time.
    fn local_start(self) -> i64 {
        self.start.saturating_add(self.offset)
    }
}

/// The moments at which clocks show a local time, in seconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moments {
    /// One moment, as nearly always.
    One(i64),
    /// Two moments, the earlier first: clocks were set back in between.
    Two(i64, i64),
    /// Clocks were set forward over this time, at this moment.
    Skipped(i64),
}

/// Zones that have been asked for. There are some 600, so they are kept until the program ends.
static ZONES: Mutex<Vec<&'static ZoneTable>> = Mutex::new(Vec::new());

impl Zone {
    /// The zone of this name, in any case: `Europe/Zurich`, `UTC`.
    ///
    /// # Errors
    /// A message with what was expected, and similar names, if there is no such zone.
    pub fn named(name: &str) -> Result<Self, String> {
        let zone = TimeZone::get(name).ok();
        let zone = zone.filter(|zone| zone.iana_name().is_some());
        let Some(zone) = zone else {
            return Err(unknown(name));
        };
        let name = zone.iana_name().unwrap_or(name);
        let mut zones = ZONES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = zones.iter().find(|known| known.name == name) {
            return Ok(Self(known));
        }
        let table: &'static ZoneTable = Box::leak(Box::new(ZoneTable::of(name, &zone)));
        zones.push(table);
        Ok(Self(table))
    }

    /// The name in the time zone database.
    #[must_use]
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// Seconds east of UTC at a moment in nanoseconds since 1970.
    #[must_use]
    pub fn offset(self, nanoseconds: i64) -> i64 {
        let seconds = nanoseconds.div_euclid(SECOND);
        self.period(seconds).1.offset
    }

    /// The first moment after this one at which the offset changes, both in nanoseconds since 1970.
    #[must_use]
    pub fn change_after(self, nanoseconds: i64) -> Option<i64> {
        let (index, _) = self.period(nanoseconds.div_euclid(SECOND));
        let next = self.0.periods.get(index + 1)?;
        next.start.checked_mul(SECOND)
    }

    /// The moments at which clocks show `local`, in seconds since 1970 in local time.
    #[must_use]
    pub fn moments(self, local: i64) -> Moments {
        let periods = &self.0.periods;
        let index = periods.partition_point(|period| period.local_start() <= local);
        // The first period began long before 1970.
        let index = index.saturating_sub(1);
        let period = periods[index];
        let moment = local.saturating_sub(period.offset);
        let next = periods.get(index + 1);
        if let Some(next) = next
            && moment >= next.start
        {
            return Moments::Skipped(next.start);
        }
        let before = index.checked_sub(1).map(|before| periods[before]);
        match before.map(|before| local.saturating_sub(before.offset)) {
            Some(earlier) if earlier < period.start => Moments::Two(earlier, moment),
            _ => Moments::One(moment),
        }
    }

    /// The index of the period of a moment in seconds since 1970, and the period.
    fn period(self, seconds: i64) -> (usize, Period) {
        let periods = &self.0.periods;
        let index = periods.partition_point(|period| period.start <= seconds);
        let index = index.saturating_sub(1);
        (index, periods[index])
    }

    /// All offsets from a second since 1970 on to 2262, in seconds east of UTC.
    fn offsets_from(self, seconds: i64) -> impl Iterator<Item = i64> {
        let (index, _) = self.period(seconds);
        self.0
            .periods
            .iter()
            .skip(index)
            .map(|period| period.offset)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.0.name)
    }
}

impl ZoneTable {
    fn of(name: &str, zone: &TimeZone) -> Self {
        let begin = Timestamp::from_second(-EARLIER).unwrap_or(Timestamp::UNIX_EPOCH);
        let offset = i64::from(zone.to_offset(begin).seconds());
        let mut periods = vec![Period {
            start: i64::MIN / 2,
            offset,
        }];
        for change in zone.following(begin) {
            let start = change.timestamp().as_second();
            if start > LAST_SECOND {
                break;
            }
            let offset = i64::from(change.offset().seconds());
            // Changes of the abbreviation alone are no changes here.
            if periods.last().is_none_or(|last| last.offset != offset) {
                periods.push(Period { start, offset });
            }
        }
        Self {
            name: name.to_owned(),
            periods,
        }
    }
}

fn unknown(name: &str) -> String {
    let wanted = name.to_lowercase();
    let mut similar: Vec<(f64, String)> = jiff::tz::db()
        .available()
        .map(|known| known.as_str().to_owned())
        .map(|known| {
            let known_lower = known.to_lowercase();
            let city = known_lower.rsplit('/').next().unwrap_or_default();
            let likeness = strsim::jaro_winkler(&wanted, &known_lower);
            (likeness.max(strsim::jaro_winkler(&wanted, city)), known)
        })
        .filter(|(likeness, _)| *likeness > 0.9)
        .collect();
    similar.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let similar: Vec<String> = similar.into_iter().take(SIMILAR).map(|s| s.1).collect();
    let hint = match similar.is_empty() {
        true => String::new(),
        false => format!("; similar: {}", similar.join(", ")),
    };
    format!(
        "expected the name of an IANA time zone such as Europe/Zurich or UTC, found an unknown one{hint}"
    )
}

#[cfg(test)]
mod tests;
