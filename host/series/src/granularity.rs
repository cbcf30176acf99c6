//! Lengths of buckets.

use super::SeriesError;
use std::fmt;
use std::str::FromStr;
use warpstride_kernels::series::bucket::{Bucketing, WEEKS};

/// The length of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Granularity {
    /// A number of nanoseconds, aligned to the epoch; 1 … 2⁶³ − 1.
    Fixed(u64),
    /// A calendar unit, in UTC.
    Calendar(Calendar),
}

/// Calendar units of buckets, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Calendar {
    /// Sunday to Saturday.
    Week,
    /// Months.
    Month,
    /// Quarters, from the first of January, April, July and October.
    Quarter,
    /// Half-years, from the first of January and July.
    HalfYear,
    /// Years.
    Year,
}

/// Units of a length, the longest first, in nanoseconds.
const UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
    ("ns", 1),
];

const CALENDARS: [(&str, Calendar); 5] = [
    ("W", Calendar::Week),
    ("M", Calendar::Month),
    ("Q", Calendar::Quarter),
    ("H", Calendar::HalfYear),
    ("Y", Calendar::Year),
];

impl Granularity {
    /// The rule for assigning times to buckets, as host and kernels use it.
    #[must_use]
    pub fn bucketing(self) -> Bucketing {
        match self {
            Self::Fixed(step) => Bucketing::fixed(step),
            Self::Calendar(Calendar::Week) => Bucketing::calendar(WEEKS),
            Self::Calendar(Calendar::Month) => Bucketing::calendar(1),
            Self::Calendar(Calendar::Quarter) => Bucketing::calendar(3),
            Self::Calendar(Calendar::HalfYear) => Bucketing::calendar(6),
            Self::Calendar(Calendar::Year) => Bucketing::calendar(12),
        }
    }
}

impl FromStr for Granularity {
    type Err = SeriesError;

    /// Parses `60s`, `5m`, `1h`, `1d`, `250ms`, `10us`, `1ns`, a bare number of seconds (`60`,
    /// `0.5`), or `W`, `M`, `Q`, `H` (half-year), `Y`.
    fn from_str(text: &str) -> Result<Self, SeriesError> {
        let refuse = || SeriesError::Granularity(text.to_owned());
        if let Some((_, calendar)) = CALENDARS.iter().find(|(name, _)| *name == text) {
            return Ok(Self::Calendar(*calendar));
        }
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "" => 1_000_000_000,
            name => {
                UNITS
                    .iter()
                    .find(|(unit, _)| *unit == name)
                    .ok_or_else(refuse)?
                    .1
            }
        };
        let nanoseconds = match digits.split_once('.') {
            None => digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)),
            Some((whole, part)) => decimal(whole, part, unit),
        };
        match nanoseconds {
            Some(n @ 1..)
                if i64::try_from(n).is_ok() && digits.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                Ok(Self::Fixed(n))
            }
            _ => Err(refuse()),
        }
    }
}

/// `whole.part` units in nanoseconds; `None` if that is not a whole number.
fn decimal(whole: &str, part: &str, unit: u64) -> Option<u64> {
    let scale = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let (whole, part): (u64, u64) = (whole.parse().ok()?, part.parse().ok()?);
    let of_part = u128::from(part) * u128::from(unit);
    let exact = of_part % u128::from(scale) == 0;
    let of_part = u64::try_from(of_part / u128::from(scale)).ok()?;
    exact.then(|| whole.checked_mul(unit)?.checked_add(of_part))?
}

impl fmt::Display for Granularity {
    /// Writes the length in the largest unit that divides it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(n) => {
                let (name, unit) = UNITS
                    .into_iter()
                    .find(|(_, unit)| n % unit == 0)
                    .unwrap_or(("ns", 1));
                write!(f, "{}{name}", n / unit)
            }
            Self::Calendar(calendar) => {
                let (name, _) = CALENDARS
                    .into_iter()
                    .find(|(_, c)| c == calendar)
                    .unwrap_or(CALENDARS[0]);
                f.write_str(name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_parsed_and_displayed() {
        for (text, nanoseconds, written) in [
            ("60s", 60_000_000_000, "1m"),
            ("60", 60_000_000_000, "1m"),
            ("0.5", 500_000_000, "500ms"),
            ("1.5h", 5_400_000_000_000, "90m"),
            ("1d", 86_400_000_000_000, "1d"),
            ("35s", 35_000_000_000, "35s"),
            ("1ns", 1, "1ns"),
        ] {
            let read: Granularity = text.parse().unwrap();
            assert_eq!(read, Granularity::Fixed(nanoseconds));
            assert_eq!(read.to_string(), written);
            assert_eq!(written.parse::<Granularity>().unwrap(), read);
        }
        for name in ["W", "M", "Q", "H", "Y"] {
            assert_eq!(name.parse::<Granularity>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn invalid_lengths_are_rejected() {
        for text in [
            "",
            "s",
            "0",
            "0s",
            "-5s",
            "5x",
            "5 s",
            "1e3",
            ".5s",
            "0.1ns",
            "9999999999d",
            "w",
            "18446744073709551616ns",
            "9223372036854775808ns",
            "5é",
        ] {
            assert!(text.parse::<Granularity>().is_err(), "{text}");
        }
    }
}
