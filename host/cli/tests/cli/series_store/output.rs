//! Output of `info`, `query` and the summaries, and error messages.

use super::super::support::TestFolder;
use super::{NOON, series_csv, write, zip};
use serde_json::Value;

#[test]
fn info_and_summary_describe_the_store() {
    let dir = TestFolder::new();
    let mut text = series_csv("cpu", &zip(&[0, 10, 3601, 30], &[1., 2., 3., f64::NAN]));
    text += &series_csv("memory", &zip(&[0, 0, 100_000], &[1., 5., 2.]));
    write(&dir, "in.csv", &format!("series,timestamp,value\n{text}"));
    let command = ["series", "ingest", "store", "in.csv", "--policy", "medium"];
    let rest = ["--nan", "skip", "--summary", "s.json", "--backend", "cpu"];
    let result = dir.run(&[&command[..], &rest].concat());
    assert_eq!(result.code, Some(0), "{result:?}");
    let conflict = "note: 1 point was left out whose value is another";
    assert!(result.err.contains(conflict), "{result:?}");
    for part in [
        "medium (1m for 7d, 1h for 365d",
        "1 point filtered out",
        "1 duplicate\n",
    ] {
        assert!(
            result.out.contains(part),
            "{part} is missing: {}",
            result.out
        );
    }
    let summary = std::fs::read_to_string(dir.path("s.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    for (key, value) in [
        ("points", 6),
        ("added", 5),
        ("new_series", 2),
        ("left_out", 1),
        ("batches", 1),
    ] {
        assert_eq!(summary[key], value, "{key}");
    }
    // The window of `memory` begins one hour before the hour of its last point.
    write(
        &dir,
        "late.csv",
        &format!(
            "series,timestamp,value\n{}",
            series_csv("memory", &zip(&[50_000], &[7.]))
        ),
    );
    dir.run(&[
        "series",
        "ingest",
        "store",
        "late.csv",
        "--backend",
        "cpu",
        "--quiet",
    ])
    .well();
    let result = dir.run(&["series", "info", "store", "--json"]);
    result.well();
    let info: Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(info["policy"]["name"], "medium");
    assert_eq!(info["policy"]["archives"][1]["granularity_s"], 3600.0);
    assert_eq!(info["series"][1]["series"], "memory");
    assert_eq!(
        (&info["series"][1]["refused"], &info["totals"]["refused"]),
        (&1.into(), &1.into())
    );
    let result = dir.run(&["series", "info", "store"]);
    result.well();
    for part in ["2014-01-02T15:46:40Z", "cpu", "1 refused", "1 bucket of 1h"] {
        assert!(
            result.out.contains(part),
            "{part} is missing: {}",
            result.out
        );
    }
    let query = [
        "series", "query", "store", "-s", "cpu", "-g", "1h", "-a", "sum",
    ];
    let result = dir.run(&[&query[..], &["--timestamps", "iso"]].concat());
    result.well();
    assert_eq!(
        result.out,
        "series,granularity_s,aggregate,timestamp,value\ncpu,3600,sum,2014-01-01T12:00:00Z,3.0\ncpu,3600,sum,2014-01-01T13:00:00Z,3.0\n"
    );
    let result = dir.run(&[&query[..], &["--json", "--start", "2014-01-01T12:30:00Z"]].concat());
    result.well();
    let found: Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(
        found["timestamps_ns"],
        serde_json::json!([(NOON + 3600) * 1_000_000_000])
    );
    assert_eq!(found["values"], serde_json::json!([3.0]));
    dir.run(&[&query[..], &["-o", "out.csv"]].concat()).well();
    assert_eq!(
        std::fs::read_to_string(dir.path("out.csv"))
            .unwrap()
            .lines()
            .count(),
        3
    );
    dir.run(&[&query[..], &["-o", "out.parquet"]].concat())
        .well();
    assert!(
        std::fs::read(dir.path("out.parquet"))
            .unwrap()
            .starts_with(b"PAR1")
    );
}

#[test]
fn equal_times_with_other_values_are_noted() {
    let dir = TestFolder::new();
    let text = "time,host,value\n2024-01-01T00:00:01Z,a,10\n2024-01-01T00:00:01Z,a,20\n\
                2024-01-01T00:00:01Z,a,30\n2024-01-01T00:00:02Z,a,40\n";
    write(&dir, "events.csv", text);
    let ingest = |store: &str, more: &[&str]| {
        let command = ["series", "ingest", store, "events.csv", "--policy", "low"];
        let rest = ["--series-columns", "host", "--backend", "cpu"];
        let result = dir.run(&[&command[..], &rest, more].concat());
        assert_eq!(result.code, Some(0), "{result:?}");
        result
    };
    // Within a batch, whatever the form of the progress.
    for (store, form) in [("bar", &[][..]), ("json", &["--json-progress"])] {
        let result = ingest(store, form);
        for part in [
            "note: 2 points were left out whose value is another",
            "--series-columns",
            "series resample",
        ] {
            assert!(result.err.contains(part), "{part}: {result:?}");
        }
    }
    // Points that are the same as the stored ones need no note but that on the file itself.
    let again = ingest("bar", &[]);
    assert!(!again.err.contains("replaced"), "{again:?}");
    // Across batches.
    let result = ingest("batches", &["--batch", "1"]);
    let replaced = "note: 2 stored points were replaced by a later point";
    assert!(result.err.contains(replaced), "{result:?}");
    assert!(!result.err.contains("left out"), "{result:?}");
    ingest("quiet", &["--quiet"]).well();
}

#[test]
fn invalid_input_is_rejected_with_a_message() {
    let dir = TestFolder::new();
    let good = format!(
        "series,timestamp,value\n{}",
        series_csv("cpu", &zip(&[0, 10], &[1., 2.]))
    );
    write(&dir, "in.csv", &good);
    let ingest = |rest: &[&str]| dir.run(&[&["series", "ingest"], rest].concat());
    ingest(&["store", "in.csv"]).refused(
        1,
        &["store: expected a store, found no file", "--policy low"],
    );
    ingest(&["store", "in.csv", "--policy", "lowest"])
        .refused(2, &["--policy lowest", "low, medium, high"]);
    ingest(&["store", "in.csv", "--policy", "p.toml"]).refused(1, &["p.toml: cannot be read"]);
    write(
        &dir,
        "p.toml",
        "back_window = 1\naggregates = ['mean']\nfoo = 1\n",
    );
    ingest(&["store", "in.csv", "--policy", "p.toml"]).refused(
        1,
        &["p.toml: line 3: expected one of the keys", "found foo"],
    );
    ingest(&["store", "in.csv", "--policy", "low", "--batch", "0"]).refused(2, &["--batch 0"]);
    ingest(&["in.csv", "in.csv", "--policy", "low"])
        .refused(2, &["in.csv: expected another name for the store"]);
    ingest(&["store", "none.csv", "--policy", "low"]).refused(1, &["none.csv"]);
    ingest(&["no/store", "in.csv", "--policy", "low"])
        .refused(1, &["no/store: cannot be written: there is no folder no"]);
    ingest(&[
        "other.csv",
        "in.csv",
        "--policy",
        "low",
        "--summary",
        "in.csv",
    ])
    .refused(2, &["in.csv", "another name"]);
    assert_eq!(dir.names(), ["in.csv", "p.toml"]);

    // The points before a malformed row are stored, as the message says.
    write(&dir, "bad.csv", &format!("{good}cpu,soon,1\n"));
    ingest(&[
        "store",
        "bad.csv",
        "--policy",
        "low",
        "--batch",
        "1",
        "--backend",
        "cpu",
        "--quiet",
    ])
    .refused(1, &["bad.csv: line 4", "soon"]);
    ingest(&[
        "store",
        "bad.csv",
        "--policy",
        "low",
        "--on-error",
        "skip",
        "--backend",
        "cpu",
        "--quiet",
    ])
    .well();
    ingest(&["store", "in.csv", "--policy", "high"]).refused(
        1,
        &[
            "store: expected the store's policy low (5m for 30d;",
            "high (1s for 1h",
        ],
    );

    let query = |store: &str, series: &str, granularity: &str, aggregate: &str| {
        let options = ["-s", series, "-g", granularity, "-a", aggregate];
        dir.run(&[&["series", "query", store][..], &options].concat())
    };
    query("store", "cpa", "5m", "mean")
        .refused(1, &["store: series: expected one of", "'cpu', found 'cpa'"]);
    query("store", "cpu", "1m", "mean")
        .refused(1, &["store: granularity: expected 5m, found '1m'"]);
    query("store", "cpu", "5m", "median").refused(
        1,
        &["store: aggregate: expected count, sum", "found 'median'"],
    );
    query("store", "cpu", "5 m", "mean").refused(2, &["--granularity 5 m: expected"]);
    query("store", "cpu", "5m", "average").refused(2, &["--aggregate average: expected"]);
    let options = [
        "-s", "cpu", "-g", "5m", "-a", "mean", "--start", "2", "--end", "1",
    ];
    dir.run(&[&["series", "query", "store"][..], &options].concat())
        .refused(2, &["--start 2"]);

    let bytes = std::fs::read(dir.path("store")).unwrap();
    std::fs::write(dir.path("cut"), &bytes[..bytes.len() / 3]).unwrap();
    write(&dir, "text", &good.repeat(200));
    write(&dir, "empty", "");
    for (name, words) in [
        (
            "cut",
            "cut: expected a store of series, found a damaged one",
        ),
        ("text", "expected a store of series"),
        ("empty", "expected a store of series"),
        ("none", "there is no such file"),
        (".", "it is a folder"),
    ] {
        query(name, "cpu", "5m", "mean").refused(1, &[words]);
        dir.run(&["series", "info", name]).refused(1, &[words]);
        if name != "none" {
            ingest(&[name, "in.csv", "--policy", "low"]).refused(1, &[words]);
        }
    }
}
