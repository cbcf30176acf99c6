//! Known times, and the calendar compared with counting days one by one.

use super::calendar::date_of;
use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Result<i64, TimestampError> {
    TimestampFormat::Iso.read(text.as_bytes())
}

#[test]
fn all_notations_of_a_time_are_equal() {
    // 1392388200 was computed with GNU date.
    let moment = 1_392_388_200 * SECOND;
    for text in [
        "2014-02-14 14:30:00",
        "2014-02-14T14:30:00",
        "2014-02-14t14:30:00z",
        "2014-02-14T14:30Z",
        "2014-02-14 14:30",
        "2014-02-14T14:30:00.0",
        "2014-02-14T14:30:00.000000000000Z",
        "2014-02-14T15:30:00+01:00",
        "2014-02-14T15:30:00+0100",
        "2014-02-14T15:30+01",
        "2014-02-14 09:00:00-05:30",
        "2014-02-15T00:30:00+10:00",
        "2014-02-14 14:30:00 UTC",
        "2014-02-14 14:30:00 gmt",
        "2014-02-14 14:30 Z",
        "2014-02-14 15:30:00 +01:00",
        "2014-02-14 14:30:00,000",
    ] {
        assert_eq!(read(text), Ok(moment), "{text}");
    }
    assert_eq!(read("2014-02-14T14:30:00.000000001"), Ok(moment + 1));
    assert_eq!(read("2014-02-14T14:30:00.5+00:00"), Ok(moment + SECOND / 2));
    assert_eq!(read("2014-02-14"), Ok(moment - (14 * 3600 + 1800) * SECOND));
    assert_eq!(read("1970-01-01"), Ok(0));
    assert_eq!(read("2262-04-11T23:47:16.854775807Z"), Ok(i64::MAX));
}

#[test]
fn invalid_times_are_rejected() {
    for (text, why) in [
        ("", TimestampError::Invalid),
        ("2014", TimestampError::Invalid),
        ("2014-02-30", TimestampError::Invalid),
        ("2014-02-29T00:00:00", TimestampError::Invalid),
        ("2014-13-01", TimestampError::Invalid),
        ("2014-00-01", TimestampError::Invalid),
        ("2014-01-00", TimestampError::Invalid),
        ("2014-1-1", TimestampError::Invalid),
        ("14/02/2014 10:00", TimestampError::Invalid),
        ("2014-02-14 24:00:00", TimestampError::Invalid),
        ("2014-02-14 23:60:00", TimestampError::Invalid),
        ("2014-02-14 23:59:60", TimestampError::Invalid),
        ("2014-02-14 2:30:00", TimestampError::Invalid),
        ("2014-02-14T14:30:00.", TimestampError::Invalid),
        ("2014-02-14T14:30:00.Z", TimestampError::Invalid),
        ("2014-02-14T14:30:00 ", TimestampError::Invalid),
        ("2014-02-14T14:30:00+1", TimestampError::Invalid),
        ("2014-02-14T14:30:00+24:00", TimestampError::Invalid),
        ("2014-02-14T14:30:00ZZ", TimestampError::Invalid),
        ("2014-02-14X14:30:00", TimestampError::Invalid),
        ("2014-02-1a", TimestampError::Invalid),
        ("201a-02-14", TimestampError::Invalid),
        ("1969-12-31T23:59:59.999999999", TimestampError::TooEarly),
        ("1970-01-01T00:30:00+01:00", TimestampError::TooEarly),
        ("0000-01-01", TimestampError::TooEarly),
        ("2262-04-11T23:47:16.854775808", TimestampError::TooLate),
        ("2262-04-12", TimestampError::TooLate),
        ("9999-12-31T23:59:59", TimestampError::TooLate),
        ("2014-02-14T14:30:00.0000000001", TimestampError::TooFine),
    ] {
        assert_eq!(read(text), Err(why), "{text}");
    }
}

