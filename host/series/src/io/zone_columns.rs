//! Columns with the zones of times, or their offsets from UTC, from which no time is read.

use super::timestamp::joined_format;
use super::{IoError, TimeFormat, shorten};
use crate::Zone;

/// Names of columns of zones and offsets: letters and digits in lower case. Long ones are the
/// beginnings of others, such as `utc_offset_minutes`.
const NAMES: [&str; 15] = [
    "tz",
    "zeitzone",
    "tzinfo",
    "tzname",
    "tzid",
    "tzoffset",
    "timezone",
    "timezoneoffset",
    "timezonename",
    "utcoffset",
    "gmtoffset",
    "utcoff",
    "gmtoff",
    "offsetutc",
    "offsetfromutc",
];
/// Names of columns that have zones or offsets, or something else: a cell tells.
const OPEN_NAMES: [&str; 4] = ["offset", "zone", "timeoffset", "localoffset"];
/// What the name of a column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// It has zones or offsets.
    Certain,
    /// It may have.
    Likely,
    /// Nothing: its cells are offsets such as `+01:00`, or names such as `Europe/Zurich`.
    Cells,
}

/// A column beside the times that may have their zones or offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ZoneColumn {
    pub(super) column: usize,
    name: String,
    evidence: Evidence,
}

/// A zone or an offset other than UTC beside a time without an offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ZoneFound {
    /// Position among the columns that may have zones.
    pub(super) position: usize,
    pub(super) time: String,
    pub(super) cell: String,
}

impl ZoneColumn {
    /// The column, if its name or its first cell says so; `is_label` if it tells series apart.
    pub(super) fn of(column: usize, name: &str, first: &str, is_label: bool) -> Option<Self> {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let plain: String = letters.collect::<String>().to_lowercase();
        let is_name =
            |known: &&str| *known == plain || known.len() >= 8 && plain.starts_with(*known);
        let evidence = match () {
            () if NAMES.iter().any(is_name) => Evidence::Certain,
            () if OPEN_NAMES.contains(&plain.as_str()) => Evidence::Likely,
            () if has_colon(first) || is_area(first) && !is_label => Evidence::Cells,
            () => return None,
        };
        Some(Self {
            column,
            name: name.to_owned(),
            evidence,
        })
    }

    /// Whether a cell, which does not stand for a missing one, is a zone or an offset other than
    /// UTC.
    pub(super) fn is_zone(&self, cell: &[u8]) -> bool {
        let cell = cell.trim_ascii();
        let Ok(text) = std::str::from_utf8(cell) else {
            return false;
        };
        if cell.is_empty() || is_utc(text) {
            return false;
        }
        match self.evidence {
            Evidence::Certain => true,
            Evidence::Likely => {
                let has_sign = text.starts_with('+') || text.len() == 5;
                has_colon(text)
                    || has_colon(&format!("+{text}"))
                    || is_area(text)
                    || is_abbreviation(text)
                    || has_sign && offset(text).is_some()
            }
            Evidence::Cells => has_colon(text) || is_area(text),
        }
    }

    /// The error of times without an offset in the format that the options state; `of_times` is the
    /// name of their column, if that has whole times.
    pub(super) fn refusal(
        &self,
        file: &str,
        of_times: Option<&str>,
        found: &ZoneFound,
        time_format: &TimeFormat,
    ) -> IoError {
        let ZoneFound { time, cell, .. } = found;
        let quoted = |name: &str| match shorten(name) {
            name if name.contains(char::is_whitespace) => format!("'{name}'"),
            name => name,
        };
        let name = quoted(&self.name);
        let joined = of_times.and_then(|times| {
            let stated = match time_format {
                TimeFormat::Pattern(pattern) => Some(pattern.format()),
                _ => None,
            };
            let format = joined_format(time, cell, stated)?;
            let times = quoted(times);
            Some(format!(
                "--date-column {times} --time-column {name} --time-format '{format}', which joins both"
            ))
        });
        let joined = joined.unwrap_or_else(|| {
            "times with their offsets, such as 2024-01-31T10:00:00+01:00".to_owned()
        });
        IoError::Option {
            file: file.to_owned(),
            option: "--timezone",
            reason: format!(
                "expected the zone of all times (UTC if they are in UTC), or {joined}, as the times have no offset and the column {name} has '{}', found neither",
                shorten(cell)
            ),
        }
    }
}

