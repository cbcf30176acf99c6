//! Cells of typed tables, and the labels that they make.

use crate::io::series_key::SeriesKey;
use crate::io::timestamp::{TimestampError, Unit, day};
use std::borrow::Cow;

/// The Julian day that begins at noon of 1970-01-01; files count it from midnight.
const JULIAN_1970: i64 = 2_440_588;
pub(super) const DAY: i64 = 86_400_000_000_000;

/// How a timestamp column represents times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io) enum TimeKind {
    /// Numbers of this unit since 1970.
    SinceEpoch(Unit),
    /// The same, without a zone: on local clocks.
    Naive(Unit),
    /// Days since 1970.
    Days,
    /// Julian days and nanoseconds, Parquet's INT96.
    Julian,
    /// Numbers or texts whose format is determined by the first one.
    Inferred,
}

/// A cell of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::io) enum Cell<'c> {
    Null,
    Integer(i64),
    /// An unsigned integer.
    Unsigned(u64),
    Real(f64),
    /// Nanoseconds within a day, and the Julian day number.
    Julian(u64, u32),
    Text(&'c [u8]),
    /// Days since 1970.
    Day(i64),
    /// A time that is a label: a number of this unit since 1970, in UTC or on local clocks.
    Moment(i64, Unit, bool),
    Boolean(bool),
    /// Bytes that are no text; 16 of them are a UUID.
    Bytes(&'c [u8]),
}

/// The name of a series in a row.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::io) enum NameCell<'c> {
    /// The file is one series.
    None,
    One(Cell<'c>),
    /// Made of labels.
    Labels(Vec<u8>),
}

impl<'c> NameCell<'c> {
    /// `cell` returns the cell of each column of `key`, by its position there, and `times` has the
    /// kinds of those of times. Null is an empty label.
    #[inline]
    pub(in crate::io) fn of(
        key: &SeriesKey,
        times: &[Option<TimeKind>],
        mut cell: impl FnMut(usize) -> Cell<'c>,
    ) -> Self {
        let mut cell = |position| cell(position).label_of(times.get(position).copied().flatten());
        match key {
            SeriesKey::File => Self::None,
            SeriesKey::Column(_) => Self::One(cell(0)),
            SeriesKey::Labels(labels) => {
                let positions = 0..labels.columns().len();
                let values: Vec<_> = positions.map(|p| cell(p).into_label()).collect();
                let mut name = Vec::new();
                labels.name(values.iter().map(|value| &**value), &mut name);
                Self::Labels(name)
            }
        }
    }
}

impl<'c> Cell<'c> {
    /// The cell of a column of bytes without a type: mostly text.
    #[inline]
    pub(in crate::io) fn of_bytes(bytes: &'c [u8]) -> Self {
        let is_text = std::str::from_utf8(bytes).is_ok_and(|text| !text.contains(char::is_control));
        match is_text {
            true => Self::Text(bytes),
            false => Self::Bytes(bytes),
        }
    }

    /// A number that differs between dates and times; `None` for other cells.
    pub(super) fn date(self) -> Option<u64> {
        match self {
            Self::Integer(number) => Some(number.cast_unsigned()),
            Self::Day(days) => Some(days.wrapping_mul(DAY).cast_unsigned()),
            Self::Moment(n, unit, _) => {
                let unit = unit.nanoseconds().cast_signed();
                Some(n.wrapping_mul(unit).cast_unsigned())
            }
            Self::Julian(nanoseconds, day) => {
                let day = u64::from(day).wrapping_mul(DAY.unsigned_abs());
                Some(day.wrapping_add(nanoseconds))
            }
            _ => None,
        }
    }

    /// The cell of a column of labels or of unused dates, which has times of this kind.
    pub(in crate::io) fn label_of(self, kind: Option<TimeKind>) -> Self {
        match (self, kind) {
            (Self::Integer(n), Some(TimeKind::SinceEpoch(unit))) => Self::Moment(n, unit, true),
            (Self::Integer(n), Some(TimeKind::Naive(unit))) => Self::Moment(n, unit, false),
            _ => self,
        }
    }

    pub(super) fn into_label(self) -> Cow<'c, [u8]> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Integer(n) => Cow::Owned(n.to_string().into_bytes()),
            Self::Unsigned(n) => Cow::Owned(n.to_string().into_bytes()),
            Self::Boolean(true) => Cow::Borrowed(b"true"),
            Self::Boolean(false) => Cow::Borrowed(b"false"),
            Self::Day(days) => Cow::Owned(day(days).into_bytes()),
            Self::Bytes(bytes) => Cow::Owned(hexadecimal(bytes).into_bytes()),
            Self::Moment(n, unit, is_utc) => {
                let nanoseconds = n.checked_mul(unit.nanoseconds().cast_signed());
                let text = nanoseconds.map(|time| time_label(time, is_utc));
                Cow::Owned(text.unwrap_or_else(|| n.to_string()).into_bytes())
            }
            Self::Julian(nanoseconds, day) => {
                let text = julian(nanoseconds, day).map(|time| time_label(time, true));
                let text = text.unwrap_or_else(|_| format!("Julian day {day}, {nanoseconds} ns"));
                Cow::Owned(text.into_bytes())
            }
            Self::Null | Self::Real(_) => Cow::Borrowed(&[]),
        }
    }
}

/// The label of a time, nanoseconds since 1970 in UTC or on local clocks: ISO 8601.
#[must_use]
pub fn time_label(nanoseconds: i64, is_utc: bool) -> String {
    let mut text = crate::io::iso(nanoseconds);
    if !is_utc {
        text.pop();
    }
    text
}

/// Bytes as hexadecimal digits, 16 of them with the hyphens of a UUID.
fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len() + 4);
    for (position, byte) in bytes.iter().enumerate() {
        if bytes.len() == 16 && matches!(position, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text += &format!("{byte:02x}");
    }
    text
}

/// Nanoseconds since 1970 of a Julian day and nanoseconds within it.
pub(super) fn julian(nanoseconds: u64, day: u32) -> Result<i64, TimestampError> {
    if nanoseconds >= DAY.unsigned_abs() {
        return Err(TimestampError::Invalid);
    }
    let days = i64::from(day) - JULIAN_1970;
    if days < 0 {
        return Err(TimestampError::TooEarly);
    }
    days.checked_mul(DAY)
        .and_then(|n| n.checked_add(nanoseconds as i64))
        .ok_or(TimestampError::TooLate)
}
