//! The computed aggregates: published tables, reference values of another program for real series,
//! calendar buckets.

use super::super::support::{TestFolder, skipped};
use super::{MANY, NOON, Row, json, output, resample, rows, three, values, write_points};
use serde_json::Value;
use std::path::PathBuf;

#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-12 * b.abs(), "{found:?} {expected:?}");
    }
}

/// The tables of the specification, which other programs test against as well.
#[test]
fn published_tables_are_reproduced() {
    let dir = TestFolder::new();
    write_points(
        &dir,
        "a.csv",
        &[0, 10, 20, 30, 40, 60, 70, 80, 90, 100, 110, 120, 130],
        &[
            3.0, 5.0, 2.0, 3.0, 5.0, 8.0, 11.0, 22.0, 10.0, 42.0, 9.0, 4.0, 2.0,
        ],
    );
    let all = "first,last,count,sum,mean,median,56pct,min,max,std,nunique";
    resample(
        &dir,
        &["a.csv", "-o", "a.out.csv", "--aggregate", all, "--quiet"],
    )
    .well();
    let found = values(&dir, "a.out.csv");
    for (name, expected) in [
        ("first", [3.0, 8.0, 4.0]),
        ("last", [5.0, 9.0, 2.0]),
        ("count", [5.0, 6.0, 2.0]),
        ("sum", [18.0, 102.0, 6.0]),
        ("mean", [3.6, 17.0, 3.0]),
        ("median", [3.0, 10.5, 3.0]),
        ("56pct", [3.48, 10.8, 3.12]),
        ("min", [2.0, 8.0, 2.0]),
        ("max", [5.0, 42.0, 4.0]),
        ("std", [1.8_f64.sqrt(), 176.0_f64.sqrt(), 2.0_f64.sqrt()]),
        ("nunique", [3.0, 6.0, 2.0]),
    ] {
        near(&found[name], &expected);
    }
    let rows = output(&dir, "a.out.csv");
    assert_eq!(
        (rows[0].series.as_str(), rows[0].granularity.as_str()),
        ("a", "60")
    );
    assert_eq!(rows[0].time, format!("{NOON}000000000"));
    assert_eq!(rows[2].time, format!("{}000000000", NOON + 120));

    write_points(&dir, "b.csv", &[0, 4, 9], &[3.0, 5.0, 6.0]);
    resample(
        &dir,
        &[
            "b.csv",
            "-o",
            "b.out.csv",
            "--aggregate",
            "74pct,95pct",
            "--quiet",
        ],
    )
    .well();
    let found = values(&dir, "b.out.csv");
    near(&[found["74pct"][0], found["95pct"][0]], &[5.48, 5.9]);

    // One point has no standard deviation, hence no row.
    write_points(&dir, "c.csv", &[0, 4, 9, 66], &[3.0, 6.0, 5.0, 9.0]);
    resample(
        &dir,
        &["c.csv", "-o", "c.out.csv", "--aggregate", "std", "--quiet"],
    )
    .well();
    near(
        &values(&dir, "c.out.csv")["std"],
        &[1.527_525_231_651_946_5],
    );

    let times = [0, 4, 62, 74, 84, 124, 155, 162, 182, 202, 222, 249];
    let counter = [
        50.0, 55.0, 65.0, 66.0, 70.0, 83.0, 92.0, 103.0, 105.0, 5.0, 7.0, 23.0,
    ];
    write_points(&dir, "d.csv", &times, &counter);
    resample(
        &dir,
        &[
            "d.csv",
            "-o",
            "d.out.csv",
            "--aggregate",
            "rate:mean",
            "--quiet",
        ],
    )
    .well();
    near(
        &values(&dir, "d.out.csv")["rate:mean"],
        &[5.0, 5.0, 11.0, -32.0, 16.0],
    );

    let times = [0, 4, 62, 74, 84, 182, 202, 222, 249];
    let counter = [50.0, 55.0, 65.0, 66.0, 70.0, 105.0, 108.0, 200.0, 202.0];
    write_points(&dir, "e.csv", &times, &counter);
    resample(
        &dir,
        &[
            "e.csv",
            "-o",
            "e.out.csv",
            "--aggregate",
            "rate:last",
            "--quiet",
        ],
    )
    .well();
    near(
        &values(&dir, "e.out.csv")["rate:last"],
        &[5.0, 4.0, 92.0, 2.0],
    );
    let minutes: Vec<String> = output(&dir, "e.out.csv")
        .into_iter()
        .map(|row| row.time)
        .collect();
    let expected = [0, 60, 180, 240].map(|s| format!("{}000000000", NOON + s));
    assert_eq!(minutes, expected);
}

