//! Inputs of the trials of 2026-11-28: their values where they are read, and the remedy where they
//! are refused.

use super::super::support::{Output, TestFolder, skipped};
use super::{Row, resample, rows};
use std::path::PathBuf;

/// A file of the trials, unless the data are not there.
fn trial(name: &str) -> Option<String> {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/trials/series");
    let path = folder.join(name);
    if !path.exists() {
        skipped(name, "../shared/data/trials/series is not there");
        return None;
    }
    path.to_str().map(str::to_owned)
}

/// Resamples a file of the trials to minutes on standard output.
fn minutes(name: &str, options: &[&str]) -> Option<Output> {
    let file = trial(name)?;
    let fixed = [&*file, "-o", "-", "-g", "60s", "--timestamps", "iso"];
    Some(resample(
        &TestFolder::new(),
        &[&fixed[..], options].concat(),
    ))
}

/// The rows of a file without errors, and its notes.
#[track_caller]
fn read(name: &str, options: &[&str]) -> Option<(Vec<Row>, String)> {
    let result = minutes(name, options)?;
    assert_eq!(result.code, Some(0), "{name}: {result:?}");
    Some((rows(&result.out), result.err))
}

/// (time, value) of an aggregate of a series.
fn of(rows: &[Row], series: &str, aggregate: &str) -> Vec<(String, f64)> {
    let rows = rows
        .iter()
        .filter(|row| row.series == series && row.aggregate == aggregate);
    rows.map(|row| (row.time.clone(), row.value)).collect()
}

fn at(time: &str, value: f64) -> (String, f64) {
    (time.to_owned(), value)
}

#[test]
fn seconds_of_openmetrics_are_seconds() {
    let Some(result) = minutes("om.prom", &["-a", "first"]) else {
        return;
    };
    result.well();
    for row in [
        "2025-02-10T10:56:00Z,0.0",
        "2025-02-10T10:57:00Z,2.0",
        "2025-02-10T10:58:00Z,4.0",
    ] {
        assert!(result.out.contains(row), "{row}: {}", result.out);
    }
    assert_eq!(result.out.lines().count(), 4);
    let Some((rows, notes)) = read("ts_float.prom", &["-a", "last"]) else {
        return;
    };
    assert_eq!(of(&rows, "a", "last"), [at("2025-02-10T10:56:00Z", 1.0)]);
    assert_eq!(notes, "");
    // An option is obeyed.
    let Some((rows, _)) = read("om.prom", &["--time-unit", "ms", "-g", "1d", "--quiet"]) else {
        return;
    };
    assert!(rows[0].time.starts_with("1970-01-21"), "{rows:?}");
}

#[test]
fn events_at_equal_times_count() {
    let midnight = "2024-01-01T00:00:00Z";
    let options = ["--series-columns", "host", "-a", "count,sum,95pct,rate:sum"];
    for (policy, count, sum) in [
        ("keep", 4.0, 100.0),
        ("first", 2.0, 50.0),
        ("last", 2.0, 70.0),
    ] {
        let options = [&options[..], &["--duplicates", policy]].concat();
        let Some((rows, notes)) = read("dup_events.csv", &options) else {
            return;
        };
        assert_eq!(
            of(&rows, "host=a", "count"),
            [at(midnight, count)],
            "{policy}"
        );
        assert_eq!(of(&rows, "host=a", "sum"), [at(midnight, sum)], "{policy}");
        assert!(notes.starts_with("note: 2 "), "{notes}");
    }
    let Some((rows, _)) = read("dup_events.csv", &options) else {
        return;
    };
    assert_eq!(of(&rows, "host=a", "95pct"), [at(midnight, 38.5)]);
    assert_eq!(of(&rows, "host=a", "rate:sum"), [at(midnight, 30.0)]);
    let Some(refused) = minutes(
        "dup_events.csv",
        &["--series-columns", "host", "--duplicates", "error"],
    ) else {
        return;
    };
    assert_eq!(refused.code, Some(1));
    for part in [
        "series host=a",
        "several at 2024-01-01T00:00:01Z",
        "--duplicates keep",
    ] {
        assert!(refused.err.contains(part), "{refused:?}");
    }
    // Fewer labels than the table has.
    let options = [
        "--series-columns",
        "host",
        "--ignore-columns",
        "sensor",
        "-a",
        "sum",
    ];
    let Some((rows, _)) = read("groupby.csv", &options) else {
        return;
    };
    let later = "2024-01-01T00:01:00Z";
    assert_eq!(
        of(&rows, "host=a", "sum"),
        [at(midnight, 30.0), at(later, 40.0)]
    );
    assert_eq!(of(&rows, "host=b", "sum"), [at(midnight, 30.0)]);
}