/// The minutes east of UTC in a text such as `+01:00`, `-5`, `+0530` or `UTC+1`.
fn offset(text: &str) -> Option<i32> {
    let text = text.trim();
    let prefix = text
        .get(..3)
        .filter(|start| start.eq_ignore_ascii_case("utc") || start.eq_ignore_ascii_case("gmt"));
    let text = if prefix.is_some() {
        text[3..].trim()
    } else {
        text
    };
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = match (rest.split_once(':'), rest.len()) {
        (Some((hours, minutes)), 4..=5) => (hours, minutes),
        (None, 4) if rest.is_ascii() => rest.split_at(2),
        (None, 1..=2) => (rest, "00"),
        _ => return None,
    };
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let whole = is_digits(hours) && is_digits(minutes) && minutes.len() == 2;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let is_usual = whole && hours <= 14 && minutes % 15 == 0 && (hours > 0 || minutes == 0);
    is_usual.then_some(sign * (60 * hours + minutes))
}

/// Whether a text is an offset with a colon, or after UTC or GMT.
fn has_colon(text: &str) -> bool {
    offset(text).is_some()
        && (text.contains(':')
            || text.trim().len() > 3
                && !text.is_empty()
                && text.trim().as_bytes()[0].is_ascii_alphabetic())
}

/// Whether a text is a name of UTC, or no offset.
fn is_utc(text: &str) -> bool {
    let plain = text.to_ascii_lowercase();
    let names = [
        "utc", "z", "gmt", "zulu", "uct", "utc0", "etc/utc", "etc/gmt", "00:00",
    ];
    names.contains(&plain.as_str())
        || offset(text) == Some(0)
        || text.parse::<f64>().is_ok_and(|number| number == 0.0)
}

/// Whether a text is the name of a zone such as `Europe/Zurich`.
fn is_area(text: &str) -> bool {
    let text = text.trim();
    text.contains('/') && text.len() < 40 && Zone::named(text).is_ok()
}

/// Whether a text is an abbreviation of a zone: `CET`.
fn is_abbreviation(text: &str) -> bool {
    let others = [
        "MEZ", "MESZ", "CEST", "EEST", "WEST", "BST", "IST", "JST", "KST", "MSK", "EDT", "CST",
        "CDT", "MDT", "PST", "PDT", "AEST", "AEDT", "ACST", "AWST", "NZST", "NZDT", "HKT", "SGT",
    ];
    let is_capital = text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_uppercase());
    is_capital && text.len() > 2 && (others.contains(&text) || Zone::named(text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_and_offsets_are_recognised() {
        for (name, cell) in [
            ("offset", "+01:00"),
            ("offset", "-0500"),
            ("offset", "+1"),
            ("tz", "CET"),
            ("TZ", "Europe/Zurich"),
            ("tz", "local"),
            ("utc_offset", "1"),
            ("UTC offset (h)", "-3.5"),
            ("utc_offset_minutes", "60"),
            ("zone", "CEST"),
            ("offset", "1:00"),
            ("Zeitzone", "MEZ"),
            ("UTC Offset (HH:MM)", "02:00"),
            ("where", "+05:30"),
            ("where", "UTC+1"),
            ("where", "America/New_York"),
        ] {
            let zone = ZoneColumn::of(2, name, cell, false);
            assert!(
                zone.is_some_and(|zone| zone.is_zone(cell.as_bytes())),
                "{name} {cell}"
            );
        }
        for (name, cell) in [
            ("tz", "UTC"),
            ("tz", "Z"),
            ("tz", ""),
            ("offset", "+00:00"),
            ("offset", "0.35"),
            ("offset", "-5"),
            ("offset", "1700"),
            ("zone", "A"),
            ("zone", "4"),
            ("utc_offset", "0"),
            ("status", "EST"),
            ("delay", "+00:30"),
            ("path", "a/b"),
            ("station", "UTC"),
        ] {
            let zone = ZoneColumn::of(2, name, cell, false);
            assert!(
                !zone.is_some_and(|zone| zone.is_zone(cell.as_bytes())),
                "{name} {cell}"
            );
        }
        assert_eq!(ZoneColumn::of(2, "site", "Europe/Zurich", true), None);
    }
}
