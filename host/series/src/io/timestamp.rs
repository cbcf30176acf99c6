//! Parses and writes timestamps: ISO 8601, or numbers since 1970 in seconds, milliseconds,
//! microseconds or nanoseconds; in zones and in formats that the user names.

mod calendar;
mod error;
mod plausible;
mod reading;
mod scientific;
mod suggestions;
mod unit;
mod writing;

pub(super) use error::TimestampError;
pub(super) use plausible::{Plausible, latest_year};
pub use reading::Ambiguous;
pub(super) use reading::{LocalTimes, Reading};
pub(super) use suggestions::{joined_format, suggestion};
pub use unit::TimeUnit;
pub(super) use unit::Unit;
#[cfg(feature = "parquet")]
pub(super) use writing::day;
pub use writing::{iso, iso_in};
pub(super) use writing::{write_iso, write_iso_in};

use super::date_pattern::DatePattern;
use calendar::{DAY_SECONDS, SECOND, days_of_month, days_since_1970, is_date, is_minute};

/// The format of a file's timestamps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TimestampFormat {
    /// ISO 8601, in UTC without an offset.
    Iso,
    /// ISO 8601, in local time without an offset.
    Local(LocalTimes),
    /// ISO 8601 with an offset.
    Rfc3339,
    /// As the user writes it; without an offset in local time, if the zone is known, else in UTC.
    Pattern(DatePattern, Option<LocalTimes>),
    /// A number of units since 1970.
    Epoch {
        unit: Unit,
        /// What says that this is the unit.
        origin: UnitOrigin,
    },
}

/// What says which unit a file's timestamps have, and hence which of them are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitOrigin {
    /// An option, which is obeyed.
    Stated,
    /// The name of the column, if the first timestamp is [`Plausible`] in some unit. A timestamp is
    /// rejected that is so in another unit only.
    Column,
    /// The name of the column. The first timestamp is [`Plausible`] in no unit, as times since the
    /// start of a measurement are, so none is rejected.
    Elapsed,
    /// The format of the file. The same timestamps are rejected.
    Format,
    /// The first timestamp. Those that look like another unit, or that are not [`Plausible`], are
    /// rejected.
    Inferred,
}

impl UnitOrigin {
    /// That of a unit; `stated` if it is from an option, else from the name of a column that begins
    /// with `first`.
    pub(super) fn of(unit: TimeUnit, stated: bool, first: u64) -> Self {
        match (unit, stated) {
            (TimeUnit::Auto, _) => Self::Inferred,
            (_, true) => Self::Stated,
            (_, false)
                if Unit::ALL
                    .iter()
                    .any(|unit| Plausible::of(*unit).contains(first)) =>
            {
                Self::Column
            }
            (_, false) => Self::Elapsed,
        }
    }

    /// What says so, for messages.
    pub(super) fn source(self) -> &'static str {
        match self {
            Self::Stated => "as an option says",
            Self::Column | Self::Elapsed => "as the name of the column says",
            Self::Format => "as in this format",
            Self::Inferred => "as in the first row of the file",
        }
    }
}

impl Unit {
    /// Rejects a number that is probably not of this unit.
    #[inline]
    fn check(self, number: u64, origin: UnitOrigin) -> Result<(), TimestampError> {
        if matches!(origin, UnitOrigin::Stated | UnitOrigin::Elapsed)
            || Plausible::of(self).contains(number)
        {
            return Ok(());
        }
        self.doubt(number, origin)
    }

    #[cold]
    fn doubt(self, number: u64, origin: UnitOrigin) -> Result<(), TimestampError> {
        if origin == UnitOrigin::Inferred {
            let inferred = Self::of_magnitude(number);
            return Err(match inferred == self {
                true => TimestampError::NoUnit,
                false => TimestampError::OtherUnit(inferred),
            });
        }
        let mut plausible = Self::ALL.into_iter();
        let other = plausible.find(|unit| Plausible::of(*unit).contains(number));
        other.map_or(Ok(()), |unit| Err(TimestampError::OtherUnit(unit)))
    }
}

impl TimestampFormat {
    /// The format of a file whose first timestamp is `text`; `None` if it is not a timestamp.
    pub(super) fn of_first(text: &[u8], unit: TimeUnit) -> Option<Self> {
        Self::assumed(text, unit, true)
    }

