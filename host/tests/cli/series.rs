//! `series resample` as a user has it: published values, files of all kinds, and inputs that are larger than memory.

use super::support::{Place, Said, skipped};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

/// 2014-01-01T12:00:00Z, seconds since 1970.
const NOON: i64 = 1_388_577_600;

/// Resamples on the CPU.
fn resample(place: &Place, options: &[&str]) -> Said {
    let fixed = ["series", "resample", "--backend", "cpu"];
    place.run(&[&fixed, options].concat())
}

fn write_points(place: &Place, name: &str, times: &[i64], values: &[f64]) {
    let rows = times
        .iter()
        .zip(values)
        .map(|(t, v)| format!("{},{v}\n", NOON + t));
    let text: String = std::iter::once("timestamp,value\n".to_owned())
        .chain(rows)
        .collect();
    std::fs::write(place.path(name), text).unwrap();
}

/// One row of the output.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    series: String,
    granularity: String,
    aggregate: String,
    time: String,
    value: f64,
}

fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    assert!(
        header.starts_with("series,granularity_s,aggregate,timestamp"),
        "{header}"
    );
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let [series, granularity, aggregate, time, value] = fields[..] else {
                panic!("{line}");
            };
            Row {
                series: series.to_owned(),
                granularity: granularity.to_owned(),
                aggregate: aggregate.to_owned(),
                time: time.to_owned(),
                value: value.parse().unwrap(),
            }
        })
        .collect()
}

fn output(place: &Place, name: &str) -> Vec<Row> {
    rows(&std::fs::read_to_string(place.path(name)).unwrap())
}

/// Aggregate → values in the order of time, of a file with one series and granularity.
fn values(place: &Place, name: &str) -> BTreeMap<String, Vec<f64>> {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in output(place, name) {
        values.entry(row.aggregate).or_default().push(row.value);
    }
    values
}

fn json(place: &Place, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(place.path(name)).unwrap()).unwrap()
}

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
        (
            "std",
            [
                1.341_640_786_499_873_8,
                13.266_499_161_421_599,
                1.414_213_562_373_095_1,
            ],
        ),
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

/// Three series in one file, in no order.
fn three(count: i64) -> String {
    let mut text = String::from("series,timestamp,value\n");
    for i in 0..count {
        // 7919 is a prime: every second once, in a wild order.
        let second = i * 7919 % count;
        let name = ["web", "db", "a \"b\""][(i % 3) as usize];
        let quoted = name.replace('"', "\"\"");
        text += &format!(
            "\"{quoted}\",{},{}\n",
            NOON + second,
            (second % 100) as f64 * 0.5
        );
    }
    text
}

const MANY: [&str; 4] = [
    "--granularity",
    "60s,5m,1h",
    "--aggregate",
    "mean,std,95pct,rate:sum,last",
];

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

/// Whatever the memory, the threads and the order of rows, the bytes are the same.
#[test]
fn inputs_larger_than_memory_give_the_same_bytes() {
    let place = Place::new();
    std::fs::write(place.path("three.csv"), three(40_000)).unwrap();
    let run = |out: &str, options: &[&str]| {
        let fixed = ["three.csv", "-o", out, "--quiet", "--summary", "s.json"];
        resample(&place, &[&fixed, &MANY[..], options].concat()).well();
        (
            std::fs::read(place.path(out)).unwrap(),
            json(&place, "s.json"),
        )
    };
    let (whole, summary) = run("whole.csv", &[]);
    assert_eq!(summary["memory"]["spilled_bytes"], 0);
    for memory in ["150K", "300K", "1M"] {
        let (cut, of_cut) = run("cut.csv", &["--memory", memory]);
        assert!(cut == whole, "{memory}");
        assert!(
            of_cut["memory"]["spilled_bytes"].as_u64().unwrap() > 600_000,
            "{of_cut}"
        );
        assert!(
            of_cut["memory"]["batches"].as_u64().unwrap() > 3,
            "{of_cut}"
        );
        for key in [
            "points",
            "duplicates",
            "skipped",
            "series",
            "granularities",
            "rows",
        ] {
            assert_eq!(of_cut[key], summary[key], "{key}");
        }
    }
    assert!(run("one.csv", &["--threads", "1"]).0 == whole);
    // Reversed: the same points, and no two of them at one time of a series.
    let text = three(40_000);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[4..].reverse();
    std::fs::write(place.path("three.csv"), lines.join("\n")).unwrap();
    assert!(run("reversed.csv", &[]).0 == whole);
    assert_eq!(
        place.names(),
        [
            "cut.csv",
            "one.csv",
            "reversed.csv",
            "s.json",
            "three.csv",
            "whole.csv"
        ]
    );
}

