//! `series ingest`, `query` and `info`: what the tests of them share.

mod kept;
mod killed;
mod left_behind;
mod live;
mod told;
mod values;

use super::support::Place;
use std::fmt::Write as _;

/// 2014-01-01T12:00:00Z, seconds since 1970: the series are of seconds after it.
const NOON: i64 = 1_388_577_600;

fn write(place: &Place, name: &str, text: &str) {
    std::fs::write(place.path(name), text).unwrap();
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
