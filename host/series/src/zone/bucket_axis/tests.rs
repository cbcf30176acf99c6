//! Buckets of local time against days counted on clocks.

use super::*;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;

fn axis(zone: &str, granularity: &str) -> BucketAxis {
    let granularity = granularity.parse().unwrap();
    BucketAxis::new(Zone::named(zone).unwrap(), &[granularity]).unwrap()
}

fn nanoseconds(text: &str) -> i64 {
    let time: Timestamp = text.parse().unwrap();
    i64::try_from(time.as_nanosecond()).unwrap()
}

#[test]
fn days_of_zurich_begin_at_midnight_and_have_23_to_25_hours() {
    let axis = axis("Europe/Zurich", "1d");
    for (day, begin, hours) in [
        ("2024-03-30", "2024-03-29T23:00:00Z", 24),
        ("2024-03-31", "2024-03-30T23:00:00Z", 23),
        ("2024-04-01", "2024-03-31T22:00:00Z", 24),
        ("2024-10-26", "2024-10-25T22:00:00Z", 24),
        ("2024-10-27", "2024-10-26T22:00:00Z", 25),
        ("2024-10-28", "2024-10-27T23:00:00Z", 24),
    ] {
        let start = nanoseconds(&format!("{day}T00:00:00Z"));
        let begin = nanoseconds(begin);
        assert_eq!(axis.start(start), begin, "{day}");
        assert_eq!(axis.place(begin), Ok(start), "{day}");
        let end = begin + hours * 3_600_000_000_000;
        assert_eq!(axis.place(end), Ok(start + DAY_SIGNED), "{day}");
        assert!(
            axis.place(end - 1000).unwrap() < start + DAY_SIGNED,
            "{day}"
        );
    }
}

/// Every moment of a day in which clocks are set back has a place of its own.
#[test]
fn order_is_kept_where_clocks_show_times_twice() {
    let axis = axis("Europe/Zurich", "1d");
    let begin = nanoseconds("2024-10-26T22:00:00Z");
    let places: Vec<i64> = (0..25 * 60)
        .map(|minute| axis.place(begin + minute * 60 * SECOND).unwrap())
        .collect();
    assert!(places.is_sorted_by(|a, b| a < b));
    let odd = nanoseconds("2024-10-27T00:30:00.000000001Z");
    assert_eq!(axis.place(odd), Err(AxisError::OddNanosecond(odd)));
    assert_eq!(axis.limit(odd), axis.place(odd + 1).unwrap());
    let even = nanoseconds("2024-10-27T00:30:00.000000002Z");
    assert_eq!(axis.place(even).unwrap(), axis.place(even - 2).unwrap() + 1);
}

#[test]
fn lengths_without_a_common_axis_are_refused() {
    let zurich = Zone::named("Europe/Zurich").unwrap();
    let new = |zone, lengths: &[&str]| {
        let lengths: Vec<Granularity> = lengths.iter().map(|g| g.parse().unwrap()).collect();
        BucketAxis::new(zone, &lengths)
    };
    for lengths in [
        &["1h"][..],
        &["15m", "1h"],
        &["1d", "W", "M"],
        &["7d"],
        &["1ns"],
    ] {
        assert!(new(zurich, lengths).is_ok(), "{lengths:?}");
    }
    for (lengths, part) in [
        (&["1h", "1d"][..], "whole days only beside 1d"),
        (&["6h"], "the 60 min"),
        (&["36h"], "the 60 min"),
        (&["7s"], "the 60 min"),
    ] {
        let error = new(zurich, lengths).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    // Singapore's standard time was another until 1982.
    let singapore = Zone::named("Asia/Singapore").unwrap();
    let axis = new(singapore, &["1h", "1d"]).unwrap();
    let midnight = nanoseconds("2024-07-01T16:00:00Z");
    assert_eq!(axis.start(axis.place(midnight).unwrap()), midnight);
    let early = nanoseconds("1981-12-31T00:00:00Z");
    assert_eq!(axis.place(early), Err(AxisError::OtherOffset(early)));
    assert!(
        new(singapore, &["30m", "10m"])
            .unwrap()
            .place(early)
            .is_ok()
    );
    assert!(new(singapore, &["1d", "M"]).unwrap().place(early).is_ok());
    // Without changes of clocks, every length goes with every other.
    let kolkata = Zone::named("Asia/Kolkata").unwrap();
    let axis = new(kolkata, &["1h", "7s", "1d", "M"]).unwrap();
    let midnight = nanoseconds("2024-07-01T18:30:00Z");
    assert_eq!(axis.place(midnight).unwrap() % DAY_SIGNED, 0);
    assert_eq!(axis.start(axis.place(midnight).unwrap()), midnight);
}

#[test]
fn days_without_midnight_and_days_that_were_left_out() {
    // Clocks in Havana went from 00:00 to 01:00 on 2024-03-10, and back from 01:00 on 2024-11-03.
    let havana = axis("America/Havana", "1d");
    let start = nanoseconds("2024-03-10T00:00:00Z");
    assert_eq!(havana.start(start), nanoseconds("2024-03-10T05:00:00Z"));
    let start = nanoseconds("2024-11-03T00:00:00Z");
    assert_eq!(havana.start(start), nanoseconds("2024-11-03T04:00:00Z"));
    // Samoa had no 2011-12-30.
    let apia = axis("Pacific/Apia", "1d");
    let change = nanoseconds("2011-12-30T10:00:00Z");
    let (before, after) = (apia.place(change - 1).unwrap(), apia.place(change).unwrap());
    assert_eq!(before / DAY_SIGNED + 2, after / DAY_SIGNED);
    assert_eq!(apia.start(after), change);
    // Newfoundland set clocks back at 00:01: 23:01 to 00:01 occurred twice.
    let johns = axis("America/St_Johns", "1d");
    let twice = nanoseconds("2005-10-30T02:20:00Z");
    assert_eq!(johns.place(twice), Err(AxisError::TwoDays(twice)));
    // West of Greenwich, 1970 began later.
    assert_eq!(johns.place(0), Err(AxisError::OutOfRange(0)));
    assert_eq!(johns.limit(0), 0);
}

const ZONES: [&str; 5] = [
    "Europe/Zurich",
    "America/New_York",
    "America/Havana",
    "Australia/Lord_Howe",
    "Pacific/Apia",
];

proptest! {
    /// The date of a moment's bucket is the date on the clocks, and order is kept.
    #[test]
    fn buckets_are_dates(zone in 0..ZONES.len(), moment in DAY_SIGNED..(i64::MAX - DAY_SIGNED), step in 1..10_000_000_000_000_i64) {
        let axis = axis(ZONES[zone], "1d");
        let (moment, step) = (moment & !1, step & !1);
        let later = moment.saturating_add(step) & !1;
        let place = axis.place(moment).unwrap();
        if later < i64::MAX - DAY_SIGNED && later > moment {
            prop_assert!(axis.place(later).unwrap() > place);
        }
        let clock = TimeZone::get(ZONES[zone]).unwrap();
        let clock = clock.to_datetime(Timestamp::from_nanosecond(moment.into()).unwrap());
        let date = clock.date().to_string();
        let start = place - place % DAY_SIGNED;
        let shown = Timestamp::from_nanosecond(start.into()).unwrap().to_string();
        prop_assert_eq!(&shown[..10], date);
        let begin = axis.start(start);
        prop_assert!(begin <= moment && axis.place(begin).unwrap() >= start);
        prop_assert!(axis.place((begin - 2) & !1).unwrap() < start);
    }
}
