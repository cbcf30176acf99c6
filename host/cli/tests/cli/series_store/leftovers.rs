//! Runs that store nothing, and series names that are too long.

use super::super::support::TestFolder;
use super::{NOON, series_csv, write, zip};

fn ingest(dir: &TestFolder, options: &[&str]) -> super::super::support::Output {
    let fixed = ["series", "ingest", "store", "in.csv", "--backend", "cpu"];
    dir.run(&[&fixed, options].concat())
}

#[test]
fn no_empty_store_is_left_behind() {
    let dir = TestFolder::new();
    write(&dir, "in.csv", "series,timestamp,value\ncpu,never,1\n");
    ingest(&dir, &["--policy", "low"]).refused(1, &["line 2", "never"]);
    assert_eq!(dir.names(), ["in.csv"]);
    let text = series_csv("cpu", &zip(&[0, 10], &[1., 2.]));
    write(&dir, "in.csv", &format!("series,timestamp,value\n{text}"));
    let result = ingest(&dir, &["--policy", "low", "--start", "2020-01-01"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(result.err.contains("store: not created"), "{result:?}");
    assert_eq!(dir.names(), ["in.csv"]);
    // An existing store stays, and so does a store with a single batch.
    ingest(&dir, &["--policy", "low"]).well();
    ingest(&dir, &["--start", "2020-01-01"]).well();
    write(
        &dir,
        "in.csv",
        &format!("series,timestamp,value\n{text}cpu,never,1\n"),
    );
    ingest(&dir, &["--batch", "1"]).refused(1, &["line 4"]);
    let query = [
        "series", "query", "store", "-s", "cpu", "-g", "5m", "-a", "count",
    ];
    let result = dir.run(&query);
    result.well();
    assert!(
        result.out.contains(&format!("{NOON}000000000,2")),
        "{result:?}"
    );
    let iso = ["--json", "--timestamps", "iso"];
    dir.run(&[&query[..], &iso].concat())
        .refused(2, &["--timestamps iso", "--json"]);
}

#[test]
fn too_long_names_are_malformed_rows() {
    let dir = TestFolder::new();
    let text = format!(
        "series,timestamp,value\n{}{}",
        series_csv("cpu", &[(0, 1.0)]),
        series_csv(&"n".repeat(4097), &[(0, 1.0)])
    );
    write(&dir, "in.csv", &text);
    ingest(&dir, &["--policy", "low"]).refused(1, &["in.csv", "line 3", "4097 bytes", "4096"]);
    let result = ingest(&dir, &["--policy", "low", "--on-error", "skip"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(result.err.contains("1 malformed row"), "{result:?}");
}