#[test]
fn compressed_and_several_inputs_are_one() {
    let place = Place::new();
    let text = three(3000);
    std::fs::write(place.path("all.csv"), &text).unwrap();
    let (head, body) = text.split_at(text.find('\n').unwrap() + 1);
    let middle = body.len() / 2 + body[body.len() / 2..].find('\n').unwrap() + 1;
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(format!("{head}{}", &body[..middle]).as_bytes())
        .unwrap();
    std::fs::write(place.path("one.csv.gz"), gz.finish().unwrap()).unwrap();
    let rest = format!("{head}{}", &body[middle..]);
    let zst = zstd::encode_all(rest.as_bytes(), 1).unwrap();
    std::fs::write(place.path("two.csv.zst"), zst).unwrap();
    resample(
        &place,
        &[&["all.csv", "-o", "all.out.csv", "--quiet"], &MANY[..]].concat(),
    )
    .well();
    let parts = [
        "one.csv.gz",
        "two.csv.zst",
        "-o",
        "parts.out.csv",
        "--summary",
        "s.json",
    ];
    let said = resample(&place, &[&parts, &MANY[..]].concat());
    said.well();
    assert!(
        said.out.contains("2 files") && said.out.contains("points/s"),
        "{}",
        said.out
    );
    let read = |name: &str| std::fs::read(place.path(name)).unwrap();
    assert!(read("all.out.csv") == read("parts.out.csv"));
    let summary = json(&place, "s.json");
    assert_eq!(
        summary["inputs"],
        serde_json::json!(["one.csv.gz", "two.csv.zst"])
    );
    assert_eq!(summary["points"], 3000);
    assert_eq!(summary["granularities"][2]["seconds"], 3600.0);
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
    resample(&place, &options).well();
    assert_eq!(values(&place, "out.csv")["sum"], [1.0, 2.0, 3.0]);
    assert!(
        output(&place, "out.csv")
            .iter()
            .all(|row| row.series == "cpu")
    );
    assert_eq!(json(&place, "s.json")["duplicates"], 2);
}

#[test]
fn times_are_read_and_written_as_iso_too() {
    let place = Place::new();
    let text = "when,load\n2014-01-01T12:00:30Z,1\n2014-01-01 13:00:30+01:00,9\n2014-01-01T12:01:00.5Z,4\n";
    std::fs::write(place.path("x.csv"), text).unwrap();
    let columns = ["--time-column", "when", "--value-column", "load", "--quiet"];
    let options = [
        "x.csv",
        "-o",
        "x.out.csv",
        "--timestamps",
        "iso",
        "--aggregate",
        "count",
    ];
    resample(&place, &[&options[..], &columns].concat()).well();
    let rows = output(&place, "x.out.csv");
    let found: Vec<(&str, f64)> = rows
        .iter()
        .map(|row| (row.time.as_str(), row.value))
        .collect();
    // The second stands at the first one's time.
    assert_eq!(
        found,
        [("2014-01-01T12:00:00Z", 1.0), ("2014-01-01T12:01:00Z", 1.0)]
    );
    // What was written is read again.
    resample(
        &place,
        &[
            "x.out.csv",
            "-o",
            "again.csv",
            "--granularity",
            "1d",
            "--aggregate",
            "sum",
            "--quiet",
        ],
    )
    .well();
    let again = output(&place, "again.csv");
    assert_eq!((again[0].series.as_str(), again[0].value), ("x", 2.0));
}

#[test]
fn parquet_has_the_same_rows_as_text() {
    let place = Place::new();
    std::fs::write(place.path("three.csv"), three(3000)).unwrap();
    let hours = ["--granularity", "5m", "--aggregate", "mean", "--quiet"];
    resample(
        &place,
        &[&["three.csv", "-o", "t.csv"], &hours[..]].concat(),
    )
    .well();
    resample(
        &place,
        &[&["three.csv", "-o", "t.parquet"], &hours[..]].concat(),
    )
    .well();
    // Both are points again.
    resample(
        &place,
        &[&["t.csv", "-o", "from-csv.csv"], &hours[..]].concat(),
    )
    .well();
    resample(
        &place,
        &[&["t.parquet", "-o", "from-parquet.csv"], &hours[..]].concat(),
    )
    .well();
    let read = |name: &str| std::fs::read(place.path(name)).unwrap();
    assert!(read("from-csv.csv") == read("from-parquet.csv") && read("from-csv.csv").len() > 200);
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

#[test]
fn malformed_rows_are_left_out_and_counted_where_that_is_asked_for() {
    let place = Place::new();
    let text = "timestamp,value\n0,1\nyesterday,2\n10,three\n20,4\n";
    std::fs::write(place.path("m.csv"), text).unwrap();
    let options = [
        "m.csv",
        "-o",
        "out.csv",
        "--aggregate",
        "sum",
        "--on-error",
        "skip",
        "--summary",
        "s.json",
    ];
    let said = resample(&place, &options);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.err.contains("2 malformed rows") && said.err.contains("line 3"),
        "{said:?}"
    );
    assert_eq!(values(&place, "out.csv")["sum"], [5.0]);
    let malformed = &json(&place, "s.json")["malformed"];
    assert_eq!(malformed["rows"], 2);
    assert!(
        malformed["first"][1].as_str().unwrap().contains("three"),
        "{malformed}"
    );
    let quiet = resample(&place, &[&options[..], &["--quiet"]].concat());
    quiet.well();
    assert_eq!(quiet.out, "");
}

