//! The engine in the emulator against plain loops, bit for bit, for various plans, batches, chunks
//! and streams.

use super::*;
use crate::definition::{self, difference};
use crate::{Aggregate, Duplicates, Granularity, Method, NanPolicy};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use warpstride_cuda::gpu::EmulatedDevice;

const SECOND: i64 = 1_000_000_000;

fn plan(granularities: &[&str], aggregates: &[&str], nan: NanPolicy) -> Resample {
    let granularities = granularities.iter().map(|name| name.parse().unwrap());
    let aggregates = match aggregates {
        [] => Aggregate::all(),
        names => names.iter().map(|name| name.parse().unwrap()).collect(),
    };
    Resample::new(granularities.collect(), aggregates, nan).unwrap()
}

fn devices(queues: usize) -> Vec<EmulatedDevice> {
    (0..queues).map(|_| EmulatedDevice::new()).collect()
}

fn expect_same(found: &Resampled, plan: &Resample, batch: &Batch, what: &str) {
    let expected = definition::resample(plan, batch);
    if let Some(away) = difference(found, &expected) {
        panic!("{what}: {away}");
    }
}

/// Checks a new engine, one with chunks over three streams, and the same with uncompressed
/// timestamps.
fn check(plan: &Resample, batch: &Batch, chunks: &[usize], what: &str) {
    let repeats = definition::resample(plan, batch).duplicates > 0;
    let others = [Duplicates::First, Duplicates::Last];
    let others = others.into_iter().filter(|_| repeats);
    for duplicates in std::iter::once(Duplicates::Keep).chain(others) {
        let plan = plan.clone().with_duplicates(duplicates);
        check_plan(&plan, batch, chunks, &format!("{what}, {duplicates:?}"));
    }
}

fn check_plan(plan: &Resample, batch: &Batch, chunks: &[usize], what: &str) {
    let mut engine = GpuEngine::new(EmulatedDevice::new(), plan.clone()).unwrap();
    expect_same(&engine.resample(batch).unwrap(), plan, batch, what);
    for usual in chunks {
        let engine = GpuEngine::with_streams(devices(3), plan.clone()).unwrap();
        let mut engine = engine.chunked(*usual, 1 << 20);
        let what = format!("{what}, chunks of {usual}");
        expect_same(&engine.resample(batch).unwrap(), plan, batch, &what);
        let mut engine = engine.coded(false);
        let staged = engine.stage(batch).unwrap();
        let results = engine.resample_staged(&staged).unwrap();
        let whole = engine.collect(&staged, results).unwrap();
        expect_same(&whole, plan, batch, &what);
    }
}

/// Properties of the points of a batch.
#[derive(Clone, Copy, Default)]
struct Kind {
    unsorted: bool,
    repeats: bool,
    nans: bool,
}