    /// The same; `stated` if `unit` is from an option.
    pub(super) fn assumed(text: &[u8], unit: TimeUnit, stated: bool) -> Option<Self> {
        let known =
            |result: Result<i64, TimestampError>| !matches!(result, Err(TimestampError::Invalid));
        if let Some(number) = whole_part(text) {
            let time_format = Self::Epoch {
                unit: Unit::named(unit).unwrap_or(Unit::of_magnitude(number)),
                origin: UnitOrigin::of(unit, stated, number),
            };
            return known(time_format.read(text)).then_some(time_format);
        }
        known(Self::Iso.read(text)).then_some(Self::Iso)
    }

    /// The same with local times in ISO 8601.
    pub(super) fn in_zone(self, local: Option<LocalTimes>) -> Self {
        match (self, local) {
            (Self::Iso, Some(local)) => Self::Local(local),
            (other, _) => other,
        }
    }

    /// Parses a timestamp to nanoseconds since 1970.
    #[inline]
    pub(super) fn read(&self, text: &[u8]) -> Result<i64, TimestampError> {
        self.read_counting(text, &mut 0)
    }

    /// The same; adds one to `twice` if clocks show the time twice.
    #[inline]
    pub(super) fn read_counting(
        &self,
        text: &[u8],
        twice: &mut u64,
    ) -> Result<i64, TimestampError> {
        match self {
            Self::Iso => iso_reading(text)?.nanoseconds(None, twice),
            Self::Epoch { unit, origin } => epoch(text, *unit, *origin),
            Self::Local(local) => iso_reading(text)?.nanoseconds(Some(*local), twice),
            Self::Rfc3339 => {
                let reading = iso_reading(text)?;
                match reading.offset {
                    Some(_) => reading.nanoseconds(None, twice),
                    None => Err(TimestampError::Invalid),
                }
            }
            Self::Pattern(pattern, local) => pattern.read(text)?.nanoseconds(*local, twice),
        }
    }

    /// Whether it reads a text as a time without an offset from UTC that no zone is known for.
    pub(super) fn is_without_offset(&self, text: &[u8]) -> bool {
        let text = text.trim_ascii();
        let reading = match self {
            Self::Iso => iso_reading(text).ok(),
            Self::Pattern(pattern, None) => pattern.read(text).ok(),
            _ => None,
        };
        let is_utc = || {
            [&b"Z"[..], b"UTC", b"GMT"]
                .iter()
                .any(|end| text.ends_with(end))
        };
        reading.is_some_and(|reading| reading.offset.is_none()) && !is_utc()
    }

    /// Whether numbers since 1970 are in none of its times.
    pub(super) fn is_text(&self) -> bool {
        !matches!(self, Self::Epoch { .. })
    }

    /// What says that numbers are in the expected unit, for messages.
    pub(super) fn source_of_unit(&self) -> String {
        match self {
            Self::Epoch { unit, origin } if *origin == UnitOrigin::Column => format!(
                "{}; --time-unit {} keeps to it",
                origin.source(),
                unit.option()
            ),
            Self::Epoch { origin, .. } => origin.source().to_owned(),
            _ => UnitOrigin::Inferred.source().to_owned(),
        }
    }

    /// The expected format, for messages.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Iso | Self::Local(_) => {
                "an ISO 8601 timestamp such as 2014-02-14T14:30:00Z".to_owned()
            }
            Self::Rfc3339 => {
                "an RFC 3339 timestamp with offset such as 2014-02-14T14:30:00Z".to_owned()
            }
            Self::Pattern(pattern, _) => pattern.description(),
            Self::Epoch { unit, .. } => {
                format!("a number of {} since 1970", unit.description())
            }
        }
    }
}

/// Whether a number is a likely time in seconds, but not in milliseconds.
pub(super) fn is_in_seconds(text: &[u8]) -> bool {
    let is = |unit: Unit, number: u64| Plausible::of(unit).contains(number);
    whole_part(text).is_some_and(|n| is(Unit::Seconds, n) && !is(Unit::Milliseconds, n))
}

/// Whether a number is a likely time in milliseconds.
pub(super) fn is_in_milliseconds(text: &[u8]) -> bool {
    whole_part(text).is_some_and(|number| Plausible::of(Unit::Milliseconds).contains(number))
}

