//! Compares sixteen real series of the Numenta Anomaly Benchmark with the aggregates of Gnocchi
//! (`series/nab-expected.json` in the folder named by WARPSTRIDE_SHARED_DATA): all files,
//! granularities and methods.
//!
//! The number of buckets, starts, count, min, max, first and last are exact. Sums of floats, and
//! therefore means and deviations, agree to a relative 1e-12; those of rates, which cancel, to
//! 1e-12 of the largest value. Percentiles differ by more: by up to ε times the number of points in
//! the series (3.6e-12 for 15 858) of the step between two sorted values. This is consistent with
//! adding (n − 1)·p/100 to the bucket's position in the series before taking the fraction, although
//! only the values are known here. Our fraction is that of (n − 1)·p/100 alone.

use serde_json::Value;
use warpstride::series::cpu::CpuEngine;
use warpstride::series::{
    Aggregate, Batch, Buckets, Column, Duplicates, Engine, Granularity, Method, NanPolicy, Resample,
};
use warpstride_kernels::series::sums::ordered_sum;
use warpstride_tests::{shared_data, skipped};

/// Relative tolerance.
const TOLERANCE: f64 = 1e-12;

fn text_of(file: &str) -> Option<String> {
    match shared_data(file).map(std::fs::read_to_string) {
        Ok(text) => Some(text.expect("a readable file")),
        Err(why) => {
            skipped("real series against Gnocchi's aggregates", &why);
            None
        }
    }
}

/// Parses `2015-07-10 14:24:00,564`, with the time in UTC.
fn point_of(line: &str) -> (i64, f64) {
    let (time, value) = line.split_once(',').expect("two fields");
    let parts: Vec<i64> = time
        .split(['-', ' ', ':'])
        .map(|part| part.parse::<f64>().expect("a number") as i64)
        .collect();
    let [year, month, day, hour, minute, second] = parts[..] else {
        panic!("six parts of a time: {line}");
    };
    let leaps = |before: i64| before / 4 - before / 100 + before / 400;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [
        31,
        28 + i64::from(leap),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let of_months: i64 = lengths[..month as usize - 1].iter().sum();
    let days = 365 * (year - 1970) + leaps(year - 1) - leaps(1969) + of_months + day - 1;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    (seconds * 1_000_000_000, value.parse().expect("a number"))
}

/// Allowed differences from Gnocchi's values, except for the relative tolerance of sums.
struct Allowed {
    /// Tolerance of a percentile.
    percentile: f64,
    /// Tolerance of a sum of rates.
    rate: f64,
}

impl Allowed {
    fn of(batch: &Batch) -> Self {
        let values = || batch.values().iter().copied();
        let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
        Self {
            percentile: f64::EPSILON * batch.len() as f64 * (high - low),
            rate: TOLERANCE * high.max(-low),
        }
    }

    fn by(&self, aggregate: Aggregate, expected: f64) -> f64 {
        match aggregate.method {
            Method::Count | Method::Min | Method::Max | Method::First | Method::Last => 0.0,
            Method::Percentile(_) => self.percentile,
            _ if aggregate.rate => self.rate,
            _ => TOLERANCE * expected.abs(),
        }
    }
}

fn holds(what: &str, found: f64, expected: f64, allowed: f64) {
    assert!(
        (found - expected).abs() <= allowed,
        "{what}: {found:e} for {expected:e}, {allowed:e} allowed"
    );
}

/// Checks one aggregate at one granularity.
fn check(what: &str, buckets: &Buckets, column: &Column, expected: &Value, allowed: &Allowed) {
    let found: Vec<(i64, f64)> = buckets.of(column, 0).collect();
    assert_eq!(expected["n"], found.len(), "{what}");
    let listed = |name: &str| expected[name].as_array().expect("a list").clone();
    let (head, tail) = (listed("head"), listed("tail"));
    assert!(head.len() == found.len().min(3) && tail.len() == found.len().min(2));
    let last = &found[found.len() - tail.len()..];
    for (point, (start, value)) in head.iter().zip(&found).chain(tail.iter().zip(last)) {
        assert_eq!(point[0], *start, "{what}");
        let expected = point[1].as_f64().expect("a number");
        holds(
            what,
            *value,
            expected,
            allowed.by(column.aggregate, expected),
        );
    }
    let sum = ordered_sum(found.len(), &|bucket| found[bucket].1);
    let sizes = ordered_sum(found.len(), &|bucket| found[bucket].1.abs());
    // The differences of the values, and the rounding of the sum.
    let each: f64 = found
        .iter()
        .map(|(_, value)| allowed.by(column.aggregate, *value))
        .sum();
    let expected = expected["sum"].as_f64().expect("a number");
    holds(what, sum, expected, each + TOLERANCE * sizes);
}

#[test]
fn every_file_granularity_and_method() {
    let Some(expected) = text_of("series/nab-expected.json") else {
        return;
    };
    let expected: Value = serde_json::from_str(&expected).expect("JSON");
    let files = expected["files"].as_object().expect("files");
    let mut checked = 0;
    for (name, expected) in files {
        let text =
            text_of(&format!("series/nab/{name}")).expect("the file beside the expected values");
        let (times, values) = text.lines().skip(1).map(point_of).unzip();
        let batch = Batch::single(times, values).expect("a series");
        assert_eq!(expected["n"], batch.len());
        let allowed = Allowed::of(&batch);
        for (seconds, methods) in expected["agg"].as_object().expect("granularities") {
            let methods = methods.as_object().expect("methods");
            let aggregates: Vec<Aggregate> = methods
                .keys()
                .map(|name| name.parse().expect("a method"))
                .collect();
            let granularity: Granularity = seconds.parse().expect("seconds");
            let plan =
                Resample::new(vec![granularity], aggregates, NanPolicy::Keep).expect("a plan");
            let plan = plan.with_duplicates(Duplicates::First);
            let result = CpuEngine::new(plan).resample(&batch).expect("aggregates");
            assert_eq!(expected["duplicates"], result.duplicates);
            for buckets in &result.buckets {
                for column in &buckets.columns {
                    let method = column.aggregate.to_string();
                    let what = format!("{name}, {seconds} s, {method}");
                    check(&what, buckets, column, &methods[&method], &allowed);
                    checked += 1;
                }
            }
        }
    }
    assert_eq!((files.len(), checked), (16, 16 * 5 * 15));
}
