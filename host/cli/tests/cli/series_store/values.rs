//! Aggregates of a store: published check values for any batch size, and values of another store
//! for real series.

use super::super::support::{TestFolder, skipped};
use super::{NOON, series_csv, write, zip};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;
use warpstride::series::store::{Query, StoreReader};

/// A policy with buckets of one minute.
const MINUTES: &str = "back_window = 5
aggregates = ['count', 'sum', 'mean', 'min', 'max', 'first', 'last', 'std', 'median', '56pct', 'rate:mean', 'rate:last']
[[archive]]
granularity = '60s'
points = 1000
";

/// Bucket starts (seconds after noon) and values printed by a query.
fn queried(dir: &TestFolder, series: &str, aggregate: &str) -> Vec<(i64, f64)> {
    let result = dir.run(&[
        "series",
        "query",
        "store",
        "--series",
        series,
        "--granularity",
        "60s",
        "--aggregate",
        aggregate,
    ]);
    result.well();
    let mut lines = result.out.lines();
    assert_eq!(
        lines.next(),
        Some("series,granularity_s,aggregate,timestamp_ns,value")
    );
    let row = |line: &str| {
        let rest = line
            .strip_prefix(&format!("{series},60,{aggregate},"))
            .unwrap();
        let (time, value) = rest.split_once(',').unwrap();
        let time: i64 = time.parse().unwrap();
        (time / 1_000_000_000 - NOON, value.parse().unwrap())
    };
    lines.map(row).collect()
}