/// Compares real series with another program's aggregates at every granularity and method in the
/// file.
#[test]
fn real_series_agree_with_another_program() {
    let Some(folder) = std::env::var_os("WARPSTRIDE_SHARED_DATA") else {
        skipped("real series", "$WARPSTRIDE_SHARED_DATA is not set");
        return;
    };
    let folder = PathBuf::from(folder).join("series");
    let Ok(text) = std::fs::read_to_string(folder.join("nab-expected.json")) else {
        skipped(
            "real series",
            &format!("{} has no nab-expected.json", folder.display()),
        );
        return;
    };
    let expected: Value = serde_json::from_str(&text).unwrap();
    let dir = TestFolder::new();
    let mut checked = 0;
    for file in ["TravelTime_387.csv", "nyc_taxi.csv"] {
        let of_file = &expected["files"][file];
        let granularities = of_file["agg"].as_object().unwrap();
        let methods = granularities.values().next().unwrap().as_object().unwrap();
        let list = |names: Vec<&String>| {
            names
                .into_iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(",")
        };
        let input = folder.join("nab").join(file);
        let result = resample(
            &dir,
            &[
                input.to_str().unwrap(),
                "-o",
                "out.csv",
                "--duplicates",
                "first",
                "--summary",
                "s.json",
                "--granularity",
                &list(granularities.keys().collect()),
                "--aggregate",
                &list(methods.keys().collect()),
            ],
        );
        assert_eq!(result.code, Some(0), "{result:?}");
        let rows = output(&dir, "out.csv");
        for (granularity, methods) in granularities {
            for (method, expected) in methods.as_object().unwrap() {
                let found: Vec<&Row> = rows
                    .iter()
                    .filter(|row| row.granularity == *granularity && row.aggregate == *method)
                    .collect();
                let case = format!("{file} {granularity} {method}");
                assert_eq!(
                    found.len(),
                    expected["n"].as_u64().unwrap() as usize,
                    "{case}"
                );
                let sum: f64 = found.iter().map(|row| row.value).sum();
                let scale: f64 = found.iter().map(|row| row.value.abs()).sum();
                let expected_sum = expected["sum"].as_f64().unwrap();
                assert!(
                    (sum - expected_sum).abs() <= 1e-12 * scale,
                    "{case} {sum} {expected_sum}"
                );
                let head = expected["head"].as_array().unwrap();
                let tail = expected["tail"].as_array().unwrap();
                let ends = found[..head.len()]
                    .iter()
                    .chain(&found[found.len() - tail.len()..]);
                for (row, expected) in ends.zip(head.iter().chain(tail)) {
                    assert_eq!(row.time, expected[0].to_string(), "{case}");
                    let value = expected[1].as_f64().unwrap();
                    assert!(
                        (row.value - value).abs() <= 1e-12 * value.abs(),
                        "{case} {row:?}"
                    );
                    checked += 1;
                }
            }
        }
        let summary = json(&dir, "s.json");
        assert_eq!(summary["duplicates"], of_file["duplicates"], "{file}");
        assert_eq!(summary["points"], of_file["n"], "{file}");
        assert_eq!(summary["series"], 1);
        assert_eq!(summary["backend"], "cpu");
    }
    assert!(checked > 500, "{checked}");
}

#[test]
fn series_are_ordered_by_first_point_and_rows_by_time() {
    let dir = TestFolder::new();
    std::fs::write(dir.path("three.csv"), three(9000)).unwrap();
    resample(
        &dir,
        &[&["three.csv", "-o", "out.csv", "--quiet"], &MANY[..]].concat(),
    )
    .well();
    let text = std::fs::read_to_string(dir.path("out.csv")).unwrap();
    assert!(
        text.contains("\n\"a \"\"b\"\"\",60,mean,"),
        "{}",
        &text[..200]
    );
    let order: Vec<(usize, usize, usize, i64)> = text
        .lines()
        .skip(1)
        .map(|line| {
            let mut fields = line.rsplitn(5, ',');
            let (_, time, aggregate, granularity, series) = (
                fields.next().unwrap(),
                fields.next().unwrap(),
                fields.next().unwrap(),
                fields.next().unwrap(),
                fields.next().unwrap(),
            );
            let at = |list: &[&str], name: &str| list.iter().position(|n| *n == name).unwrap();
            (
                at(&["web", "db", "\"a \"\"b\"\"\""], series),
                at(&["60", "300", "3600"], granularity),
                at(&["mean", "std", "95pct", "rate:sum", "last"], aggregate),
                time.parse().unwrap(),
            )
        })
        .collect();
    assert!(order.is_sorted() && order.len() > 2000, "{}", order.len());
}

