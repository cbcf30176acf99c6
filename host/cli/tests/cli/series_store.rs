//! Tests of `series ingest`, `query` and `info`, and their helpers.

mod contents;
mod damage;
mod future;
mod killed;
mod leftovers;
mod live;
mod output;
mod values;

use super::support::TestFolder;
use std::fmt::Write as _;

/// 2014-01-01T12:00:00Z, seconds since 1970; times of the series are seconds after it.
const NOON: i64 = 1_388_577_600;

fn write(dir: &TestFolder, name: &str, text: &str) {
    std::fs::write(dir.path(name), text).unwrap();
}

fn series_csv(series: &str, points: &[(i64, f64)]) -> String {
    let mut text = String::new();
    for (second, value) in points {
        writeln!(text, "{series},{},{value}", NOON + second).unwrap();
    }
    text
}

fn zip(times: &[i64], values: &[f64]) -> Vec<(i64, f64)> {
    times.iter().copied().zip(values.iter().copied()).collect()
}