#[test]
fn published_check_values_for_any_batch_size() {
    let dir = TestFolder::new();
    write(&dir, "minutes.toml", MINUTES);
    let a = zip(
        &[0, 10, 20, 30, 40, 60, 70, 80, 90, 100, 110, 120, 130],
        &[3., 5., 2., 3., 5., 8., 11., 22., 10., 42., 9., 4., 2.],
    );
    let d = zip(
        &[0, 4, 62, 74, 84, 124, 155, 162, 182, 202, 222, 249],
        &[50., 55., 65., 66., 70., 83., 92., 103., 105., 5., 7., 23.],
    );
    let e = zip(
        &[0, 4, 62, 74, 84, 182, 202, 222, 249],
        &[50., 55., 65., 66., 70., 105., 108., 200., 202.],
    );
    let mut rows: Vec<String> = [("A", a), ("D", d), ("E", e)]
        .iter()
        .flat_map(|(name, points)| {
            let text = series_csv(name, points);
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    for (batch, turn) in [("1000", 0), ("1", 0), ("5", 7), ("2", 21)] {
        rows.rotate_left(turn);
        let text = format!("series,timestamp,value\n{}\n", rows.join("\n"));
        write(&dir, "in.csv", &text);
        drop(std::fs::remove_file(dir.path("store")));
        let arguments = [
            "series",
            "ingest",
            "store",
            "in.csv",
            "--policy",
            "minutes.toml",
            "--batch",
            batch,
            "--backend",
            "cpu",
            "--quiet",
        ];
        dir.run(&arguments).well();
        for (aggregate, expected) in [
            ("first", [3., 8., 4.]),
            ("last", [5., 9., 2.]),
            ("count", [5., 6., 2.]),
            ("sum", [18., 102., 6.]),
            ("mean", [3.6, 17., 3.]),
            ("median", [3., 10.5, 3.]),
            ("56pct", [3.48, 10.8, 3.12]),
            ("min", [2., 8., 2.]),
            ("max", [5., 42., 4.]),
            ("std", [1.8_f64.sqrt(), 176.0_f64.sqrt(), 2.0_f64.sqrt()]),
        ] {
            let found = queried(&dir, "A", aggregate);
            assert_eq!(found.len(), 3, "{aggregate}");
            for (minute, (start, value)) in found.into_iter().enumerate() {
                assert_eq!(start, 60 * minute as i64);
                assert!(
                    (value - expected[minute]).abs() <= 1e-12 * value.abs(),
                    "{aggregate}: {value}"
                );
            }
        }
        let rates = [(0, 5.), (60, 5.), (120, 11.), (180, -32.), (240, 16.)];
        assert_eq!(queried(&dir, "D", "rate:mean"), rates);
        let rates = [(0, 5.), (60, 4.), (180, 92.), (240, 2.)];
        assert_eq!(queried(&dir, "E", "rate:last"), rates);
    }
}

#[test]
fn real_series_agree_with_another_store() {
    let Some(shared) = std::env::var_os("WARPSTRIDE_SHARED_DATA") else {
        skipped(
            "a store of real series",
            "WARPSTRIDE_SHARED_DATA is not set",
        );
        return;
    };
    let folder = PathBuf::from(shared).join("series");
    let Ok(expected) = std::fs::read_to_string(folder.join("nab-expected.json")) else {
        skipped(
            "a store of real series",
            "series/nab-expected.json is not there",
        );
        return;
    };
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let files = expected["files"].as_object().unwrap();
    let dir = TestFolder::new();
    let (_, any) = files.iter().next().unwrap();
    let granularities = any["agg"].as_object().unwrap();
    let aggregates: Vec<&String> = granularities["60"].as_object().unwrap().keys().collect();
    let mut policy = format!("back_window = 200\naggregates = {aggregates:?}\n");
    for granularity in granularities.keys() {
        // Longer than every series, but within the range of timestamps.
        let seconds: u64 = granularity.parse().unwrap();
        let points = 3_000_000_000 / seconds;
        writeln!(
            policy,
            "[[archive]]\ngranularity = '{granularity}s'\npoints = {points}"
        )
        .unwrap();
    }
    write(&dir, "policy.toml", &policy);
    let mut compared = 0;
    for (store, batch, of_duplicates) in [("parts", "777", false), ("whole", "1000000", true)] {
        let here = files
            .iter()
            .filter(|file| (file.1["duplicates"] != 0) == of_duplicates);
        let here: Vec<_> = here.collect();
        let inputs: Vec<PathBuf> = here.iter().map(|f| folder.join("nab").join(f.0)).collect();
        if inputs.is_empty() {
            continue;
        }
        let mut command = vec!["series", "ingest", store, "--policy", "policy.toml"];
        command.extend(["--batch", batch, "--backend", "cpu", "--quiet"]);
        command.extend(inputs.iter().map(|input| input.to_str().unwrap()));
        dir.run(&command).well();
        let reader = StoreReader::open(&dir.path(store)).unwrap();
        for (file, of_file) in here {
            for (granularity, of_granularity) in of_file["agg"].as_object().unwrap() {
                for (aggregate, expected_values) in of_granularity.as_object().unwrap() {
                    let what = format!("{file} {granularity} {aggregate}");
                    let query = Query {
                        series: file.strip_suffix(".csv").unwrap().to_owned(),
                        granularity: format!("{granularity}s").parse().unwrap(),
                        aggregate: aggregate.parse().unwrap(),
                        start: None,
                        end: None,
                    };
                    let found = reader.query(&query).unwrap();
                    assert_eq!(expected_values["n"], found.starts.len(), "{what}");
                    let sum: f64 = found.values.iter().sum();
                    let all: f64 = found.values.iter().map(|v| v.abs()).sum();
                    let off = (sum - expected_values["sum"].as_f64().unwrap()).abs();
                    assert!(off <= 1e-11 * all.max(1e-300), "{what}: {sum}");
                    let rows: Vec<(i64, f64)> = zip(&found.starts, &found.values);
                    let (head, tail) = (
                        expected_values["head"].as_array(),
                        expected_values["tail"].as_array(),
                    );
                    let (head, tail) = (head.unwrap(), tail.unwrap());
                    let rest = &rows[rows.len() - tail.len()..];
                    // The reference values agree with a quantile position computed among all points
                    // of the series, so its fraction has the rounding error of that number; sums of
                    // differences cancel, and their error is that of the values; a standard
                    // deviation of nearly equal values loses digits in any order of additions.
                    let rounding = of_file["n"].as_f64().unwrap() * f64::EPSILON;
                    let extremes = ["min", "max"].map(|extreme| {
                        let aggregate = extreme.parse().unwrap();
                        let found = reader.query(&Query {
                            aggregate,
                            ..query.clone()
                        });
                        found.unwrap().values
                    });
                    let largest = extremes.iter().flatten();
                    let largest = largest.fold(0.0, |most: f64, v| most.max(v.abs()));
                    let loses = aggregate.ends_with("pct") || aggregate.starts_with("rate:");
                    let lost = if loses { rounding * largest } else { 0.0 };
                    let tolerance = |value: f64| 1e-12 * value.abs().max(1e-3) + lost;
                    for (row, expected_values) in rows.iter().zip(head).chain(rest.iter().zip(tail))
                    {
                        assert_eq!(expected_values[0], row.0, "{what}");
                        let value = expected_values[1].as_f64().unwrap();
                        let off = (row.1 - value).abs();
                        assert!(off <= tolerance(value), "{what}: {} {value}", row.1);
                    }
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(
        compared,
        files.len() * granularities.len() * aggregates.len()
    );
}
