//! Built-in policies, policy files, and invalid policies.

use super::*;

const GOOD: &str = "back_window = 2\naggregates = ['mean', 'rate:max', '95pct']\n\n[[archive]]\ngranularity = '1m'\ntimespan = '7d'\n\n[[archive]]\ngranularity = '10s'\npoints = 360\n";

#[test]
fn policies_are_parsed_and_written() {
    let policy = Policy::from_toml("p.toml", "p", GOOD).unwrap();
    assert_eq!(
        policy.to_string(),
        "p (10s for 1h, 1m for 7d; mean, rate:max, 95pct; back window 2)"
    );
    let again = Policy::from_toml("q.toml", "q", &policy.to_toml()).unwrap();
    assert!(again.same_contents(&policy));
    for name in Policy::BUILT_IN {
        let policy = Policy::built_in(name).unwrap();
        let again = Policy::from_toml("f", name, &policy.to_toml()).unwrap();
        assert_eq!(again, policy);
        assert_eq!(policy.name(), name);
    }
    assert!(Policy::built_in("lower").is_none());
}

#[test]
fn invalid_policies_are_reported() {
    let change = |from: &str, to: &str| {
        assert!(GOOD.contains(from));
        let text = GOOD.replacen(from, to, 1);
        let message = Policy::from_toml("p.toml", "p", &text)
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with("p.toml: ") && !message.contains('\n'),
            "{message}"
        );
        message
    };
    for (from, to, part) in [
        (
            "back_window = 2",
            "back_window = -1",
            "line 1: back_window: expected a whole number, 0 or more, found -1",
        ),
        (
            "back_window = 2",
            "back_window = 999999999999999",
            "292 years",
        ),
        (
            "back_window = 2",
            "windows = 2",
            "line 1: expected one of the keys back_window, aggregates or archive, found windows",
        ),
        (
            "back_window = 2\n",
            "",
            "expected the key back_window, found none",
        ),
        ("'mean'", "'average'", "aggregate average: expected count"),
        (
            "'mean', 'rate:max', '95pct'",
            "",
            "aggregates: expected 1 to 64, found 0",
        ),
        ("'95pct'", "'mean'", "aggregate mean: expected each once"),
        (
            "'1m'",
            "'M'",
            "granularity: expected a fixed length such as 60s, 5m, 1h, 1d, found the calendar unit M",
        ),
        (
            "'1m'",
            "'0s'",
            "granularity: expected a length such as 60s, 5m, 1h, 1d, 250ms, found '0s'",
        ),
        ("'1m'", "'10s'", "granularity 10s: expected each once"),
        ("'7d'", "'90s'", "expected a multiple of the granularity"),
        (
            "timespan = '7d'",
            "",
            "expected either timespan or points, found neither",
        ),
        (
            "points = 360",
            "points = 360\ntimespan = '1h'",
            "expected either timespan or points, found both",
        ),
        ("points = 360", "points = 0", "1 or more"),
        ("points = 360", "points = 9223372036854775807", "292 years"),
        (
            "points = 360",
            "points = 3.5",
            "line 10: archive.points: expected a whole number, 0 or more, found 3.5",
        ),
        (
            "[[archive]]",
            "[[archives]]",
            "line 4: expected one of the keys back_window, aggregates or archive, found archives",
        ),
        (
            "back_window = 2",
            "back_window = ",
            "line 1: expected valid TOML, found back_window = (",
        ),
    ] {
        let message = change(from, to);
        assert!(message.contains(part), "{from} → {to}: {message}");
    }
}

#[test]
fn the_window_starts_at_a_coarse_bucket() {
    let policy = Policy::from_toml("p", "p", GOOD).unwrap();
    let second = SECOND as i64;
    // 10 minutes and 59 s: the window starts two minutes before the minute of the last point.
    assert_eq!(policy.window_start(659 * second), 480 * second);
    assert_eq!(policy.window_start(600 * second), 480 * second);
    assert_eq!(policy.window_start(30 * second), 0);
    assert_eq!(policy.reach(659 * second), 600 * second);
    // Steps that do not divide each other: 10 s and 15 s.
    let text = GOOD.replace("'1m'\ntimespan = '7d'", "'15s'\npoints = 4");
    let uneven = Policy::from_toml("p", "p", &text).unwrap();
    assert_eq!(uneven.reach(35 * second), 30 * second);
    assert_eq!(uneven.reach(47 * second), 40 * second);
    let archive = uneven.archives()[1];
    assert_eq!(
        (archive.first_kept(0), archive.first_kept(100 * second)),
        (0, 3)
    );
}