/// Nanoseconds since 1970 for an integer number of units.
#[inline]
pub(super) fn whole(number: i64, unit: Unit, origin: UnitOrigin) -> Result<i64, TimestampError> {
    let count = u64::try_from(number).map_err(|_| TimestampError::TooEarly)?;
    unit.check(count, origin)?;
    let nanoseconds = count
        .checked_mul(unit.nanoseconds())
        .ok_or(TimestampError::TooLate)?;
    i64::try_from(nanoseconds).map_err(|_| TimestampError::TooLate)
}

/// What a number without a unit looks like, with the form in which it would be understood.
pub(super) fn resemblance(text: &str) -> Option<String> {
    let number: u64 = text.parse().ok()?;
    let date = |number: u64| {
        let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
        format!("{year}-{month:02}-{day:02}")
    };
    match text.len() {
        4 if (1900..=2100).contains(&number) => {
            Some(format!("looks like a year (write {number}-01-01)"))
        }
        8 if is_date(number) => Some(format!("looks like a date (write {})", date(number))),
        17 | 18 if NET_TICKS.contains(&number) => {
            Some("looks like .NET ticks of 100 ns since the year 1 (write ISO 8601)".to_owned())
        }
        12 if is_minute(number) => Some(format!(
            "looks like a date and a time (write {}T{:02}:{:02})",
            date(number / 10_000),
            number / 100 % 100,
            number % 100
        )),
        _ => None,
    }
}

/// Times from 1970 to 2070 in ticks of 100 ns since the year 1.
const NET_TICKS: std::ops::Range<u64> = 621_355_968_000_000_000..653_000_000_000_000_000;

/// The digits before the decimal point: at most 20 digits, optionally with a minus sign.
fn whole_part(text: &[u8]) -> Option<u64> {
    if let Some(plain) = scientific::plain(text) {
        return whole_part(&plain.digits);
    }
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = &text[digits..];
    if digits == 0 || !(rest.is_empty() || rest[0] == b'.') {
        return None;
    }
    let number = text[..digits].iter().try_fold(0_u64, |n, digit| {
        n.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    });
    Some(number.unwrap_or(u64::MAX))
}

/// Parses an integer or decimal number of units.
fn epoch(text: &[u8], unit: Unit, origin: UnitOrigin) -> Result<i64, TimestampError> {
    let mut number = 0_u64;
    let mut rest = text;
    while let [digit @ b'0'..=b'9', more @ ..] = rest {
        number = number
            .checked_mul(10)
            .and_then(|n| n.checked_add(u64::from(digit - b'0')))
            .unwrap_or(u64::MAX);
        rest = more;
    }
    if matches!(rest, [b'e' | b'E', ..]) {
        return in_scientific_notation(text, unit, origin);
    }
    if rest.len() == text.len() {
        // −0 is not before 1970, but does not occur in practice.
        return Err(match whole_part(text) {
            Some(_) => TimestampError::TooEarly,
            None => TimestampError::Invalid,
        });
    }
    if matches!(rest, [b'.', decimals @ ..] if decimals.iter().any(|b| matches!(b, b'e' | b'E'))) {
        return in_scientific_notation(text, unit, origin);
    }
    let doubt = unit.check(number, origin);
    if let Err(TimestampError::OtherUnit(_)) = doubt {
        doubt?;
    }
    let mut part = 0_u64;
    match rest {
        [] => {}
        [b'.', decimals @ ..] => {
            let mut digit_is = unit.nanoseconds();
            for digit in decimals {
                let value = u64::from(digit.wrapping_sub(b'0'));
                if value > 9 {
                    return Err(TimestampError::Invalid);
                }
                digit_is /= 10;
                if digit_is == 0 && value != 0 {
                    return Err(TimestampError::TooFine);
                }
                part += value * digit_is;
            }
        }
        _ => return Err(TimestampError::Invalid),
    }
    doubt?;
    let nanoseconds = number
        .checked_mul(unit.nanoseconds())
        .and_then(|n| n.checked_add(part))
        .ok_or(TimestampError::TooLate)?;
    i64::try_from(nanoseconds).map_err(|_| TimestampError::TooLate)
}

