//! The aggregates themselves: published tables, another program's values of real series, calendar buckets.

use super::super::support::{Place, skipped};
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

/// The tables of the specification, which other programs' tests have too.
#[test]
fn the_published_tables_are_met() {
    let place = Place::new();
    write_points(
        &place,
        "a.csv",
        &[0, 10, 20, 30, 40, 60, 70, 80, 90, 100, 110, 120, 130],
        &[
            3.0, 5.0, 2.0, 3.0, 5.0, 8.0, 11.0, 22.0, 10.0, 42.0, 9.0, 4.0, 2.0,
        ],
    );
    let all = "first,last,count,sum,mean,median,56pct,min,max,std,nunique";
    resample(
        &place,
        &["a.csv", "-o", "a.out.csv", "--aggregate", all, "--quiet"],
    )
    .well();
    let found = values(&place, "a.out.csv");
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
    let rows = output(&place, "a.out.csv");
    assert_eq!(
        (rows[0].series.as_str(), rows[0].granularity.as_str()),
        ("a", "60")
    );
    assert_eq!(rows[0].time, format!("{NOON}000000000"));
    assert_eq!(rows[2].time, format!("{}000000000", NOON + 120));

    write_points(&place, "b.csv", &[0, 4, 9], &[3.0, 5.0, 6.0]);
    resample(
        &place,
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
    let found = values(&place, "b.out.csv");
    near(&[found["74pct"][0], found["95pct"][0]], &[5.48, 5.9]);

    // Of one point there is no standard deviation, and no row.
    write_points(&place, "c.csv", &[0, 4, 9, 66], &[3.0, 6.0, 5.0, 9.0]);
    resample(
        &place,
        &["c.csv", "-o", "c.out.csv", "--aggregate", "std", "--quiet"],
    )
    .well();
    near(
        &values(&place, "c.out.csv")["std"],
        &[1.527_525_231_651_946_5],
    );

    let times = [0, 4, 62, 74, 84, 124, 155, 162, 182, 202, 222, 249];
    let counter = [
        50.0, 55.0, 65.0, 66.0, 70.0, 83.0, 92.0, 103.0, 105.0, 5.0, 7.0, 23.0,
    ];
    write_points(&place, "d.csv", &times, &counter);
    resample(
        &place,
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
        &values(&place, "d.out.csv")["rate:mean"],
        &[5.0, 5.0, 11.0, -32.0, 16.0],
    );

    let times = [0, 4, 62, 74, 84, 182, 202, 222, 249];
    let counter = [50.0, 55.0, 65.0, 66.0, 70.0, 105.0, 108.0, 200.0, 202.0];
    write_points(&place, "e.csv", &times, &counter);
    resample(
        &place,
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
        &values(&place, "e.out.csv")["rate:last"],
        &[5.0, 4.0, 92.0, 2.0],
    );
    let minutes: Vec<String> = output(&place, "e.out.csv")
        .into_iter()
        .map(|row| row.time)
        .collect();
    let expected = [0, 60, 180, 240].map(|s| format!("{}000000000", NOON + s));
    assert_eq!(minutes, expected);
}

/// Real series against another program's aggregates: every granularity and method that the file has.
#[test]
fn real_series_have_another_programs_aggregates() {
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
    let place = Place::new();
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
        let said = resample(
            &place,
            &[
                input.to_str().unwrap(),
                "-o",
                "out.csv",
                "--summary",
                "s.json",
                "--granularity",
                &list(granularities.keys().collect()),
                "--aggregate",
                &list(methods.keys().collect()),
            ],
        );
        assert_eq!(said.code, Some(0), "{said:?}");
        let rows = output(&place, "out.csv");
        for (granularity, methods) in granularities {
            for (method, expected) in methods.as_object().unwrap() {
                let found: Vec<&Row> = rows
                    .iter()
                    .filter(|row| row.granularity == *granularity && row.aggregate == *method)
                    .collect();
                let place = format!("{file} {granularity} {method}");
                assert_eq!(
                    found.len(),
                    expected["n"].as_u64().unwrap() as usize,
                    "{place}"
                );
                let sum: f64 = found.iter().map(|row| row.value).sum();
                let scale: f64 = found.iter().map(|row| row.value.abs()).sum();
                let wanted = expected["sum"].as_f64().unwrap();
                assert!(
                    (sum - wanted).abs() <= 1e-12 * scale,
                    "{place} {sum} {wanted}"
                );
                let head = expected["head"].as_array().unwrap();
                let tail = expected["tail"].as_array().unwrap();
                let ends = found[..head.len()]
                    .iter()
                    .chain(&found[found.len() - tail.len()..]);
                for (row, wanted) in ends.zip(head.iter().chain(tail)) {
                    assert_eq!(row.time, wanted[0].to_string(), "{place}");
                    let value = wanted[1].as_f64().unwrap();
                    assert!(
                        (row.value - value).abs() <= 1e-12 * value.abs(),
                        "{place} {row:?}"
                    );
                    checked += 1;
                }
            }
        }
        let summary = json(&place, "s.json");
        assert_eq!(summary["duplicates"], of_file["duplicates"], "{file}");
        assert_eq!(summary["points"], of_file["n"], "{file}");
        assert_eq!(summary["series"], 1);
        assert_eq!(summary["backend"], "cpu");
    }
    assert!(checked > 500, "{checked}");
}

