//! The numbers that are times of measurements, if no option states their unit.

use super::calendar::{date_of, is_minute};
use super::unit::Unit;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// 1990-01-01T00:00:00Z. A smaller number may be a date (20240101), a year, a number of days
/// (45292.5, 2460310.5), a time since another moment, or one in another unit.
const EARLIEST: u64 = 631_152_000;
/// 1990-12-01 in nanoseconds: smaller numbers may be ticks of 100 ns since the year 1.
const EARLIEST_NANOSECONDS: u64 = 660_000_000_000_000_000;
/// 2026-01-01T00:00:00Z, for clocks that are behind it.
const WRITTEN: u64 = 1_767_225_600;
/// Ten years: larger numbers of seconds count from 1900 or 1904.
const MARGIN: u64 = 315_576_000;
/// Numbers that may be `YYYYMMDDhhmm`.
const DATE_AND_MINUTE: std::ops::Range<u64> = 190_001_010_000..210_101_010_000;

/// The numbers of a unit that are times from 1990 to ten years from now.
#[derive(Debug, Clone, Copy)]
pub(in crate::io) struct Plausible {
    unit: Unit,
    least: u64,
    greatest: u64,
}

impl Plausible {
    /// Those of a unit.
    #[inline]
    pub(in crate::io) fn of(unit: Unit) -> Self {
        let of_second = 1_000_000_000 / unit.nanoseconds();
        Self {
            unit,
            least: match unit {
                Unit::Nanoseconds => EARLIEST_NANOSECONDS,
                _ => EARLIEST * of_second,
            },
            greatest: latest() * of_second,
        }
    }

    /// Whether a number is one of them.
    #[inline]
    pub(in crate::io) fn contains(self, number: u64) -> bool {
        (self.least..=self.greatest).contains(&number)
            && !(self.unit == Unit::Milliseconds
                && DATE_AND_MINUTE.contains(&number)
                && is_minute(number))
    }
}

/// Ten years from now, in seconds since 1970.
fn latest() -> u64 {
    static LATEST: OnceLock<u64> = OnceLock::new();
    *LATEST.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        // Nanoseconds in 64 bits end in 2262.
        let now = now.map_or(WRITTEN, |now| now.as_secs()).min(4 * WRITTEN);
        now.max(WRITTEN) + MARGIN
    })
}

/// The year ten years from now.
pub(in crate::io) fn latest_year() -> i64 {
    date_of((latest() / 86_400) as i64).0
}
