//! Known changes of clocks, and round trips against the crate that has the zones.

use super::*;
use proptest::prelude::*;

fn zurich() -> Zone {
    Zone::named("Europe/Zurich").unwrap()
}

/// Seconds since 1970 of a date and time, as if it were in UTC.
fn seconds(text: &str) -> i64 {
    let time: Timestamp = format!("{text}Z").parse().unwrap();
    time.as_second()
}

#[test]
fn clocks_of_zurich_in_2024() {
    let zone = zurich();
    // Directive 2000/84/EC: clocks change at 01:00 UTC of the last Sundays in March and October.
    let spring = seconds("2024-03-31T01:00:00");
    let autumn = seconds("2024-10-27T01:00:00");
    for (moment, offset) in [
        (spring - 1, 3600),
        (spring, 7200),
        (autumn - 1, 7200),
        (autumn, 3600),
    ] {
        assert_eq!(zone.offset(moment * SECOND), offset);
    }
    for (local, moments) in [
        ("2024-03-31T01:59:59", Moments::One(spring - 1)),
        ("2024-03-31T02:00:00", Moments::Skipped(spring)),
        ("2024-03-31T02:59:59", Moments::Skipped(spring)),
        ("2024-03-31T03:00:00", Moments::One(spring)),
        ("2024-10-27T01:59:59", Moments::One(autumn - 3601)),
        ("2024-10-27T02:00:00", Moments::Two(autumn - 3600, autumn)),
        (
            "2024-10-27T02:59:59",
            Moments::Two(autumn - 1, autumn + 3599),
        ),
        ("2024-10-27T03:00:00", Moments::One(autumn + 3600)),
        (
            "2024-07-01T00:00:00",
            Moments::One(seconds("2024-06-30T22:00:00")),
        ),
    ] {
        assert_eq!(zone.moments(seconds(local)), moments, "{local}");
    }
}

#[test]
fn zones_are_found_in_any_case_and_similar_names_are_suggested() {
    assert_eq!(Zone::named("europe/zurich").unwrap(), zurich());
    assert_eq!(Zone::named("UTC").unwrap().offset(0), 0);
    let error = Zone::named("Europe/Zuerich").unwrap_err();
    assert!(
        error.contains("Europe/Zurich") && error.contains("similar"),
        "{error}"
    );
    for name in ["", "Mars/Olympus", "+01:00", "../etc/passwd", "local"] {
        assert!(Zone::named(name).is_err(), "{name}");
    }
}

/// Zones with offsets of parts of an hour, changes at midnight, and days that were left out.
const ZONES_TESTED: [&str; 9] = [
    "Europe/Zurich",
    "America/New_York",
    "America/St_Johns",
    "America/Havana",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Pacific/Apia",
    "Africa/Monrovia",
];

proptest! {
    #[test]
    fn local_times_lead_back_to_their_moment(zone in 0..ZONES_TESTED.len(), moment in 0..LAST_SECOND) {
        let zone = Zone::named(ZONES_TESTED[zone]).unwrap();
        let expected = TimeZone::get(zone.name()).unwrap();
        let expected = expected.to_offset(Timestamp::from_second(moment).unwrap());
        let offset = zone.offset(moment * SECOND);
        prop_assert_eq!(offset, i64::from(expected.seconds()));
        let found = match zone.moments(moment + offset) {
            Moments::One(found) => found == moment,
            Moments::Two(a, b) => a == moment || b == moment,
            Moments::Skipped(_) => false,
        };
        prop_assert!(found);
    }
}