#[test]
fn series_come_in_the_order_of_their_first_points_and_rows_in_order() {
    let place = Place::new();
    std::fs::write(place.path("three.csv"), three(9000)).unwrap();
    resample(
        &place,
        &[&["three.csv", "-o", "out.csv", "--quiet"], &MANY[..]].concat(),
    )
    .well();
    let text = std::fs::read_to_string(place.path("out.csv")).unwrap();
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

/// A file of one series is named like it; of two files at one time the first counts.
#[test]
fn the_first_of_several_points_at_a_time_counts() {
    let place = Place::new();
    std::fs::create_dir(place.path("new")).unwrap();
    write_points(&place, "cpu.csv", &[0, 60, 60], &[1.0, 2.0, 99.0]);
    write_points(&place, "new/cpu.csv", &[60, 120], &[88.0, 3.0]);
    let options = [
        "cpu.csv",
        "new/cpu.csv",
        "-o",
        "out.csv",
        "--aggregate",
        "sum",
        "--summary",
        "s.json",
    ];
    let said = resample(&place, &options);
    assert_eq!(said.code, Some(0), "{said:?}");
    let note = "note: new/cpu.csv: its series is called 'cpu' after it, as one before is: both are one series\n";
    assert_eq!(said.err, note);
    assert_eq!(values(&place, "out.csv")["sum"], [1.0, 2.0, 3.0]);
    assert!(
        output(&place, "out.csv")
            .iter()
            .all(|row| row.series == "cpu")
    );
    assert_eq!(json(&place, "s.json")["duplicates"], 2);
}

#[test]
fn start_and_end_are_about_points() {
    let place = Place::new();
    write_points(
        &place,
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
        resample(&place, &[&["a.csv", "-o", "out.csv"], &limits[..]].concat()).well();
        let found = values(&place, "out.csv");
        assert_eq!(found["sum"], [2.0, 12.0], "{start}");
        assert_eq!(found["rate:sum"], [6.0], "{start}");
        assert_eq!(json(&place, "s.json")["outside"], 2);
    }
}

#[test]
fn nan_are_values_or_left_out() {
    let place = Place::new();
    let text = "t,v\n0,1\n10,nan\n20,3\n60,NaN\n";
    std::fs::write(place.path("n.csv"), text).unwrap();
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
        resample(&place, &options).well();
        (
            values(&place, "out.csv"),
            json(&place, "s.json")["skipped"].clone(),
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
fn weeks_and_months_are_those_of_the_calendar() {
    let place = Place::new();
    // Saturday, Sunday, the last of January, the first of February.
    let text = "time,v\n2014-01-04,1\n2014-01-05,2\n2014-01-31,4\n2014-02-01,8\n";
    std::fs::write(place.path("c.csv"), text).unwrap();
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
    let said = resample(&place, &options);
    said.well();
    let found: Vec<(String, String, f64)> = rows(&said.out)
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