/// Reads a number such as `1.440089182e9`.
#[cold]
fn in_scientific_notation(
    text: &[u8],
    unit: Unit,
    origin: UnitOrigin,
) -> Result<i64, TimestampError> {
    let plain = scientific::plain(text).ok_or(TimestampError::Invalid)?;
    let nanoseconds = epoch(&plain.digits, unit, origin)?;
    let step = u128::from(unit.nanoseconds()) * 10_u128.pow(plain.zeros.min(20));
    let is_obeyed = matches!(origin, UnitOrigin::Stated | UnitOrigin::Elapsed);
    if !is_obeyed && step > u128::from(SECOND.unsigned_abs()) {
        return Err(TimestampError::Rounded);
    }
    Ok(nanoseconds)
}

/// A number of two digits; a large number if there are other characters.
#[inline(always)]
fn two(tens: u8, ones: u8) -> i64 {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    if tens > 9 || ones > 9 {
        return i64::MAX >> 32;
    }
    i64::from(tens * 10 + ones)
}

/// Parses `2014-02-14`, optionally followed by `T` or a space and `14:30`, `14:30:00` or
/// `14:30:00.123456789`, and then by nothing, `Z`, `UTC`, `GMT`, `+01`, `+0100` or `+01:00`, also
/// after a blank.
#[inline]
fn iso_reading(text: &[u8]) -> Result<Reading, TimestampError> {
    let Some((&[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2], rest)) =
        text.split_first_chunk::<10>()
    else {
        return Err(TimestampError::Invalid);
    };
    let year = two(y1, y2) * 100 + two(y3, y4);
    let (month, day) = (two(m1, m2), two(d1, d2));
    if !(0..=9999).contains(&year)
        || !(1..=12).contains(&month)
        || day < 1
        || day > days_of_month(year, month)
    {
        return Err(TimestampError::Invalid);
    }
    let mut seconds = days_since_1970(year, month, day) * DAY_SECONDS;
    let mut part = 0_i64;
    let mut shift = None;
    match rest {
        [] => {}
        [b'T' | b't' | b' ', h1, h2, b':', m1, m2, rest @ ..] => {
            let (hour, minute) = (two(*h1, *h2), two(*m1, *m2));
            let (second, rest) = match rest {
                [b':', s1, s2, rest @ ..] => (two(*s1, *s2), rest),
                _ => (0, rest),
            };
            if hour > 23 || minute > 59 || second > 59 {
                return Err(TimestampError::Invalid);
            }
            seconds += hour * 3600 + minute * 60 + second;
            let rest = match rest {
                [b'.' | b',', rest @ ..] => {
                    let (value, rest) = fraction(rest)?;
                    part = value;
                    rest
                }
                _ => rest,
            };
            if !rest.is_empty() {
                shift = Some(offset(rest)?);
            }
        }
        _ => return Err(TimestampError::Invalid),
    }
    Ok(Reading {
        seconds,
        part,
        offset: shift,
    })
}

/// Nanoseconds of the decimals at the start of `text`, and the remaining text.
fn fraction(text: &[u8]) -> Result<(i64, &[u8]), TimestampError> {
    let (mut value, mut digit_is) = (0_i64, SECOND);
    let mut rest = text;
    while let [digit @ b'0'..=b'9', more @ ..] = rest {
        digit_is /= 10;
        if digit_is == 0 && *digit != b'0' {
            return Err(TimestampError::TooFine);
        }
        value += i64::from(digit - b'0') * digit_is;
        rest = more;
    }
    if rest.len() == text.len() {
        return Err(TimestampError::Invalid);
    }
    Ok((value, rest))
}

/// Offset of local time from UTC in seconds.
fn offset(text: &[u8]) -> Result<i64, TimestampError> {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let (sign, hours, minutes) = match text {
        [b'Z' | b'z'] => return Ok(0),
        name if [&b"UTC"[..], b"GMT"]
            .iter()
            .any(|utc| name.eq_ignore_ascii_case(utc)) =>
        {
            return Ok(0);
        }
        [sign @ (b'+' | b'-'), h1, h2] => (sign, two(*h1, *h2), 0),
        [sign @ (b'+' | b'-'), h1, h2, m1, m2] | [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            (sign, two(*h1, *h2), two(*m1, *m2))
        }
        _ => return Err(TimestampError::Invalid),
    };
    if hours > 23 || minutes > 59 {
        return Err(TimestampError::Invalid);
    }
    let seconds = hours * 3600 + minutes * 60;
    Ok(if *sign == b'+' { seconds } else { -seconds })
}

#[cfg(test)]
mod tests;
