//! Input formats: compressed files, several files, ISO times, Parquet, standard input, malformed
//! rows.

use super::super::support::TestFolder;
use super::{MANY, json, output, resample, rows, three, values};
use std::io::Write;
use std::process::Stdio;

#[test]
fn compressed_and_split_inputs_equal_one_file() {
    let dir = TestFolder::new();
    let text = three(3000);
    std::fs::write(dir.path("all.csv"), &text).unwrap();
    let (head, body) = text.split_at(text.find('\n').unwrap() + 1);
    let middle = body.len() / 2 + body[body.len() / 2..].find('\n').unwrap() + 1;
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(format!("{head}{}", &body[..middle]).as_bytes())
        .unwrap();
    std::fs::write(dir.path("one.csv.gz"), gz.finish().unwrap()).unwrap();
    let rest = format!("{head}{}", &body[middle..]);
    let zst = zstd::encode_all(rest.as_bytes(), 1).unwrap();
    std::fs::write(dir.path("two.csv.zst"), zst).unwrap();
    resample(
        &dir,
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
    let result = resample(&dir, &[&parts, &MANY[..]].concat());
    result.well();
    assert!(
        result.out.contains("2 files") && result.out.contains("points/s"),
        "{}",
        result.out
    );
    let read = |name: &str| std::fs::read(dir.path(name)).unwrap();
    assert!(read("all.out.csv") == read("parts.out.csv"));
    let summary = json(&dir, "s.json");
    assert_eq!(
        summary["inputs"],
        serde_json::json!(["one.csv.gz", "two.csv.zst"])
    );
    assert_eq!(summary["points"], 3000);
    assert_eq!(summary["granularities"][2]["granularity_s"], 3600.0);
}

/// A quote somewhere in a row does not change the name of its series.
#[test]
fn blanks_around_names_are_ignored() {
    let dir = TestFolder::new();
    let text = "series,timestamp_s,value\ncpu ,0,1\ncpu ,10,\"2\"\n cpu,20,3\n\" cpu\",30,4\n";
    std::fs::write(dir.path("blank.csv"), text).unwrap();
    let options = ["blank.csv", "-o", "-", "-a", "count", "-g", "1h", "--quiet"];
    let result = resample(&dir, &options);
    result.well();
    let found: Vec<(String, f64)> = rows(&result.out)
        .into_iter()
        .map(|row| (row.series, row.value))
        .collect();
    // Written in quotes, as it must be to be read again.
    assert_eq!(
        found,
        [("cpu".to_owned(), 3.0), ("\" cpu\"".to_owned(), 1.0)]
    );
}

#[test]
fn iso_times_are_read_and_written() {
    let dir = TestFolder::new();
    let text = "when,load\n2014-01-01T12:00:30Z,1\n2014-01-01 13:00:30+01:00,9\n2014-01-01T12:01:00.5Z,4\n";
    std::fs::write(dir.path("x.csv"), text).unwrap();
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
    resample(&dir, &[&options[..], &columns].concat()).well();
    let rows = output(&dir, "x.out.csv");
    let found: Vec<(&str, f64)> = rows
        .iter()
        .map(|row| (row.time.as_str(), row.value))
        .collect();
    // The second point has the same time as the first; both are points.
    assert_eq!(
        found,
        [("2014-01-01T12:00:00Z", 2.0), ("2014-01-01T12:01:00Z", 1.0)]
    );
    // The output is a valid input.
    resample(
        &dir,
        &[
            "x.out.csv",
            "-o",
            "again.csv",
            "--granularity",
            "1d",
            "--aggregate",
            "sum",
            "--ignore-columns",
            "aggregate",
            "--quiet",
        ],
    )
    .well();
    let again = output(&dir, "again.csv");
    assert_eq!((again[0].series.as_str(), again[0].value), ("x", 3.0));
}

#[test]
fn parquet_and_csv_outputs_have_equal_rows() {
    let dir = TestFolder::new();
    std::fs::write(dir.path("three.csv"), three(3000)).unwrap();
    let hours = ["--granularity", "5m", "--aggregate", "mean", "--quiet"];
    resample(&dir, &[&["three.csv", "-o", "t.csv"], &hours[..]].concat()).well();
    resample(
        &dir,
        &[&["three.csv", "-o", "t.parquet"], &hours[..]].concat(),
    )
    .well();
    // Both outputs are valid inputs.
    let again = [&hours[..], &["--ignore-columns", "granularity_s,aggregate"]].concat();
    resample(
        &dir,
        &[&["t.csv", "-o", "from-csv.csv"], &again[..]].concat(),
    )
    .well();
    resample(
        &dir,
        &[&["t.parquet", "-o", "from-parquet.csv"], &again[..]].concat(),
    )
    .well();
    let read = |name: &str| std::fs::read(dir.path(name)).unwrap();
    assert!(read("from-csv.csv") == read("from-parquet.csv") && read("from-csv.csv").len() > 200);
}

#[test]
fn malformed_rows_are_skipped_and_counted_on_request() {
    let dir = TestFolder::new();
    let text = "timestamp_s,value\n0,1\nyesterday,2\n10,three\n20,4\n";
    std::fs::write(dir.path("m.csv"), text).unwrap();
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
    let result = resample(&dir, &options);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(
        result.err.contains("2 malformed rows") && result.err.contains("line 3"),
        "{result:?}"
    );
    assert_eq!(values(&dir, "out.csv")["sum"], [5.0]);
    let malformed = &json(&dir, "s.json")["malformed"];
    assert_eq!(malformed["rows"], 2);
    assert!(
        malformed["first"][1].as_str().unwrap().contains("three"),
        "{malformed}"
    );
    let quiet = resample(&dir, &[&options[..], &["--quiet"]].concat());
    quiet.well();
    assert_eq!(quiet.out, "");
}

#[test]
fn standard_input_and_output_work_like_files() {
    let dir = TestFolder::new();
    let mut command = dir.command();
    command
        .args(["series", "resample", "-", "-o", "-", "--backend", "cpu"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = dir.start(&mut command);
    let mut to = child.stdin.take().unwrap();
    to.write_all(b"t_s,v\n0,1\n30,2\n").unwrap();
    drop(to);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().nth(1), Some("stdin,60,mean,0,1.5"), "{text}");
    assert_eq!(text.lines().count(), 2);
}