#[test]
fn calendar_agrees_with_counting_days() {
    let (mut year, mut month, mut day) = (1970, 1, 1);
    for days in 0..110_000_i64 {
        assert_eq!(days_since_1970(year, month, day), days);
        assert_eq!(date_of(days), (year, month, day));
        day += 1;
        let long = [1, 3, 5, 7, 8, 10, 12].contains(&month);
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            2 if leap => 29,
            2 => 28,
            _ if long => 31,
            _ => 30,
        };
        if day > length {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
}

#[test]
fn units_are_inferred_from_the_magnitude() {
    for (text, nanoseconds) in [
        ("631152000", 631_152_000 * SECOND),
        ("1.392388200e9", 1_392_388_200 * SECOND),
        ("1.3923882001235e+12", 1_392_388_200_123_500_000),
        ("1392388200", 1_392_388_200 * SECOND),
        ("1392388200.0", 1_392_388_200 * SECOND),
        ("1392388200.", 1_392_388_200 * SECOND),
        ("1392388200.123456789", 1_392_388_200_123_456_789),
        ("1392388200.12345678900", 1_392_388_200_123_456_789),
        ("1392388200123", 1_392_388_200_123_000_000),
        ("1392388200123.5", 1_392_388_200_123_500_000),
        ("1392388200123456", 1_392_388_200_123_456_000),
        ("1392388200123456789", 1_392_388_200_123_456_789),
    ] {
        let time_format = TimestampFormat::of_first(text.as_bytes(), TimeUnit::Auto).unwrap();
        assert_eq!(time_format.read(text.as_bytes()), Ok(nanoseconds), "{text}");
    }
    let time_format = |unit| TimestampFormat::of_first(b"5", unit).unwrap();
    for (unit, nanoseconds) in [
        (TimeUnit::Seconds, 5 * SECOND),
        (TimeUnit::Milliseconds, 5_000_000),
        (TimeUnit::Microseconds, 5000),
        (TimeUnit::Nanoseconds, 5),
    ] {
        assert_eq!(time_format(unit).read(b"5"), Ok(nanoseconds));
    }
    assert_eq!(
        TimestampFormat::of_first(b"2014-02-14", TimeUnit::Milliseconds),
        Some(TimestampFormat::Iso)
    );
    for text in [
        "",
        "timestamp",
        "1e",
        "e9",
        "5s",
        "+5",
        ".5",
        "1.5.5",
        "1,5",
    ] {
        assert_eq!(
            TimestampFormat::of_first(text.as_bytes(), TimeUnit::Auto),
            None,
            "{text}"
        );
    }
}

#[test]
fn invalid_numbers_are_rejected() {
    let seconds = TimestampFormat::of_first(b"1392388200", TimeUnit::Auto).unwrap();
    let milliseconds = TimestampFormat::of_first(b"1392388200000", TimeUnit::Auto).unwrap();
    let stated = TimestampFormat::of_first(b"1392388200", TimeUnit::Seconds).unwrap();
    let nanoseconds = TimestampFormat::of_first(b"1", TimeUnit::Nanoseconds).unwrap();
    for (time_format, text, why) in [
        (
            &seconds,
            "1392388200123",
            TimestampError::OtherUnit(Unit::Milliseconds),
        ),
        (&seconds, "2014-02-14", TimestampError::Invalid),
        (&seconds, "-5", TimestampError::TooEarly),
        (&seconds, "-", TimestampError::Invalid),
        (&seconds, "9223372037", TimestampError::NoUnit),
        (&stated, "9223372037", TimestampError::TooLate),
        (&stated, "9223372036.854775808", TimestampError::TooLate),
        (&seconds, "1.39e9", TimestampError::Rounded),
        (&seconds, "1392388200.0000000001", TimestampError::TooFine),
        (&seconds, "20240101", TimestampError::NoUnit),
        (&seconds, "0", TimestampError::NoUnit),
        (&milliseconds, "202401011200", TimestampError::NoUnit),
        (&stated, "1392388200123", TimestampError::TooLate),
        (
            &stated,
            "99999999999999999999999999",
            TimestampError::TooLate,
        ),
        (&nanoseconds, "1.5", TimestampError::TooFine),
        (&nanoseconds, "9223372036854775808", TimestampError::TooLate),
    ] {
        assert_eq!(time_format.read(text.as_bytes()), Err(why), "{text}");
    }
}

/// Dates, years, and days since other moments are not seconds since 1970.
#[test]
fn small_numbers_have_no_unit() {
    for (text, like) in [
        ("20240101", Some("2024-01-01")),
        ("20240230", None),
        ("2001", Some("a year")),
        ("202401011230", Some("2024-01-01T12:30")),
        ("45292.5", None),
        ("2460310.5", None),
        ("0", None),
        ("631151999.999", None),
        // Seconds since 1904, and since 1900.
        ("3850000000", None),
        ("3980000000", None),
        ("638700000000000000", Some(".NET ticks")),
        // 100 ns since 1601.
        ("133500000000000000", None),
        ("300000000000", None),
        // YYYYMMDDhhmmss, in microseconds.
        ("20240101120000", None),
    ] {
        let time_format = TimestampFormat::of_first(text.as_bytes(), TimeUnit::Auto).unwrap();
        assert_eq!(
            time_format.read(text.as_bytes()),
            Err(TimestampError::NoUnit),
            "{text}"
        );
        let found = resemblance(text);
        match like {
            Some(like) => assert!(found.is_some_and(|found| found.contains(like)), "{text}"),
            None => assert_eq!(found, None, "{text}"),
        }
        let stated = TimestampFormat::of_first(text.as_bytes(), TimeUnit::Seconds).unwrap();
        assert_ne!(
            stated.read(text.as_bytes()),
            Err(TimestampError::NoUnit),
            "{text}"
        );
    }
}

/// The name of a column or a format is contradicted only by times that another unit explains.
#[test]
fn units_of_columns_and_formats_are_compared_with_others() {
    let read = |text: &str, unit: TimeUnit| {
        let found = TimestampFormat::assumed(text.as_bytes(), unit, false);
        found.map(|found| found.read(text.as_bytes()))
    };
    let milliseconds = TimeUnit::Milliseconds;
    for (text, unit) in [
        ("1739184970", Unit::Seconds),
        ("1739184970.553", Unit::Seconds),
        ("1739184970553000", Unit::Microseconds),
        ("1739184970553000000", Unit::Nanoseconds),
    ] {
        let other = Some(Err(TimestampError::OtherUnit(unit)));
        assert_eq!(read(text, milliseconds), other, "{text}");
    }
    for (text, nanoseconds) in [
        ("1739184970553", 1_739_184_970_553_000_000),
        ("0", 0),
        ("60000", 60 * SECOND),
    ] {
        assert_eq!(read(text, milliseconds), Some(Ok(nanoseconds)), "{text}");
    }
    // Times since the start of a measurement may come to a number that looks like another unit.
    let relative = TimestampFormat::assumed(b"0", milliseconds, false).unwrap();
    assert_eq!(relative.read(b"1739184970"), Ok(1_739_184_970_000_000));
    let stated = TimestampFormat::assumed(b"1739184970", milliseconds, true).unwrap();
    assert_eq!(stated.read(b"1739184970"), Ok(1_739_184_970_000_000));
}

proptest! {
    #[test]
    fn written_times_are_parsed(nanoseconds in 0..=i64::MAX, coarse in 0_u32..19) {
        let nanoseconds = nanoseconds / 10_i64.pow(coarse) * 10_i64.pow(coarse);
        let mut text = Vec::new();
        write_iso(&mut text, nanoseconds);
        prop_assert_eq!(TimestampFormat::Iso.read(&text), Ok(nanoseconds));
    }

    #[test]
    fn decimals_are_exact_nanoseconds(nanoseconds in 0_i64..=i64::MAX) {
        let text = format!("{}.{:09}", nanoseconds / SECOND, nanoseconds % SECOND);
        let time_format = TimestampFormat::Epoch { unit: Unit::Seconds, origin: UnitOrigin::Stated };
        prop_assert_eq!(time_format.read(text.as_bytes()), Ok(nanoseconds));
    }

    #[test]
    fn any_bytes_are_parsed_or_rejected(text in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = iso_reading(&text);
        if let Some(time_format) = TimestampFormat::of_first(&text, TimeUnit::Auto) {
            let _ = time_format.read(&text);
        }
    }
}
