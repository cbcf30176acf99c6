//! First compares the definition with published values of a few buckets
//! (`tests/integration/series_check_values.rs` has more of them), then the engine with the
//! definition, bit for bit, on all kinds of series.

mod definition;
mod engine;
mod properties;

use crate::{
    Aggregate, Batch, Buckets, Column, Duplicates, Engine, Granularity, Method, NanPolicy,
    Resample, Resampled, SeriesError,
};

const SECOND: i64 = 1_000_000_000;

/// Every method, also of rates if all granularities have a fixed length.
fn everything(granularities: &[Granularity], nan: NanPolicy) -> Resample {
    let mut aggregates = Aggregate::all();
    for percent in [0.0, 5.0, 33.3, 50.0, 99.9, 100.0] {
        aggregates.push(Aggregate::of(Method::Percentile(percent)));
    }
    if granularities
        .iter()
        .all(|g| matches!(g, Granularity::Fixed(_)))
    {
        let rates: Vec<Aggregate> = aggregates
            .iter()
            .map(|a| Aggregate { rate: true, ..*a })
            .collect();
        aggregates.extend(rates);
    }
    Resample::new(granularities.to_vec(), aggregates, nan).unwrap()
}

fn resample(plan: &Resample, batch: &Batch) -> Resampled {
    super::CpuEngine::new(plan.clone()).resample(batch).unwrap()
}

/// Makes a batch of series of points.
fn batch(series: &[Vec<(i64, f64)>]) -> Batch {
    let mut offsets = vec![0];
    for points in series {
        offsets.push(offsets[offsets.len() - 1] + points.len());
    }
    let (times, values) = series.iter().flatten().copied().unzip();
    Batch::new(times, values, offsets).unwrap()
}

/// Asserts that the bits are the same; all NaNs are equal.
fn assert_same(a: &Resampled, b: &Resampled) {
    assert_eq!((a.duplicates, a.skipped), (b.duplicates, b.skipped));
    assert_eq!(a.buckets.len(), b.buckets.len());
    for (a, b) in a.buckets.iter().zip(&b.buckets) {
        assert_same_buckets(a, b);
    }
}

fn assert_same_buckets(a: &Buckets, b: &Buckets) {
    let of = |b: &Buckets| {
        (
            b.granularity,
            b.rate,
            b.offsets.clone(),
            b.starts.clone(),
            b.counts.clone(),
        )
    };
    assert_eq!(of(a), of(b));
    assert_eq!(a.columns.len(), b.columns.len());
    for (a, b) in a.columns.iter().zip(&b.columns) {
        assert_eq!(a.aggregate, b.aggregate);
        assert_eq!(a.values.len(), b.values.len());
        for (bucket, (x, y)) in a.values.iter().zip(&b.values).enumerate() {
            let same = x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
            assert!(same, "{}, bucket {bucket}: {x:e} and {y:e}", a.aggregate);
        }
    }
}

/// The column of an aggregate, for a plan with one granularity.
fn column<'a>(result: &'a Resampled, name: &str) -> (&'a Buckets, &'a Column) {
    let aggregate: Aggregate = name.parse().unwrap();
    let all = result.buckets.iter();
    all.flat_map(|b| b.columns.iter().map(move |c| (b, c)))
        .find(|(_, c)| c.aggregate == aggregate)
        .unwrap()
}
