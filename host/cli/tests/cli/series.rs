//! Tests of `series resample`: input files of points, and helpers that parse the output rows.

mod doubtful;
mod inputs;
mod labels;
mod missing_values;
mod notes;
mod numbers;
mod remedies;
mod runs;
mod tables;
mod time_columns;
mod time_range;
mod trials;
mod units;
mod zone_columns;
mod zones;

use super::support::{Output, TestFolder};
use serde_json::Value;
use std::collections::BTreeMap;

/// 2014-01-01T12:00:00Z, seconds since 1970.
const NOON: i64 = 1_388_577_600;

/// Resamples on the CPU.
fn resample(dir: &TestFolder, options: &[&str]) -> Output {
    let fixed = ["series", "resample", "--backend", "cpu"];
    dir.run(&[&fixed, options].concat())
}

fn write_points(dir: &TestFolder, name: &str, times: &[i64], values: &[f64]) {
    let rows = times
        .iter()
        .zip(values)
        .map(|(t, v)| format!("{},{v}\n", NOON + t));
    let text: String = std::iter::once("timestamp,value\n".to_owned())
        .chain(rows)
        .collect();
    std::fs::write(dir.path(name), text).unwrap();
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

fn output(dir: &TestFolder, name: &str) -> Vec<Row> {
    rows(&std::fs::read_to_string(dir.path(name)).unwrap())
}

/// Maps each aggregate to its values in time order, for an output with one series and granularity.
fn values(dir: &TestFolder, name: &str) -> BTreeMap<String, Vec<f64>> {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in output(dir, name) {
        values.entry(row.aggregate).or_default().push(row.value);
    }
    values
}

fn json(dir: &TestFolder, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(dir.path(name)).unwrap()).unwrap()
}

/// Three series in one file, unordered.
fn three(count: i64) -> String {
    let mut text = String::from("series,timestamp,value\n");
    for i in 0..count {
        // 7919 is a prime: every second occurs once, in a scrambled order.
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
