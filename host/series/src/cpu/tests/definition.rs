//! The definition of the aggregation as plain loops.

use crate::{
    Aggregate, Batch, Buckets, Calendar, Column, Duplicates, Granularity, Method, NanPolicy,
    Resample, Resampled,
};
use warpstride_kernels::series::order;
use warpstride_kernels::series::quantile::{interpolate, middle, position};
use warpstride_kernels::series::sums::ordered_sum;

type Points = Vec<(i64, f64)>;

/// Computes everything that a plan asks for.
pub(super) fn definition(plan: &Resample, batch: &Batch) -> Resampled {
    let mut result = Resampled::default();
    let mut series: Vec<Points> = Vec::new();
    for range in batch.offsets().windows(2) {
        let (points, skipped, duplicates) = cleaned(batch, range[0]..range[1], plan);
        result.skipped += skipped;
        result.duplicates += duplicates;
        series.push(points);
    }
    for rate in [false, true] {
        let aggregates: Vec<Aggregate> = (plan.aggregates().iter().copied())
            .filter(|aggregate| aggregate.rate == rate)
            .collect();
        if aggregates.is_empty() {
            continue;
        }
        for granularity in plan.granularities() {
            let of: Vec<Points> = if rate {
                series.iter().map(rates).collect()
            } else {
                series.clone()
            };
            result
                .buckets
                .push(buckets(*granularity, rate, &aggregates, &of));
        }
    }
    result
}

/// Returns a series in time order, with the numbers of points dropped as NaN, and of those with the
/// time of an earlier one.
fn cleaned(
    batch: &Batch,
    range: std::ops::Range<usize>,
    plan: &Resample,
) -> (Points, usize, usize) {
    let all = range.len();
    let mut points: Points = range
        .map(|point| (batch.times()[point], batch.values()[point]))
        .filter(|(_, value)| plan.nan() == NanPolicy::Keep || !value.is_nan())
        .collect();
    let skipped = all - points.len();
    points.sort_by_key(|(time, _)| *time);
    let times: std::collections::BTreeSet<i64> = points.iter().map(|(time, _)| *time).collect();
    let duplicates = points.len() - times.len();
    let all = points.clone();
    let at = |time: i64| all.iter().filter(move |point| point.0 == time);
    match plan.duplicates() {
        Duplicates::Keep | Duplicates::Error => {}
        Duplicates::First => {
            let firsts = times.iter().filter_map(|time| at(*time).next().copied());
            points = firsts.collect();
        }
        Duplicates::Last => {
            let lasts = times
                .iter()
                .filter_map(|time| at(*time).next_back().copied());
            points = lasts.collect();
        }
    }
    (points, skipped, duplicates)
}

fn rates(points: &Points) -> Points {
    points
        .windows(2)
        .map(|pair| (pair[1].0, pair[1].1 - pair[0].1))
        .collect()
}

fn buckets(
    granularity: Granularity,
    rate: bool,
    aggregates: &[Aggregate],
    series: &[Points],
) -> Buckets {
    let mut result = Buckets {
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
        for bucket in points.chunk_by(|a, b| start(granularity, a.0) == start(granularity, b.0)) {
            let values: Vec<f64> = bucket.iter().map(|(_, value)| *value).collect();
            result.starts.push(start(granularity, bucket[0].0));
            result.counts.push(values.len() as u32);
            for column in &mut result.columns {
                column
                    .values
                    .push(aggregate(column.aggregate.method, &values));
            }
        }
        result.offsets.push(result.starts.len());
    }
    result
}

/// The start of the bucket that contains a time.
fn start(granularity: Granularity, time: i64) -> i64 {
    const DAY: i64 = 86_400_000_000_000;
    let months = match granularity {
        Granularity::Fixed(step) => return time - (time as u64 % step) as i64,
        // 1970-01-04 was the first Sunday.
        Granularity::Calendar(Calendar::Week) => {
            return (time - 3 * DAY).div_euclid(7 * DAY) * 7 * DAY + 3 * DAY;
        }
        Granularity::Calendar(Calendar::Month) => 1,
        Granularity::Calendar(Calendar::Quarter) => 3,
        Granularity::Calendar(Calendar::HalfYear) => 6,
        Granularity::Calendar(Calendar::Year) => 12,
    };
    // Counts month by month from 1970.
    let (mut day, mut month, mut first) = (0, 0, 0);
    loop {
        let year = 1970 + month / 12;
        let leap = i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
        let length = [31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize % 12];
        if month % months == 0 {
            first = day;
        }
        if day + length > time / DAY {
            return first * DAY;
        }
        (day, month) = (day + length, month + 1);
    }
}

fn aggregate(method: Method, values: &[f64]) -> f64 {
    let n = values.len();
    let mean = || ordered_sum(n, &|i| values[i]) / n as f64;
    let mut sorted: Vec<u64> = values.iter().map(|v| order::key(*v)).collect();
    sorted.sort_unstable();
    let at = |rank: usize| order::value(sorted[rank]);
    match method {
        Method::Count => n as f64,
        Method::Sum => ordered_sum(n, &|i| values[i]),
        Method::Mean => mean(),
        Method::Min => at(0),
        Method::Max => at(n - 1),
        Method::First => values[0],
        Method::Last => values[n - 1],
        Method::Nunique => {
            let mut unique: Vec<u64> = values.iter().map(|v| order::unique_key(*v)).collect();
            unique.sort_unstable();
            unique.dedup();
            unique.len() as f64
        }
        Method::Std => {
            let mean = mean();
            let squares = ordered_sum(n, &|i| (values[i] - mean) * (values[i] - mean));
            (squares / (n as f64 - 1.0)).sqrt()
        }
        Method::Median => middle(at((n - 1) / 2), at(n / 2)),
        Method::Percentile(percent) => {
            let (below, fraction) = position(n as u32, percent);
            let above = (below as usize + 1).min(n - 1);
            interpolate(at(below as usize), at(above), fraction)
        }
    }
}