#[test]
fn standard_input_and_output_are_files_too() {
    let place = Place::new();
    let mut command = place.command();
    command
        .args(["series", "resample", "-", "-o", "-", "--backend", "cpu"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = place.start(&mut command);
    let mut to = child.stdin.take().unwrap();
    to.write_all(b"t,v\n0,1\n30,2\n").unwrap();
    drop(to);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().nth(1), Some("stdin,60,mean,0,1.5"), "{text}");
    assert_eq!(text.lines().count(), 2);
}

#[test]
fn a_plot_is_a_picture() {
    let place = Place::new();
    std::fs::write(place.path("three.csv"), three(3000)).unwrap();
    let said = resample(&place, &["three.csv", "-o", "out.csv", "--plot", "p.png"]);
    said.well();
    assert!(said.out.contains("p.png"), "{}", said.out);
    let picture = image::open(place.path("p.png")).unwrap().to_rgb8();
    assert!(picture.width() >= 800 && picture.pixels().any(|p| p.0 == [0, 114, 178]));
}

#[test]
fn progress_is_json_lines() {
    let place = Place::new();
    std::fs::write(place.path("three.csv"), three(3000)).unwrap();
    let said = resample(&place, &["three.csv", "-o", "out.csv", "--json-progress"]);
    said.well();
    let events: Vec<Value> = said
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events[0]["event"], "start");
    assert_eq!(events.last().unwrap()["event"], "end");
    let stages: Vec<&str> = events.iter().filter_map(|e| e["stage"].as_str()).collect();
    assert_eq!(
        (stages.first(), stages.last()),
        (Some(&"read"), Some(&"resample"))
    );
}

/// The input never ends, so the run cannot be over before it is stopped.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing_behind() {
    for memory in ["8G", "256K"] {
        let place = Place::new();
        let made = std::process::Command::new("mkfifo")
            .arg(place.path("endless.csv"))
            .status()
            .unwrap();
        assert!(made.success());
        let pipe = place.path("endless.csv");
        let feeding = std::thread::spawn(move || {
            let mut to = std::fs::OpenOptions::new().write(true).open(pipe).unwrap();
            let mut second = NOON;
            loop {
                let rows: String = (0..10_000)
                    .map(|i| format!("{},{i}\n", second + i))
                    .collect();
                second += 10_000;
                if to.write_all(rows.as_bytes()).is_err() {
                    break;
                }
            }
        });
        let options = [
            "endless.csv",
            "-o",
            "out.csv",
            "--memory",
            memory,
            "--json-progress",
        ];
        let fixed = ["series", "resample", "--backend", "cpu"];
        let said = place.interrupt_at(
            place.command().args(fixed).args(options),
            "\"stage\":\"read\"",
        );
        assert_eq!(said.code, Some(130), "{said:?}");
        assert!(
            said.err.contains("stopped after") && said.err.contains("nothing was written"),
            "{said:?}"
        );
        assert_eq!(place.names(), ["endless.csv"]);
        feeding.join().unwrap();
    }
}

#[test]
fn the_emulator_gives_the_same_bytes() {
    let place = Place::new();
    std::fs::write(place.path("three.csv"), three(600)).unwrap();
    let all = [
        "--granularity",
        "60s,5m",
        "--aggregate",
        "all,rate:mean",
        "--quiet",
    ];
    resample(
        &place,
        &[&["three.csv", "-o", "cpu.csv"], &all[..]].concat(),
    )
    .well();
    let emulated = [
        "series",
        "resample",
        "three.csv",
        "-o",
        "emulated.csv",
        "--backend",
        "emulator",
    ];
    place.run(&[&emulated, &all[..]].concat()).well();
    let read = |name: &str| std::fs::read(place.path(name)).unwrap();
    assert!(read("cpu.csv") == read("emulated.csv"));
}

#[test]
fn the_ladder_is_climbed_in_the_emulator() {
    let place = Place::new();
    let said = place.run(&[
        "series",
        "ladder",
        "--backend",
        "emulator",
        "--json",
        "-o",
        "l.json",
    ]);
    said.well();
    let told: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(told, json(&place, "l.json"));
    let steps = told["steps"].as_array().unwrap();
    let names: Vec<&str> = steps
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..4], ["v1", "v2", "v3", "v4"]);
    assert!(steps.iter().all(|step| step["right"] == true), "{told}");
}