/// The series of a file without a series column is named after the file; of points at one time, the
/// first file's is used if an option says so.
#[test]
fn the_first_of_several_points_at_one_time_is_used() {
    let dir = TestFolder::new();
    std::fs::create_dir(dir.path("new")).unwrap();
    write_points(&dir, "cpu.csv", &[0, 60, 60], &[1.0, 2.0, 99.0]);
    write_points(&dir, "new/cpu.csv", &[60, 120], &[88.0, 3.0]);
    let options = [
        "cpu.csv",
        "new/cpu.csv",
        "-o",
        "out.csv",
        "--aggregate",
        "sum",
        "--duplicates",
        "first",
        "--summary",
        "s.json",
    ];
    let result = resample(&dir, &options);
    assert_eq!(result.code, Some(0), "{result:?}");
    let note = "note: new/cpu.csv: its series is named 'cpu' after the file, like an earlier one: both are treated as one series\n";
    assert_eq!(result.err, note);
    assert_eq!(values(&dir, "out.csv")["sum"], [1.0, 2.0, 3.0]);
    assert!(
        output(&dir, "out.csv")
            .iter()
            .all(|row| row.series == "cpu")
    );
    assert_eq!(json(&dir, "s.json")["duplicates"], 2);
}

#[test]
fn start_and_end_select_points() {
    let dir = TestFolder::new();
    write_points(
        &dir,
        "a.csv",
        &[0, 30, 60, 90, 120],
        &[1.0, 2.0, 4.0, 8.0, 16.0],
    );
    for (start, end) in [
        ("2014-01-01T12:00:30Z", "2014-01-01T12:02:00Z"),
        ("1388577630", "1388577720"),
        ("1388577630000", "1388577720000"),
    ] {
        let limits = [
            "--start",
            start,
            "--end",
            end,
            "--aggregate",
            "sum,rate:sum",
            "--summary",
            "s.json",
        ];
        resample(&dir, &[&["a.csv", "-o", "out.csv"], &limits[..]].concat()).well();
        let found = values(&dir, "out.csv");
        assert_eq!(found["sum"], [2.0, 12.0], "{start}");
        assert_eq!(found["rate:sum"], [6.0], "{start}");
        assert_eq!(json(&dir, "s.json")["outside"], 2);
    }
}

#[test]
fn nan_are_kept_or_skipped() {
    let dir = TestFolder::new();
    let text = "t_s,v\n0,1\n10,nan\n20,3\n60,NaN\n";
    std::fs::write(dir.path("n.csv"), text).unwrap();
    let run = |nan: &str| {
        let options = [
            "n.csv",
            "-o",
            "out.csv",
            "--aggregate",
            "count,max,min",
            "--nan",
            nan,
            "--summary",
            "s.json",
        ];
        resample(&dir, &options).well();
        (
            values(&dir, "out.csv"),
            json(&dir, "s.json")["skipped"].clone(),
        )
    };
    let (kept, skipped) = run("keep");
    assert_eq!(
        (&kept["count"][..], &skipped),
        (&[3.0, 1.0][..], &Value::from(0))
    );
    assert!(kept["max"].iter().all(|v| v.is_nan()) && kept["min"][0] == 1.0);
    let (left, skipped) = run("skip");
    assert_eq!(
        (&left["count"][..], &left["max"][..], skipped),
        (&[2.0][..], &[3.0][..], Value::from(2))
    );
}

#[test]
fn calendar_buckets() {
    let dir = TestFolder::new();
    // Saturday, Sunday, the last of January, the first of February.
    let text = "time,v\n2014-01-04,1\n2014-01-05,2\n2014-01-31,4\n2014-02-01,8\n";
    std::fs::write(dir.path("c.csv"), text).unwrap();
    let options = [
        "c.csv",
        "-o",
        "-",
        "--granularity",
        "W,M,Q,H,Y",
        "--aggregate",
        "sum",
        "--timestamps",
        "iso",
    ];
    let result = resample(&dir, &options);
    result.well();
    let found: Vec<(String, String, f64)> = rows(&result.out)
        .into_iter()
        .map(|row| (row.granularity, row.time[..10].to_owned(), row.value))
        .collect();
    let expected = [
        ("W", "2013-12-29", 1.0),
        ("W", "2014-01-05", 2.0),
        ("W", "2014-01-26", 12.0),
        ("M", "2014-01-01", 7.0),
        ("M", "2014-02-01", 8.0),
        ("Q", "2014-01-01", 15.0),
        ("H", "2014-01-01", 15.0),
        ("Y", "2014-01-01", 15.0),
    ];
    assert_eq!(
        found,
        expected.map(|(g, t, v)| (g.to_owned(), t.to_owned(), v))
    );
}
