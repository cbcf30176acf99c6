//! The options on formats and zones of timestamps.

use super::date_pattern::DatePattern;
use super::timestamp::{LocalTimes, TimeUnit, TimestampFormat, Unit, UnitOrigin};
use std::str::FromStr;

/// The format of timestamps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TimeFormat {
    /// ISO 8601 or numbers since 1970, as the first timestamp of a file is.
    #[default]
    Auto,
    /// ISO 8601, with or without an offset.
    Iso,
    /// ISO 8601 with an offset.
    Rfc3339,
    /// Numbers of this unit since 1970.
    Unix(TimeUnit),
    /// As the pattern says.
    Pattern(DatePattern),
}

impl TimeFormat {
    pub(super) fn timestamp_format(&self, local: Option<LocalTimes>) -> Option<TimestampFormat> {
        match self {
            Self::Auto => None,
            Self::Iso => Some(TimestampFormat::Iso.in_zone(local)),
            Self::Rfc3339 => Some(TimestampFormat::Rfc3339),
            Self::Unix(unit) => Unit::named(*unit).map(|unit| TimestampFormat::Epoch {
                unit,
                origin: UnitOrigin::Stated,
            }),
            Self::Pattern(pattern) => Some(TimestampFormat::Pattern(pattern.clone(), local)),
        }
    }
}

impl FromStr for TimeFormat {
    type Err = String;

    /// Parses `auto`, `iso`, `rfc3339`, `unix` (seconds), `unix-ms`, `unix-us`, `unix-ns`, or a
    /// pattern with `%`. Names may also have other usual forms: `iso8601`, `unix_ms`, `unix-s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.replace('_', "-").to_ascii_lowercase();
        Ok(match name.as_str() {
            _ if text.contains('%') => Self::Pattern(DatePattern::new(text)?),
            "auto" => Self::Auto,
            "iso" | "iso8601" | "iso-8601" => Self::Iso,
            "rfc3339" | "rfc-3339" => Self::Rfc3339,
            "unix" | "unix-s" => Self::Unix(TimeUnit::Seconds),
            "unix-ms" => Self::Unix(TimeUnit::Milliseconds),
            "unix-us" => Self::Unix(TimeUnit::Microseconds),
            "unix-ns" => Self::Unix(TimeUnit::Nanoseconds),
            _ => {
                return Err(format!(
                    "expected auto, iso, rfc3339, unix, unix-ms, unix-us, unix-ns, or a pattern such as %d.%m.%Y %H:%M:%S, found '{}'",
                    super::shorten(text)
                ));
            }
        })
    }
}
