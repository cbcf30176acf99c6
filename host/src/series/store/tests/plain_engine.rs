//! The aggregates by their definitions, one bucket after the other.

use super::super::super::{
    Aggregate, Batch, Buckets, Column, Engine, Granularity, Method, Resample, Resampled,
    SeriesError, Setup,
};
use std::collections::BTreeMap;
use warpstride_kernels::series::order::{key, unique_key, value};
use warpstride_kernels::series::quantile::{interpolate, middle, position};
use warpstride_kernels::series::sums::ordered_sum;

pub(super) struct PlainEngine {
    plan: Resample,
    setup: Setup,
}

impl PlainEngine {
    pub(super) fn new(plan: &Resample) -> Self {
        Self {
            plan: plan.clone(),
            setup: Setup::default(),
        }
    }
}

impl Engine for PlainEngine {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn plan(&self) -> &Resample {
        &self.plan
    }

    fn resample(&mut self, batch: &Batch) -> Result<Resampled, SeriesError> {
        let series: Vec<Vec<(i64, f64)>> = (0..batch.series())
            .map(|series| {
                let range = batch.offsets()[series]..batch.offsets()[series + 1];
                let times = &batch.times()[range.clone()];
                let values = &batch.values()[range];
                let mut points: Vec<_> =
                    times.iter().copied().zip(values.iter().copied()).collect();
                points.sort_by_key(|point| point.0);
                points.dedup_by_key(|point| point.0);
                points
            })
            .collect();
        let rates: Vec<Vec<(i64, f64)>> = series
            .iter()
            .map(|points| {
                let pairs = points.windows(2);
                pairs
                    .map(|pair| (pair[1].0, pair[1].1 - pair[0].1))
                    .collect()
            })
            .collect();
        let mut resampled = Resampled::default();
        for (rate, series) in [(false, &series), (true, &rates)] {
            let wanted = self.plan.aggregates().iter().copied();
            let wanted: Vec<Aggregate> = wanted.filter(|a| a.rate == rate).collect();
            if wanted.is_empty() {
                continue;
            }
            for granularity in self.plan.granularities() {
                let buckets = all_buckets(series, *granularity, rate, &wanted);
                resampled.buckets.push(buckets);
            }
        }
        Ok(resampled)
    }
}

fn all_buckets(
    series: &[Vec<(i64, f64)>],
    granularity: Granularity,
    rate: bool,
    wanted: &[Aggregate],
) -> Buckets {
    let Granularity::Fixed(step) = granularity else {
        panic!("a store has no calendar");
    };
    let mut buckets = Buckets {
        granularity,
        rate,
        offsets: vec![0],
        starts: Vec::new(),
        counts: Vec::new(),
        columns: wanted
            .iter()
            .map(|aggregate| Column {
                aggregate: *aggregate,
                values: Vec::new(),
            })
            .collect(),
    };
    for points in series {
        let mut by_start: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (time, value) in points {
            let start = time / step as i64 * step as i64;
            by_start.entry(start).or_default().push(*value);
        }
        for (start, values) in by_start {
            buckets.starts.push(start);
            buckets.counts.push(values.len() as u32);
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

fn statistic(method: Method, values: &[f64]) -> f64 {
    let n = values.len();
    let mut keys: Vec<u64> = values.iter().map(|v| key(*v)).collect();
    keys.sort_unstable();
    let sorted = |i: usize| value(keys[i.min(n - 1)]);
    let sum = ordered_sum(n, &|i| values[i]);
    let mean = sum / n as f64;
    match method {
        Method::Count => n as f64,
        Method::Sum => sum,
        Method::Mean => mean,
        Method::Min => sorted(0),
        Method::Max => sorted(n - 1),
        Method::First => values[0],
        Method::Last => values[n - 1],
        Method::Nunique => {
            let mut keys: Vec<u64> = values.iter().map(|v| unique_key(*v)).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.len() as f64
        }
        Method::Std => {
            let squares = ordered_sum(n, &|i| (values[i] - mean) * (values[i] - mean));
            if n == 1 {
                f64::NAN
            } else {
                (squares / (n - 1) as f64).sqrt()
            }
        }
        Method::Median => middle(sorted((n - 1) / 2), sorted(n / 2)),
        Method::Percentile(percent) => {
            let (below, fraction) = position(n as u32, percent);
            let below = below as usize;
            interpolate(sorted(below), sorted(below + 1), fraction)
        }
    }
}
