//! Times in a format that the user writes, as strftime has it: `%d.%m.%Y %H:%M`.
//!
//! The crate `jiff` reads them. A format is tried with a known time first, so that one without a
//! date, or with an hour of twelve without morning and afternoon, is refused before any file is
//! read.

use super::timestamp::{Reading, TimestampError};
use jiff::Timestamp;
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::Offset;
use std::sync::Arc;

/// A format of times such as `%d.%m.%Y %H:%M`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatePattern(Arc<Described>);

#[derive(Debug, PartialEq, Eq)]
struct Described {
    format: String,
    /// A time in this format.
    example: String,
}

/// 2024-12-31T14:30:05.123456789Z, in nanoseconds since 1970.
const EXAMPLE: i128 = 1_735_655_405_123_456_789;
/// Longest format in bytes.
const LONGEST: usize = 200;

impl DatePattern {
    /// Checks a format.
    ///
    /// # Errors
    /// A message with what was expected and found.
    pub fn new(format: &str) -> Result<Self, String> {
        let refuse = |why: &dyn std::fmt::Display| {
            format!(
                "expected a format of dates and times such as %d.%m.%Y %H:%M:%S, found '{}': {}",
                super::shorten(format),
                super::shorten_to(&why.to_string(), 200)
            )
        };
        if format.len() > LONGEST {
            return Err(refuse(&format!("more than {LONGEST} bytes")));
        }
        let time = Timestamp::from_nanosecond(EXAMPLE).map_err(|e| refuse(&e))?;
        let time = time.to_zoned_datetime(jiff::tz::TimeZone::UTC);
        let example = strtime::format(format, &time).map_err(|e| refuse(&e))?;
        let described = Self(Arc::new(Described {
            format: format.to_owned(),
            example,
        }));
        let read = described.parse(described.0.example.as_bytes());
        let read = read.map_err(|e| refuse(&e))?;
        // Parts that the format leaves out are zero.
        let day = EXAMPLE.div_euclid(DAY);
        let found = i128::from(read.seconds) * SECOND + i128::from(read.part);
        let missing = EXAMPLE - found;
        let whole = found % DAY == 0 || found % DAY / HOUR == EXAMPLE % DAY / HOUR;
        if found.div_euclid(DAY) != day {
            return Err(refuse(&"it has no whole date (year, month, day)"));
        }
        if missing < 0 || !whole {
            return Err(refuse(
                &"its hours, minutes and seconds are not those of a whole time (%p belongs to %I)",
            ));
        }
        Ok(described)
    }

    /// Reads a time.
    pub(super) fn read(&self, text: &[u8]) -> Result<Reading, TimestampError> {
        self.parse(text).map_err(|_| TimestampError::Invalid)
    }

    fn parse(&self, text: &[u8]) -> Result<Reading, jiff::Error> {
        let read = BrokenDownTime::parse(&self.0.format, text)?;
        if let Some(moment) = read.timestamp() {
            let part = match moment.subsec_nanosecond() {
                0 => read.subsec_nanosecond().unwrap_or(0),
                part => part,
            };
            return Ok(Reading {
                seconds: moment.as_second(),
                part: i64::from(part),
                offset: Some(0),
            });
        }
        let local = Offset::UTC
            .to_timestamp(read.to_datetime()?)?
            .as_nanosecond();
        Ok(Reading {
            seconds: local.div_euclid(SECOND) as i64,
            part: local.rem_euclid(SECOND) as i64,
            offset: read.offset().map(|offset| i64::from(offset.seconds())),
        })
    }

    /// The format, if its times have no time of day.
    pub(super) fn of_date(&self) -> Option<&str> {
        let example = self.parse(self.0.example.as_bytes()).ok()?;
        let is_midnight = i128::from(example.seconds) * SECOND % DAY == 0 && example.part == 0;
        is_midnight.then_some(self.0.format.as_str())
    }

    /// The text of the format.
    pub(super) fn format(&self) -> &str {
        &self.0.format
    }

