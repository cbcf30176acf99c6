//! `--start` and `--end`: what their numbers count.

use super::super::support::Place;
use super::{resample, rows};

fn counts(place: &Place, name: &str, options: &[&str]) -> f64 {
    let fixed = [name, "-o", "-", "-a", "count", "-g", "1d", "--quiet"];
    let said = resample(place, &[&fixed, options].concat());
    said.well();
    rows(&said.out).iter().map(|row| row.value).sum()
}

#[test]
fn numbers_are_in_the_unit_of_the_inputs() {
    let place = Place::new();
    let write = |name: &str, text: &str| std::fs::write(place.path(name), text).unwrap();
    write("ms.csv", "timestamp_ms,value\n0,1\n5000,2\n60000,3\n");
    write("s.csv", "timestamp,value\n0,1\n5000,2\n60000,3\n");
    for (name, options, expected) in [
        ("ms.csv", &["--start", "5000"][..], 2.0),
        ("ms.csv", &["--end", "5000.5"], 2.0),
        ("ms.csv", &["--start", "1970-01-01T00:00:06Z"], 1.0),
        ("s.csv", &["--start", "5000", "--time-unit", "ms"], 2.0),
        ("s.csv", &["--start", "5001"], 1.0),
        // Neither says a unit where the column does.
        ("ms.csv", &["--start", "2014"], 2.0),
        ("s.csv", &["--start", "2014.0"], 2.0),
        ("s.csv", &["--start", "2014", "--time-unit", "s"], 2.0),
    ] {
        assert_eq!(
            counts(&place, name, options),
            expected,
            "{name} {options:?}"
        );
    }
    for (options, words) in [
        (
            &["--start", "2014"][..],
            &["--start 2014", "2014-01-01", "2014.0"][..],
        ),
        (
            &["--start", "9", "--end", "3"],
            &["--start 9", "--end 3", "not before"],
        ),
    ] {
        let said = resample(&place, &[&["s.csv", "-o", "o.csv"], options].concat());
        said.refused(2, words);
    }
    // In milliseconds the one is before the other, by their sizes it is not.
    let both = ["--start", "9000000000", "--end", "20000000000"];
    let said = resample(&place, &[&["ms.csv", "-o", "o.csv"], &both[..]].concat());
    said.refused(1, &["none of 3 points lies within --start and --end"]);
}