#[test]
fn labels_within_structures_tell_series_apart() {
    let Some(refused) = minutes("nested.parquet", &[]) else {
        return;
    };
    refused.refused(1, &["nested.parquet", "--series-columns", "labels.host"]);
    let options = ["--series-columns", "labels.host", "-a", "sum"];
    let Some((rows, _)) = read("nested.parquet", &options) else {
        return;
    };
    let minute = "2023-11-14T22:14:00Z";
    assert_eq!(of(&rows, "labels.host=a", "sum"), [at(minute, 1.0)]);
    assert_eq!(of(&rows, "labels.host=b", "sum"), [at(minute, 2.0)]);
}

#[test]
fn nulls_are_no_points_and_large_integers_are_noted() {
    for name in ["null3.parquet", "null3.arrow"] {
        let Some((rows, notes)) = read(name, &["-a", "count,mean"]) else {
            return;
        };
        assert_eq!(
            of(&rows, "null3", "count"),
            [at("2024-01-01T00:00:00Z", 2.0)],
            "{name}"
        );
        assert_eq!(
            of(&rows, "null3", "mean"),
            [at("2024-01-01T00:00:00Z", 2.0)],
            "{name}"
        );
        assert!(notes.contains("1 cell without a value"), "{notes}");
    }
    for name in ["big.csv", "big_int64.parquet"] {
        let Some((_, notes)) = read(name, &[]) else {
            return;
        };
        let expected =
            "3 integers beyond 2^53 were rounded to double precision; the first: 9007199254740993";
        assert!(notes.contains(expected), "{name}: {notes}");
    }
}

#[test]
fn files_of_other_programs_are_read() {
    let first = "2024-01-01T00:00:00Z";
    let second = "2024-01-01T00:01:00Z";
    for (name, series, expected) in [
        (
            "comments.csv",
            "comments",
            [at(first, 1.0), at(second, 2.0)],
        ),
        (
            "date_time_cols.csv",
            "date_time_cols",
            [at(first, 1.0), at(second, 2.0)],
        ),
        (
            "sep.csv",
            "cpu",
            [
                at("2015-07-26T08:02:00Z", 1.5),
                at("2015-07-26T08:03:00Z", 2.5),
            ],
        ),
        (
            "utcname.csv",
            "utcname",
            [
                at("2024-03-31T01:30:00Z", 1.0),
                at("2024-03-31T03:30:00Z", 2.0),
            ],
        ),
        (
            "sci_epoch.csv",
            "sci_epoch",
            [
                at("2015-08-20T16:46:00Z", 1.0),
                at("2015-08-20T16:47:00Z", 2.0),
            ],
        ),
    ] {
        let Some((rows, notes)) = read(name, &["-a", "sum"]) else {
            return;
        };
        assert_eq!(of(&rows, series, "sum"), expected, "{name}");
        assert_eq!(notes, "", "{name}");
    }
    // Names with commas are in quotes.
    let Some(result) = minutes("influx_annotated.csv", &["-a", "sum"]) else {
        return;
    };
    result.well();
    for row in [
        "\"_field=tempC,_measurement=weather,city=A,location=mid\",60,sum,2020-09-01T16:59:00Z,30.0",
        "\"_field=tempC,_measurement=weather,city=A,location=mid\",60,sum,2020-09-01T17:00:00Z,31.0",
        "\"_field=tempF,_measurement=weather,city=A,location=mid\",60,sum,2020-09-01T16:59:00Z,86.0",
    ] {
        assert!(result.out.contains(row), "{}", result.out);
    }
    assert_eq!(result.out.lines().count(), 4);
}

#[test]
fn an_ambiguous_date_names_both_options() {
    let Some(refused) = minutes("dmy.csv", &[]) else {
        return;
    };
    refused.refused(
        1,
        &[
            "dmy.csv: line 2",
            "--time-format '%d/%m/%Y %H:%M' if it is 2025-06-10T10:00:00Z",
            "--time-format '%m/%d/%Y %H:%M' if it is 2025-10-06T10:00:00Z",
        ],
    );
    let Some((rows, _)) = read("dmy.csv", &["--time-format", "%d/%m/%Y %H:%M"]) else {
        return;
    };
    let times: Vec<&str> = rows.iter().map(|row| &*row.time).collect();
    assert_eq!(times, ["2025-06-10T10:00:00Z", "2025-06-23T10:00:00Z"]);
}