    /// The expected format, for messages.
    pub(super) fn description(&self) -> String {
        format!(
            "a time such as {} (--time-format '{}')",
            self.0.example, self.0.format
        )
    }
}

const SECOND: i128 = 1_000_000_000;
const HOUR: i128 = 3600 * SECOND;
const DAY: i128 = 24 * HOUR;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, text: &str) -> Option<(i64, i64, Option<i64>)> {
        let pattern = DatePattern::new(format).unwrap_or_else(|e| panic!("{e}"));
        let read = pattern.read(text.as_bytes()).ok()?;
        Some((read.seconds, read.part, read.offset))
    }

    /// 2014-02-14T14:30:00Z.
    const TIME: i64 = 1_392_388_200;

    #[test]
    fn common_formats_of_one_time() {
        for (format, text, offset) in [
            ("%d.%m.%Y %H:%M", "14.02.2014 14:30", None),
            ("%d.%m.%Y %H:%M", "14.2.2014 14:30", None),
            ("%m/%d/%Y %I:%M:%S %p", "02/14/2014 02:30:00 PM", None),
            ("%Y%m%d%H%M%S", "20140214143000", None),
            ("%Y-%j %T", "2014-045 14:30:00", None),
            ("%a %b %d %H:%M:%S %Y", "Fri Feb 14 14:30:00 2014", None),
            (
                "%d/%b/%Y:%H:%M:%S %z",
                "14/Feb/2014:14:30:00 +0100",
                Some(3600),
            ),
            ("%FT%T%:z", "2014-02-14T14:30:00-05:30", Some(-19_800)),
            ("%s", "1392388200", Some(0)),
            ("%G-W%V-%u %H:%M", "2014-W07-5 14:30", None),
            ("%y%m%d %H%M", "140214 1430", None),
        ] {
            assert_eq!(read(format, text), Some((TIME, 0, offset)), "{format}");
        }
        let midnight = TIME - TIME % 86_400;
        assert_eq!(read("%d.%m.%Y", "14.02.2014"), Some((midnight, 0, None)));
        let part = Some((TIME, 250_000_000, None));
        assert_eq!(read("%F %T%.f", "2014-02-14 14:30:00.25"), part);
        assert_eq!(read("%F %T,%f", "2014-02-14 14:30:00,25"), part);
        assert_eq!(
            read("%s%.f", "1392388200.25"),
            Some((TIME, 250_000_000, Some(0)))
        );
        assert_eq!(read("%F", "1969-12-31"), Some((-86_400, 0, None)));
    }

    #[test]
    fn other_texts_are_not_read() {
        for (format, text) in [
            ("%d.%m.%Y", "2014-02-14"),
            ("%d.%m.%Y", "31.02.2014"),
            ("%d.%m.%Y", "14.02.2014 10:00"),
            ("%d.%m.%Y", ""),
            ("%d.%m.%Y %H:%M", "14.02.2014 24:30"),
            ("%a %F", "Mon 2014-02-14"),
        ] {
            assert_eq!(read(format, text), None, "{format}");
        }
        let pattern = DatePattern::new("%d.%m.%Y").unwrap();
        assert_eq!(pattern.read(b"14.02.\xff"), Err(TimestampError::Invalid));
        assert_eq!(
            pattern.description(),
            "a time such as 31.12.2024 (--time-format '%d.%m.%Y')"
        );
    }

    #[test]
    fn formats_without_a_date_are_refused() {
        for (format, part) in [
            ("%H:%M", "%H:%M"),
            ("%m/%d", "%m/%d"),
            ("%Y", "%Y"),
            ("%d.%m.%Y %I:%M", "%I"),
            ("%d.%m.%Y %M:%S", "%M"),
            ("%Y-%m-%d %", "%"),
            ("%!", "%!"),
            ("%c", "%c"),
            ("", "such as"),
            ("abc", "abc"),
        ] {
            let error = DatePattern::new(format).unwrap_err();
            assert!(
                error.contains(part) && !error.contains('\n'),
                "{format}: {error}"
            );
        }
        assert!(DatePattern::new(&"%Y".repeat(200)).is_err());
    }
}
