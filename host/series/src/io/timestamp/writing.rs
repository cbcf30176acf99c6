//! Writes timestamps in ISO 8601.

use super::calendar::{DAY_SECONDS, SECOND, date_of};
use crate::Zone;

/// The date of a number of days since 1970: `2014-02-14`.
#[cfg(feature = "parquet")]
pub(in crate::io) fn day(days: i64) -> String {
    let days = days.clamp(-700_000, 2_900_000);
    let (year, month, day) = date_of(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Appends `2014-02-14T14:30:00Z`, with as many groups of three decimals as necessary.
pub(in crate::io) fn write_iso(text: &mut Vec<u8>, nanoseconds: i64) {
    write_clock(text, nanoseconds);
    text.push(b'Z');
}

/// Appends `2014-02-14T15:30:00+01:00`, likewise, on the clocks of a zone. Offsets with seconds,
/// which ISO 8601 does not have, are written in UTC.
pub(in crate::io) fn write_iso_in(text: &mut Vec<u8>, nanoseconds: i64, zone: Zone) {
    let offset = zone.offset(nanoseconds);
    let local = offset
        .checked_mul(SECOND)
        .and_then(|o| nanoseconds.checked_add(o));
    let (Some(local), 0) = (local, offset % 60) else {
        write_iso(text, nanoseconds);
        return;
    };
    write_clock(text, local);
    text.push(if offset < 0 { b'-' } else { b'+' });
    let minutes = offset.abs() / 60;
    digits(text, minutes / 60, 2);
    text.push(b':');
    digits(text, minutes % 60, 2);
}

fn digits(text: &mut Vec<u8>, value: i64, width: u32) {
    for power in (0..width).rev() {
        text.push(b'0' + (value / 10_i64.pow(power) % 10) as u8);
    }
}

/// Appends date and time without an offset.
fn write_clock(text: &mut Vec<u8>, nanoseconds: i64) {
    let (seconds, part) = (
        nanoseconds.div_euclid(SECOND),
        nanoseconds.rem_euclid(SECOND),
    );
    let (days, second) = (
        seconds.div_euclid(DAY_SECONDS),
        seconds.rem_euclid(DAY_SECONDS),
    );
    let (year, month, day) = date_of(days);
    digits(text, year, 4);
    for (mark, value) in [
        (b'-', month),
        (b'-', day),
        (b'T', second / 3600),
        (b':', second / 60 % 60),
        (b':', second % 60),
    ] {
        text.push(mark);
        digits(text, value, 2);
    }
    let (decimals, part) = match part {
        0 => (0, 0),
        p if p % 1_000_000 == 0 => (3, p / 1_000_000),
        p if p % 1000 == 0 => (6, p / 1000),
        p => (9, p),
    };
    if decimals > 0 {
        text.push(b'.');
        digits(text, part, decimals);
    }
}

/// Formats nanoseconds since 1970 as ISO 8601 in UTC.
#[must_use]
pub fn iso(nanoseconds: i64) -> String {
    let mut text = Vec::new();
    write_iso(&mut text, nanoseconds);
    String::from_utf8_lossy(&text).into_owned()
}

/// The time in ISO 8601 with the offset of a zone, `2014-02-14T15:30:00+01:00`; without one like
/// [`iso`].
#[must_use]
pub fn iso_in(nanoseconds: i64, zone: Option<Zone>) -> String {
    let Some(zone) = zone else {
        return iso(nanoseconds);
    };
    let mut text = Vec::new();
    write_iso_in(&mut text, nanoseconds, zone);
    String::from_utf8_lossy(&text).into_owned()
}
