//! Points in the future: refused and counted, unless an option says otherwise.

use super::super::support::{TestFolder, skipped};
use super::write;
use std::path::PathBuf;

/// 2100-01-01, in seconds since 1970; later than any clock of this test for long.
const LATER: i64 = 4_102_444_800;

fn ingest(dir: &TestFolder, options: &[&str]) -> super::super::support::Output {
    let fixed = ["series", "ingest", "store", "--backend", "cpu"];
    dir.run(&[&fixed, options].concat())
}

/// The counts of minutes.
fn counts(dir: &TestFolder, series: &str) -> Vec<String> {
    let query = [
        "series", "query", "store", "-s", series, "-g", "1m", "-a", "count",
    ];
    let result = dir.run(&query);
    result.well();
    result.out.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn a_clock_in_the_future_loses_nothing() {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/trials/series");
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    if !folder.join("st_1.csv").exists() {
        skipped(
            "a clock in 2030",
            "../shared/data/trials/series is not there",
        );
        return;
    }
    let dir = TestFolder::new();
    ingest(&dir, &[&file("st_1.csv"), "--policy", "medium"]).well();
    let before = counts(&dir, "st");
    let refused = ingest(&dir, &[&file("st_future.csv")]);
    let parts = [
        "st_future.csv",
        "1 point was refused",
        "2030-03-17T17:46:40Z",
        "--max-future",
    ];
    refused.refused(1, &parts);
    assert_eq!(counts(&dir, "st"), before);
    assert_eq!(before.len(), 167);
    // Asked for, the point moves the window.
    ingest(
        &dir,
        &[&file("st_future.csv"), "--max-future", "none", "--quiet"],
    )
    .well();
    assert_eq!(counts(&dir, "st").len(), 1);
}

#[test]
fn points_in_the_future_are_left_out_of_a_batch() {
    let dir = TestFolder::new();
    let text = format!("series,time_s,value\na,1700000000,1\na,{LATER},2\nb,1700000060,3\n");
    write(&dir, "in.csv", &text);
    let stated = [
        "in.csv",
        "--policy",
        "low",
        "--time-unit",
        "s",
        "--summary",
        "s.json",
    ];
    let result = ingest(&dir, &stated);
    assert_eq!(result.code, Some(0), "{result:?}");
    for part in [
        "note: 1 point was refused",
        "of series a at 2100-01-01T00:00:00Z",
        "none",
    ] {
        assert!(result.err.contains(part), "{result:?}");
    }
    assert!(result.out.contains("1 too far in the future"), "{result:?}");
    let summary = std::fs::read_to_string(dir.path("s.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    for (key, value) in [("points", 3), ("added", 2), ("future", 1), ("refused", 0)] {
        assert_eq!(summary[key], value, "{key}");
    }
    // The first points of a store.
    let dir = TestFolder::new();
    write(
        &dir,
        "in.csv",
        &format!("series,time_s,value\na,{LATER},2\n"),
    );
    let names = dir.names();
    let stated = ["in.csv", "--policy", "low", "--time-unit", "s"];
    ingest(&dir, &stated).refused(1, &["in.csv", "nothing was stored"]);
    assert_eq!(dir.names(), names);
    for (length, code) in [("1x", 2), ("W", 2), ("-1h", 2), ("1h", 1), ("36500d", 0)] {
        let result = ingest(&dir, &[&stated[..], &["--max-future", length]].concat());
        assert_eq!(result.code, Some(code), "{length}: {result:?}");
    }
}
