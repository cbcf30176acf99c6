//! The definition of the results as plain loops: one series, bucket and statistic after another.

use super::{
    Aggregate, Batch, Buckets, Column, Duplicates, Granularity, Method, NanPolicy, Resample,
    Resampled,
};
use warpstride_kernels::series::quantile::{interpolate, middle, position};
use warpstride_kernels::series::{order, sums};

/// Executes a plan on a batch.
pub(crate) fn resample(plan: &Resample, batch: &Batch) -> Resampled {
    let mut resampled = Resampled::default();
    let mut values = Vec::new();
    for pair in batch.offsets().windows(2) {
        let all = (pair[0]..pair[1]).map(|point| (batch.times()[point], batch.values()[point]));
        let mut kept: Vec<(i64, f64)> = all
            .filter(|(_, value)| plan.nan() == NanPolicy::Keep || !value.is_nan())
            .collect();
        resampled.skipped += pair[1] - pair[0] - kept.len();
        kept.sort_by_key(|(time, _)| *time);
        let before = kept.len();
        let mut distinct = kept.clone();
        distinct.dedup_by_key(|(time, _)| *time);
        resampled.duplicates += before - distinct.len();
        match plan.duplicates() {
            Duplicates::Keep | Duplicates::Error => {}
            Duplicates::First => kept = distinct,
            Duplicates::Last => {
                kept.reverse();
                kept.dedup_by_key(|(time, _)| *time);
                kept.reverse();
            }
        }
        values.push(kept);
    }
    let difference = |pair: &[(i64, f64)]| (pair[1].0, pair[1].1 - pair[0].1);
    let rates: Vec<Vec<(i64, f64)>> = values
        .iter()
        .map(|series| series.windows(2).map(difference).collect())
        .collect();
    for (rate, series) in [(false, &values), (true, &rates)] {
        let aggregates = plan.aggregates().iter().filter(|a| a.rate == rate);
        let aggregates: Vec<Aggregate> = aggregates.copied().collect();
        if aggregates.is_empty() {
            continue;
        }
        for granularity in plan.granularities() {
            resampled
                .buckets
                .push(buckets(*granularity, rate, series, &aggregates));
        }
    }
    resampled
}

fn buckets(
    granularity: Granularity,
    rate: bool,
    series: &[Vec<(i64, f64)>],
    aggregates: &[Aggregate],
) -> Buckets {
    let rule = granularity.bucketing();
    let mut buckets = Buckets {
        granularity,
        rate,
        offsets: vec![0],
        starts: Vec::new(),
        counts: Vec::new(),
        columns: aggregates
            .iter()
            .map(|aggregate| Column {
                aggregate: *aggregate,
                values: Vec::new(),
            })
            .collect(),
    };
    for points in series {
        let same =
            |a: &(i64, f64), b: &(i64, f64)| rule.index(a.0 as u64) == rule.index(b.0 as u64);
        for bucket in points.chunk_by(same) {
            buckets
                .starts
                .push(rule.start(rule.index(bucket[0].0 as u64)));
            buckets.counts.push(bucket.len() as u32);
            let values: Vec<f64> = bucket.iter().map(|(_, value)| *value).collect();
            for column in &mut buckets.columns {
                column
                    .values
                    .push(statistic(column.aggregate.method, &values));
            }
        }
        buckets.offsets.push(buckets.starts.len());
    }
    buckets
}

/// A statistic of the values of a bucket, which has at least one.
pub(crate) fn statistic(method: Method, values: &[f64]) -> f64 {
    let n = values.len();
    let sum = || sums::ordered_sum(n, &|i| values[i]);
    let sorted = || {
        let mut keys: Vec<u64> = values.iter().map(|value| order::key(*value)).collect();
        keys.sort_unstable();
        keys
    };
    match method {
        Method::Count => n as f64,
        Method::Sum => sum(),
        Method::Mean => sum() / n as f64,
        Method::Min => order::value(sorted()[0]),
        Method::Max => order::value(sorted()[n - 1]),
        Method::First => values[0],
        Method::Last => values[n - 1],
        Method::Nunique => {
            let mut keys: Vec<u64> = values.iter().map(|v| order::unique_key(*v)).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.len() as f64
        }
        Method::Std if n < 2 => f64::NAN,
        Method::Std => {
            let mean = sum() / n as f64;
            let squares = sums::ordered_sum(n, &|i| (values[i] - mean) * (values[i] - mean));
            (squares / (n - 1) as f64).sqrt()
        }
        Method::Median => {
            let keys = sorted();
            middle(order::value(keys[(n - 1) / 2]), order::value(keys[n / 2]))
        }
        Method::Percentile(percent) => {
            let keys = sorted();
            let (below, fraction) = position(n as u32, percent);
            let below = below as usize;
            let above = (below + 1).min(n - 1);
            interpolate(
                order::value(keys[below]),
                order::value(keys[above]),
                fraction,
            )
        }
    }
}

/// Describes the first difference. All NaNs are equal, because the NaN that an addition returns
/// depends on the device.
pub(crate) fn difference(found: &Resampled, expected: &Resampled) -> Option<String> {
    let (f, e) = (found, expected);
    if (f.duplicates, f.skipped) != (e.duplicates, e.skipped) {
        return Some(format!(
            "{} duplicates and {} skipped, expected {} and {}",
            f.duplicates, f.skipped, e.duplicates, e.skipped
        ));
    }
    if f.buckets.len() != e.buckets.len() {
        return Some(format!(
            "{} tables, expected {}",
            f.buckets.len(),
            e.buckets.len()
        ));
    }
    for (f, e) in f.buckets.iter().zip(&e.buckets) {
        let name = format!("{}{}", if e.rate { "rates " } else { "" }, e.granularity);
        if (f.granularity, f.rate) != (e.granularity, e.rate) {
            return Some(format!("found {}, expected {name}", f.granularity));
        }
        if f.offsets != e.offsets {
            return Some(format!(
                "{name}: buckets of series {:?}, expected {:?}",
                f.offsets, e.offsets
            ));
        }
        if f.starts != e.starts || f.counts != e.counts {
            return Some(format!("{name}: starts or counts of buckets differ"));
        }
        if f.columns.len() != e.columns.len() {
            return Some(format!("{name}: {} columns", f.columns.len()));
        }
        for (f, e) in f.columns.iter().zip(&e.columns) {
            let name = format!("{name}, {}", e.aggregate);
            if f.aggregate != e.aggregate || f.values.len() != e.values.len() {
                return Some(format!("{name}: {} of {}", f.aggregate, f.values.len()));
            }
            let other =
                |(a, b): (&f64, &f64)| a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan());
            if let Some(bucket) = f.values.iter().zip(&e.values).position(other) {
                let (f, e) = (f.values[bucket], e.values[bucket]);
                return Some(format!("{name}, bucket {bucket}: {f:e}, expected {e:e}"));
            }
        }
    }
    None
}
