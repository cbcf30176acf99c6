//! The units of numbers in `--start` and `--end`.

use super::super::support::TestFolder;
use super::{resample, rows};

fn counts(dir: &TestFolder, name: &str, options: &[&str]) -> f64 {
    let fixed = [name, "-o", "-", "-a", "count", "-g", "1d", "--quiet"];
    let result = resample(dir, &[&fixed, options].concat());
    result.well();
    rows(&result.out).iter().map(|row| row.value).sum()
}

#[test]
fn numbers_are_in_the_unit_of_the_inputs() {
    let dir = TestFolder::new();
    let write = |name: &str, text: &str| std::fs::write(dir.path(name), text).unwrap();
    write("ms.csv", "timestamp_ms,value\n0,1\n5000,2\n60000,3\n");
    write("s.csv", "timestamp,value\n0,1\n5000,2\n60000,3\n");
    for (name, options, expected) in [
        ("ms.csv", &["--start", "5000"][..], 2.0),
        ("ms.csv", &["--end", "5000.5"], 2.0),
        ("ms.csv", &["--start", "1970-01-01T00:00:06Z"], 1.0),
        ("s.csv", &["--start", "5000", "--time-unit", "ms"], 2.0),
        ("s.csv", &["--start", "5001", "--time-unit", "s"], 1.0),
        // `--start` needs no unit if the column has one.
        ("ms.csv", &["--start", "2014"], 2.0),
        ("s.csv", &["--start", "2014", "--time-unit", "s"], 2.0),
    ] {
        assert_eq!(counts(&dir, name, options), expected, "{name} {options:?}");
    }
    for (options, words) in [
        (
            &["--start", "2014"][..],
            &["--start 2014", "2014-01-01", "--time-unit"][..],
        ),
        (
            &["--start", "9", "--end", "3", "--time-unit", "s"],
            &["--start 9", "expected a time before --end 3"],
        ),
        (
            &["--start", "20140101"],
            &["--start 20140101", "write 2014-01-01", "--time-unit"],
        ),
    ] {
        let result = resample(&dir, &[&["s.csv", "-o", "o.csv"], options].concat());
        result.refused(2, words);
    }
    // The start precedes the end in milliseconds, but not if the unit is inferred from the
    // magnitudes.
    let both = ["--start", "9000000000", "--end", "20000000000"];
    let result = resample(&dir, &[&["ms.csv", "-o", "o.csv"], &both[..]].concat());
    result.refused(1, &["none of 3 points lies within --start and --end"]);
}
