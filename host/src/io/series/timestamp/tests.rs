//! Known moments, and the calendar against counting days one by one.

use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Result<i64, NoTime> {
    Clock::Iso.read(text.as_bytes())
}

#[test]
fn the_forms_of_one_moment_are_one() {
    // 1392388200 is GNU date's.
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
fn what_is_no_moment_is_refused() {
    for (text, why) in [
        ("", NoTime::Form),
        ("2014", NoTime::Form),
        ("2014-02-30", NoTime::Form),
        ("2014-02-29T00:00:00", NoTime::Form),
        ("2014-13-01", NoTime::Form),
        ("2014-00-01", NoTime::Form),
        ("2014-01-00", NoTime::Form),
        ("2014-1-1", NoTime::Form),
        ("14/02/2014 10:00", NoTime::Form),
        ("2014-02-14 24:00:00", NoTime::Form),
        ("2014-02-14 23:60:00", NoTime::Form),
        ("2014-02-14 23:59:60", NoTime::Form),
        ("2014-02-14 2:30:00", NoTime::Form),
        ("2014-02-14T14:30:00.", NoTime::Form),
        ("2014-02-14T14:30:00.Z", NoTime::Form),
        ("2014-02-14T14:30:00 ", NoTime::Form),
        ("2014-02-14T14:30:00+1", NoTime::Form),
        ("2014-02-14T14:30:00+24:00", NoTime::Form),
        ("2014-02-14T14:30:00ZZ", NoTime::Form),
        ("2014-02-14X14:30:00", NoTime::Form),
        ("2014-02-1a", NoTime::Form),
        ("201a-02-14", NoTime::Form),
        ("1969-12-31T23:59:59.999999999", NoTime::Early),
        ("1970-01-01T00:30:00+01:00", NoTime::Early),
        ("0000-01-01", NoTime::Early),
        ("2262-04-11T23:47:16.854775808", NoTime::Late),
        ("2262-04-12", NoTime::Late),
        ("9999-12-31T23:59:59", NoTime::Late),
        ("2014-02-14T14:30:00.0000000001", NoTime::Fine),
    ] {
        assert_eq!(read(text), Err(why), "{text}");
    }
}

#[test]
fn the_calendar_is_that_of_counting_days() {
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
fn numbers_have_the_unit_of_their_size() {
    for (text, nanoseconds) in [
        ("0", 0),
        ("1392388200", 1_392_388_200 * SECOND),
        ("1392388200.0", 1_392_388_200 * SECOND),
        ("1392388200.", 1_392_388_200 * SECOND),
        ("1392388200.123456789", 1_392_388_200_123_456_789),
        ("1392388200.12345678900", 1_392_388_200_123_456_789),
        ("1392388200123", 1_392_388_200_123_000_000),
        ("1392388200123.5", 1_392_388_200_123_500_000),
        ("1392388200123456", 1_392_388_200_123_456_000),
        ("1392388200123456789", 1_392_388_200_123_456_789),
        ("9223372036.854775807", i64::MAX),
    ] {
        let clock = Clock::of_first(text.as_bytes(), TimeUnit::Auto).unwrap();
        assert_eq!(clock.read(text.as_bytes()), Ok(nanoseconds), "{text}");
    }
    let clock = |unit| Clock::of_first(b"5", unit).unwrap();
    for (unit, nanoseconds) in [
        (TimeUnit::Seconds, 5 * SECOND),
        (TimeUnit::Milliseconds, 5_000_000),
        (TimeUnit::Microseconds, 5000),
        (TimeUnit::Nanoseconds, 5),
    ] {
        assert_eq!(clock(unit).read(b"5"), Ok(nanoseconds));
    }
    assert_eq!(
        Clock::of_first(b"2014-02-14", TimeUnit::Milliseconds),
        Some(Clock::Iso)
    );
    for text in ["", "timestamp", "1e9", "5s", "+5", ".5", "1.5.5", "1,5"] {
        assert_eq!(
            Clock::of_first(text.as_bytes(), TimeUnit::Auto),
            None,
            "{text}"
        );
    }
}

#[test]
fn numbers_that_fit_no_moment_are_refused() {
    let seconds = Clock::of_first(b"1392388200", TimeUnit::Auto).unwrap();
    let stated = Clock::of_first(b"1392388200", TimeUnit::Seconds).unwrap();
    let nanoseconds = Clock::of_first(b"1", TimeUnit::Nanoseconds).unwrap();
    for (clock, text, why) in [
        (seconds, "1392388200123", NoTime::Mixed(Unit::Milliseconds)),
        (seconds, "2014-02-14", NoTime::Form),
        (seconds, "-5", NoTime::Early),
        (seconds, "-", NoTime::Form),
        (seconds, "9223372037", NoTime::Late),
        (seconds, "9223372036.854775808", NoTime::Late),
        (seconds, "5.0000000001", NoTime::Fine),
        (stated, "1392388200123", NoTime::Late),
        (stated, "99999999999999999999999999", NoTime::Late),
        (nanoseconds, "1.5", NoTime::Fine),
        (nanoseconds, "9223372036854775808", NoTime::Late),
    ] {
        assert_eq!(clock.read(text.as_bytes()), Err(why), "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(nanoseconds in 0..=i64::MAX, coarse in 0_u32..19) {
        let nanoseconds = nanoseconds / 10_i64.pow(coarse) * 10_i64.pow(coarse);
        let mut text = Vec::new();
        write_iso(&mut text, nanoseconds);
        prop_assert_eq!(Clock::Iso.read(&text), Ok(nanoseconds));
    }

    #[test]
    fn decimals_are_whole_nanoseconds(nanoseconds in 0_i64..=i64::MAX) {
        let text = format!("{}.{:09}", nanoseconds / SECOND, nanoseconds % SECOND);
        let clock = Clock::Epoch { unit: Unit::Seconds, concluded: false };
        prop_assert_eq!(clock.read(text.as_bytes()), Ok(nanoseconds));
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = iso(&text);
        if let Some(clock) = Clock::of_first(&text, TimeUnit::Auto) {
            let _ = clock.read(&text);
        }
    }
}