fn batch(lengths: &[usize], kind: Kind, rng: &mut impl Rng) -> Batch {
    let (mut times, mut values, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
    for length in lengths {
        let first = times.len();
        let mut time = rng.random_range(0..2_000 * SECOND);
        for _ in 0..*length {
            times.push(time);
            let least = if kind.repeats { 0 } else { 1 };
            time += rng.random_range(least..4) * 5 * SECOND;
            values.push(match rng.random_range(0..40) {
                0 if kind.nans => f64::NAN,
                1 => -0.0,
                2 => 0.0,
                3 => 7.5,
                _ => rng.random_range(-1e3..1e3),
            });
        }
        if kind.unsorted {
            for index in (first + 1..times.len()).rev() {
                times.swap(index, rng.random_range(first..=index));
            }
        }
        offsets.push(times.len());
    }
    Batch::new(times, values, offsets).unwrap()
}

#[test]
fn empty_batches_and_single_points() {
    let plan = plan(&["1m", "1h", "W"], &[], NanPolicy::Skip);
    let rates = self::plan(&["1m"], &["rate:mean", "rate:count"], NanPolicy::Keep);
    for (times, values, offsets) in [
        (vec![], vec![], vec![0]),
        (vec![], vec![], vec![0, 0, 0]),
        (vec![7], vec![1.5], vec![0, 1]),
        (vec![7], vec![f64::NAN], vec![0, 1]),
        (vec![7, 7], vec![1.5, 2.5], vec![0, 0, 1, 1, 2, 2]),
        (vec![7, 7], vec![1.5, 2.5], vec![0, 2]),
        (vec![i64::MAX, 0], vec![1.0, 2.0], vec![0, 2]),
    ] {
        let what = format!("{times:?}, {offsets:?}");
        let batch = Batch::new(times, values, offsets).unwrap();
        check(&plan, &batch, &[1, 2], &what);
        check(&rates, &batch, &[1, 2], &what);
    }
}

#[test]
fn every_method_of_values_and_rates_at_several_granularities() {
    let mut rng = Pcg64Mcg::seed_from_u64(61);
    let values = plan(&["35s", "1m", "1h"], &[], NanPolicy::Keep);
    let both = plan(
        &["1m", "5m"],
        &[
            "rate:std",
            "count",
            "rate:median",
            "mean",
            "rate:last",
            "99.9pct",
            "rate:count",
        ],
        NanPolicy::Keep,
    );
    let calendar = plan(
        &["W", "M", "Q", "H", "Y", "1d"],
        &["sum", "median"],
        NanPolicy::Skip,
    );
    for unsorted in [false, true] {
        for repeats in [false, true] {
            for nans in [false, true] {
                let kind = Kind {
                    unsorted,
                    repeats,
                    nans,
                };
                let what = format!("unsorted {unsorted}, repeats {repeats}, NaN {nans}");
                let lengths = [3, 0, 120, 1, 1, 40, 0, 2];
                let batch = batch(&lengths, kind, &mut rng);
                check(&values, &batch, &[50], &what);
                check(&both, &batch, &[50], &what);
                check(&calendar, &batch, &[], &what);
            }
        }
    }
}

#[test]
fn long_buckets_beside_short_ones() {
    let mut rng = Pcg64Mcg::seed_from_u64(62);
    let plan = plan(&["2h", "1m"], &[], NanPolicy::Keep);
    let batch = batch(&[20, 9000, 33, 700], Kind::default(), &mut rng);
    check(&plan, &batch, &[1500], "long buckets");
}

#[test]
fn granularities_without_common_starts_get_chunks_of_their_own() {
    // Points one second apart; buckets of 7 s and 11 s begin together every 77 s, beyond 40 points.
    let times: Vec<i64> = (1..400).map(|i| i * SECOND).collect();
    let values = times.iter().map(|time| (*time as f64).sin()).collect();
    let batch = Batch::single(times, values).unwrap();
    let plan = plan(
        &["7s", "11s"],
        &["sum", "rate:max", "median"],
        NanPolicy::Keep,
    );
    let engine = GpuEngine::with_streams(devices(2), plan.clone()).unwrap();
    let mut engine = engine.chunked(30, 40);
    let whole = engine.resample(&batch).unwrap();
    expect_same(&whole, &plan, &batch, "7 s and 11 s");
}

#[test]
fn batches_that_do_not_fit_are_rejected() {
    let times: Vec<i64> = (0..100).collect();
    let batch = Batch::single(times, vec![0.0; 100]).unwrap();
    let plan = plan(&["1s"], &["mean"], NanPolicy::Keep);
    let mut engine = GpuEngine::new(EmulatedDevice::new(), plan.clone())
        .unwrap()
        .chunked(10, 50);
    let refused = engine.resample(&batch).unwrap_err().to_string();
    assert!(refused.contains("series 0: its 100 points"), "{refused}");
    assert!(refused.contains("shorter buckets"), "{refused}");
    // The engine remains usable.
    let small = Batch::single(vec![5], vec![2.0]).unwrap();
    expect_same(
        &engine.resample(&small).unwrap(),
        &plan,
        &small,
        "after an error",
    );
}

#[test]
fn example_of_the_specification() {
    // g = 60 s from a full minute: check values of mean, std and 56pct.
    let seconds = [0, 10, 20, 30, 40, 60, 70, 80, 90, 100, 110, 120, 130];
    let values = [3, 5, 2, 3, 5, 8, 11, 22, 10, 42, 9, 4, 2];
    let start = 1_388_577_600;
    let batch = Batch::single(
        seconds.iter().map(|s| (start + s) * SECOND).collect(),
        values.iter().map(|v| f64::from(*v)).collect(),
    )
    .unwrap();
    let plan = Resample::new(
        vec![Granularity::Fixed(60_000_000_000)],
        vec![
            Aggregate::of(Method::Mean),
            Aggregate::of(Method::Std),
            Aggregate::of(Method::Percentile(56.0)),
        ],
        NanPolicy::Keep,
    )
    .unwrap();
    let mut engine = GpuEngine::new(EmulatedDevice::new(), plan.clone()).unwrap();
    let found = engine.resample(&batch).unwrap();
    let columns = &found.buckets[0].columns;
    assert_eq!(columns[0].values, [3.6, 17.0, 3.0]);
    assert_eq!(
        columns[1].values,
        [1.8_f64.sqrt(), 176.0_f64.sqrt(), 2.0_f64.sqrt()]
    );
    assert_eq!(columns[2].values, [3.48, 10.8, 3.12]);
}
