//! The built-in policies, files of policies, and what is refused.

use super::*;

const GOOD: &str = "back_window = 2\naggregates = ['mean', 'rate:max', '95pct']\n\n[[archive]]\ngranularity = '1m'\ntimespan = '7d'\n\n[[archive]]\ngranularity = '10s'\npoints = 360\n";

#[test]
fn a_file_is_read_and_written() {
    let policy = Policy::from_toml("p.toml", "p", GOOD).unwrap();
    assert_eq!(
        policy.to_string(),
        "p (10s for 1h, 1m for 7d; mean, rate:max, 95pct; back window 2)"
    );
    let again = Policy::from_toml("q.toml", "q", &policy.to_toml()).unwrap();
    assert!(again.keeps_the_same(&policy));
    for name in Policy::BUILT_IN {
        let policy = Policy::built_in(name).unwrap();
        let again = Policy::from_toml("f", name, &policy.to_toml()).unwrap();
        assert_eq!(again, policy);
        assert_eq!(policy.name(), name);
    }
    assert!(Policy::built_in("lower").is_none());
}

#[test]
fn what_is_wrong_is_said() {
    let change = |from: &str, to: &str| {
        assert!(GOOD.contains(from));
        let text = GOOD.replacen(from, to, 1);
        let said = Policy::from_toml("p.toml", "p", &text)
            .unwrap_err()
            .to_string();
        assert!(
            said.starts_with("policy p.toml: ") && !said.contains('\n'),
            "{said}"
        );
        said
    };
    for (from, to, words) in [
        ("back_window = 2", "back_window = -1", "line 1"),
        (
            "back_window = 2",
            "back_window = 999999999999999",
            "292 years",
        ),
        ("back_window = 2", "windows = 2", "unknown field `windows`"),
        ("back_window = 2\n", "", "missing field `back_window`"),
        ("'mean'", "'average'", "aggregate 'average': expected count"),
        ("'mean', 'rate:max', '95pct'", "", "0 aggregates"),
        ("'95pct'", "'mean'", "aggregate mean is named twice"),
        ("'1m'", "'M'", "granularity M is of the calendar"),
        ("'1m'", "'0s'", "granularity '0s'"),
        ("'1m'", "'10s'", "granularity 10s is named twice"),
        ("'7d'", "'90s'", "no whole number"),
        ("timespan = '7d'", "", "neither timespan nor points"),
        ("points = 360", "points = 360\ntimespan = '1h'", "both"),
        ("points = 360", "points = 0", "1 or more"),
        ("points = 360", "points = 9223372036854775807", "292 years"),
        ("points = 360", "points = 3.5", "line 10"),
        ("[[archive]]", "[[archives]]", "unknown field `archives`"),
        ("back_window = 2", "back_window = ", "line 1"),
    ] {
        let said = change(from, to);
        assert!(said.contains(words), "{from} → {to}: {said}");
    }
}

#[test]
fn the_window_begins_at_a_coarse_bucket() {
    let policy = Policy::from_toml("p", "p", GOOD).unwrap();
    let second = SECOND as i64;
    // 10 minutes and 59 s: two minutes before that of the last point.
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
