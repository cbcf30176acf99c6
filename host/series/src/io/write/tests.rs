//! Written results are read back and compared with the definition.

use super::run::seconds;
use super::*;
use crate::io::{ReadOptions, read_all};
use crate::{Aggregate, Buckets, Column, Granularity, Method};
use std::path::PathBuf;

fn buckets(granularity: &str, aggregates: &[&str], offsets: &[usize], counts: &[u32]) -> Buckets {
    let count = counts.len();
    Buckets {
        granularity: granularity.parse().unwrap(),
        rate: false,
        offsets: offsets.to_vec(),
        starts: (0..count as i64).map(|b| b * 60_000_000_000).collect(),
        counts: counts.to_vec(),
        columns: aggregates
            .iter()
            .enumerate()
            .map(|(i, name)| Column {
                aggregate: name.parse().unwrap(),
                values: (0..count).map(|b| (b + i) as f64 / 3.0).collect(),
            })
            .collect(),
    }
}

fn resampled() -> Resampled {
    Resampled {
        buckets: vec![
            buckets("60s", &["mean", "std"], &[0, 2, 3], &[2, 1, 5]),
            buckets("M", &["count"], &[0, 1, 1], &[3]),
            buckets("250ms", &["rate:95pct"], &[0, 0, 1], &[1]),
        ],
        ..Resampled::default()
    }
}

const NAMES: [&str; 2] = ["cpu", "a, \"b\"\nc"];

fn written(name: &str, timestamps: Timestamps) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let mut writer = ResultWriter::create(&path, ResultFormat::of(&path, timestamps)).unwrap();
    writer.append(&NAMES, &resampled()).unwrap();
    assert!(!path.exists());
    assert_eq!(writer.rows(), 7);
    writer.finish().unwrap();
    (folder, path)
}

const EXPECTED: &str = "series,granularity_s,aggregate,timestamp_ns,value
cpu,60,mean,0,0.0
cpu,60,mean,60000000000,0.3333333333333333
cpu,60,std,0,0.3333333333333333
cpu,M,count,0,0.0
\"a, \"\"b\"\"
c\",60,mean,120000000000,0.6666666666666666
\"a, \"\"b\"\"
c\",60,std,120000000000,1.0
\"a, \"\"b\"\"
c\",0.25,rate:95pct,0,0.0
";

/// Options for reading one aggregate at one granularity back.
fn rows() -> ReadOptions {
    ReadOptions {
        ignored_columns: ["granularity_s", "aggregate"].map(str::to_owned).into(),
        ..ReadOptions::default()
    }
}

#[test]
fn rows_are_ordered_by_series_granularity_aggregate_and_time() {
    let (_folder, path) = written("out.csv", Timestamps::Nanoseconds);
    assert_eq!(std::fs::read_to_string(path).unwrap(), EXPECTED);
    let (_folder, path) = written("out.csv", Timestamps::Iso);
    let iso = EXPECTED
        .replace("timestamp_ns", "timestamp")
        .replace(",0,", ",1970-01-01T00:00:00Z,")
        .replace(",60000000000,", ",1970-01-01T00:01:00Z,")
        .replace(",120000000000,", ",1970-01-01T00:02:00Z,");
    assert_eq!(std::fs::read_to_string(path).unwrap(), iso);
}

#[test]
fn all_formats_are_read_back() {
    let read = |name: &str, timestamps| {
        let (_folder, path) = written(name, timestamps);
        let read = read_all(&[path], &rows()).unwrap();
        (read.names, read.batch)
    };
    let lines = read("out.csv", Timestamps::Nanoseconds);
    assert_eq!(lines.0, NAMES);
    assert_eq!(lines.1.offsets(), [0, 4, 7]);
    assert_eq!(lines.1.times()[..4], [0, 60_000_000_000, 0, 0]);
    assert_eq!(read("out.csv", Timestamps::Iso), lines);
    assert_eq!(read("out.parquet", Timestamps::Nanoseconds), lines);
}

#[test]
fn unfinished_files_are_removed() {
    for name in ["out.csv", "out.parquet"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let format = ResultFormat::of(&path, Timestamps::Nanoseconds);
        let mut writer = ResultWriter::create(&path, format).unwrap();
        writer.append(&NAMES, &resampled()).unwrap();
        drop(writer);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "{name}"
        );
        let nowhere = folder.path().join("no/out.csv");
        let error = ResultWriter::create(&nowhere, format)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("no folder"), "{error}");
    }
}

#[test]
fn long_and_short_runs_keep_their_order_and_their_bits() {
    // Long runs are formatted in parts and fill row groups; short runs share a part.
    let values: Vec<f64> = (0..1_200_000_u64)
        .map(|i| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2))
        .collect();
    let starts: Vec<i64> = (0..values.len() as i64).map(|i| i * 1000).collect();
    let run = |series, from: usize, end: usize| Run {
        series,
        granularity: Granularity::Fixed(1000),
        aggregate: Aggregate::of(Method::Last),
        starts: &starts[from..end],
        values: &values[from..end],
        counts: None,
        axis: None,
    };
    let mut runs = vec![run("long", 0, values.len())];
    runs.extend((0..40_000).map(|i| run(if i % 2 == 0 { "even" } else { "odd" }, i, i + 1)));
    for name in ["out.csv", "out.parquet"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let format = ResultFormat::of(&path, Timestamps::Nanoseconds);
        let mut writer = ResultWriter::create(&path, format).unwrap();
        // In two calls.
        writer.append_runs(runs[..20_000].iter().copied()).unwrap();
        writer.append_runs(runs[20_000..].iter().copied()).unwrap();
        assert_eq!(writer.rows(), 1_240_000);
        writer.finish().unwrap();
        let read = read_all(&[path], &rows()).unwrap();
        assert_eq!(read.names, ["long", "even", "odd"]);
        assert_eq!(read.batch.offsets(), [0, 1_200_000, 1_220_000, 1_240_000]);
        let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&read.batch.values()[..1_200_000]), bits(&values));
        assert_eq!(read.batch.times()[..1_200_000], starts);
        let even: Vec<i64> = (0..40_000).step_by(2).map(|i| i * 1000).collect();
        assert_eq!(read.batch.times()[1_200_000..1_220_000], even);
    }
}

#[test]
fn nan_and_infinities_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let values = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        5e-324,
        f64::MAX,
    ];
    for name in ["a.csv", "a.parquet"] {
        let path = folder.path().join(name);
        let format = ResultFormat::of(&path, Timestamps::Nanoseconds);
        let mut writer = ResultWriter::create(&path, format).unwrap();
        let run = Run {
            series: "s",
            granularity: Granularity::Fixed(1),
            aggregate: Aggregate::of(Method::Min),
            starts: &[0, 1, 2, 3, 4, 5],
            values: &values,
            counts: None,
            axis: None,
        };
        writer.append_runs([run]).unwrap();
        writer.finish().unwrap();
        let read = read_all(&[path], &rows()).unwrap();
        assert!(read.batch.values()[0].is_nan());
        let bits = |v: &[f64]| v[1..].iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(read.batch.values()), bits(&values));
    }
}

#[test]
fn lengths_are_written_in_seconds() {
    for (text, written) in [
        ("60s", "60"),
        ("1d", "86400"),
        ("250ms", "0.25"),
        ("1ns", "0.000000001"),
        ("1.5s", "1.5"),
        ("10s", "10"),
        ("W", "W"),
        ("Y", "Y"),
    ] {
        assert_eq!(seconds(text.parse().unwrap()), written);
    }
}
