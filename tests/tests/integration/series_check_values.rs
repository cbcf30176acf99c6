//! Published aggregates of small series, and of a series of 7 · 2²⁰ points whose sums are known in
//! closed form, on every back end that needs no GPU. Values are exact if the arithmetic is exact;
//! otherwise they agree to the digits given.

use warpstride::series::cpu::CpuEngine;
use warpstride::series::{Aggregate, Batch, Engine, Granularity, NanPolicy, Resample};
use warpstride_kernels::series::sums::ordered_sum;

const SECOND: i64 = 1_000_000_000;
/// 2014-01-01 12:00:00 UTC.
const NOON: i64 = 1_388_577_600 * SECOND;

/// Starts (minutes after noon) and values of a series of (seconds after noon, value).
fn minutes(seconds: &[i64], values: &[f64], aggregate: &str) -> Vec<(i64, f64)> {
    let aggregate: Aggregate = aggregate.parse().unwrap();
    let minute = vec![Granularity::Fixed(60 * SECOND as u64)];
    let plan = Resample::new(minute, vec![aggregate], NanPolicy::Keep).unwrap();
    let times = seconds.iter().map(|s| NOON + s * SECOND).collect();
    let batch = Batch::single(times, values.to_vec()).unwrap();
    let result = CpuEngine::new(plan).resample(&batch).unwrap();
    let buckets = &result.buckets[0];
    let of = buckets.of(&buckets.columns[0], 0);
    of.map(|(start, value)| ((start - NOON) / (60 * SECOND), value))
        .collect()
}

fn is(seconds: &[i64], values: &[f64], aggregate: &str, expected: &[(i64, f64)]) {
    assert_eq!(minutes(seconds, values, aggregate), expected, "{aggregate}");
}

#[test]
#[expect(
    clippy::excessive_precision,
    clippy::approx_constant,
    reason = "as published"
)]
fn a_three_minutes() {
    let seconds = [0, 10, 20, 30, 40, 60, 70, 80, 90, 100, 110, 120, 130];
    let values = [
        3.0, 5.0, 2.0, 3.0, 5.0, 8.0, 11.0, 22.0, 10.0, 42.0, 9.0, 4.0, 2.0,
    ];
    for (aggregate, expected) in [
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
        let expected = [(0, expected[0]), (1, expected[1]), (2, expected[2])];
        is(&seconds, &values, aggregate, &expected);
    }
}

#[test]
fn b_percentiles_of_three_values() {
    is(&[0, 4, 9], &[3.0, 5.0, 6.0], "74pct", &[(0, 5.48)]);
    is(&[0, 4, 9], &[3.0, 5.0, 6.0], "95pct", &[(0, 5.9)]);
}

#[test]
fn c_a_bucket_of_one_value_has_no_deviation() {
    let expected = [(0, 1.527_525_231_651_946_5)];
    is(&[0, 4, 9, 66], &[3.0, 6.0, 5.0, 9.0], "std", &expected);
}

#[test]
fn d_rates_span_the_whole_series() {
    let seconds = [0, 4, 62, 74, 84, 124, 155, 162, 182, 202, 222, 249];
    let values = [
        50.0, 55.0, 65.0, 66.0, 70.0, 83.0, 92.0, 103.0, 105.0, 5.0, 7.0, 23.0,
    ];
    let expected = [(0, 5.0), (1, 5.0), (2, 11.0), (3, -32.0), (4, 16.0)];
    is(&seconds, &values, "rate:mean", &expected);
}

#[test]
fn e_rates_across_a_gap() {
    let seconds = [0, 4, 62, 74, 84, 182, 202, 222, 249];
    let values = [50.0, 55.0, 65.0, 66.0, 70.0, 105.0, 108.0, 200.0, 202.0];
    let expected = [(0, 5.0), (1, 4.0), (3, 92.0), (4, 2.0)];
    is(&seconds, &values, "rate:last", &expected);
}

/// Number of points of the large series, and the aggregates to check.
const LARGE: usize = 7 << 20;
const NAMES: [&str; 8] = [
    "count", "sum", "mean", "min", "max", "std", "median", "95pct",
];

/// Sums of the large series' columns, the number of buckets, and the number of points of the first
/// bucket.
fn large(value: fn(usize) -> f64) -> (Vec<f64>, usize, u32) {
    // 2015-04-03T23:11:00 UTC.
    let begin = 1_428_102_660 * SECOND;
    let times = (0..LARGE as i64).map(|i| begin + 5 * i * SECOND).collect();
    let batch = Batch::single(times, (0..LARGE).map(value).collect()).unwrap();
    let aggregates = NAMES.map(|name| name.parse().unwrap()).to_vec();
    let steps = vec![Granularity::Fixed(35 * SECOND as u64)];
    let plan = Resample::new(steps, aggregates, NanPolicy::Keep).unwrap();
    let result = CpuEngine::new(plan).resample(&batch).unwrap();
    let buckets = &result.buckets[0];
    assert_eq!(buckets.starts[0], begin - 5 * SECOND);
    // A sequential sum of a million numbers would lose more digits than the tolerance allows.
    let sums = buckets.columns.iter().map(|column| {
        let values: Vec<f64> = buckets.of(column, 0).map(|(_, value)| value).collect();
        ordered_sum(values.len(), &|i| values[i])
    });
    let sums = sums.collect();
    (sums, buckets.starts.len(), buckets.counts[0])
}

#[test]
fn the_large_series() {
    let (sums, buckets, of_first) = large(|i| i as f64);
    assert_eq!((buckets, of_first), (1_048_577, 6));
    for (name, sum, expected, digits) in [
        ("count", sums[0], 7_340_032.0, 0.0),
        ("sum", sums[1], 26_938_031_210_496.0, 0.0),
        ("mean", sums[2], 3_848_296_464_383.5, 1e-12),
        ("min", sums[3], 3_848_293_318_656.0, 0.0),
        ("max", sums[4], 3_848_299_610_111.0, 0.0),
        ("std", sums[5], 2_265_182.763_439_7, 1e-12),
        ("95pct", sums[7], 3_848_299_295_538.25, 1e-12),
    ] {
        assert!(
            (sum - expected).abs() <= digits * expected,
            "{name}: {sum} for {expected}"
        );
    }
    // The median of consecutive numbers is their mean.
    assert!((sums[6] - sums[2]).abs() <= 1e-12 * sums[2]);
}

#[test]
fn the_large_series_of_zeros() {
    let (sums, buckets, of_first) = large(|_| 0.0);
    assert_eq!((buckets, of_first), (1_048_577, 6));
    assert_eq!(sums, [7_340_032.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}
