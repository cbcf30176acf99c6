//! Compares the engine with the definition on series that exercise the special cases of each stage.

use super::definition::definition;
use super::*;
use crate::Calendar;
use crate::cpu::CpuEngine;
use rayon::ThreadPoolBuilder;

/// Values of both signs without a pattern.
fn noise(i: usize) -> f64 {
    ((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn seconds(n: u64) -> Granularity {
    Granularity::Fixed(n * SECOND as u64)
}

fn agrees(plan: &Resample, batch: &Batch) {
    assert_same(&resample(plan, batch), &definition(plan, batch));
}

#[test]
fn buckets_of_every_length_to_3000() {
    // From single lanes of a block to several chunks, with all methods of finding quantiles.
    let mut points = Vec::new();
    for n in (1..=70).chain([127, 128, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 3000]) {
        let start = 4000 * SECOND * n as i64;
        points.extend((0..n).map(|i| (start + i as i64 * SECOND, noise(n * n + i))));
    }
    let plan = everything(&[seconds(4000), seconds(7), seconds(1)], NanPolicy::Keep);
    agrees(&plan, &batch(&[points]));
}

#[test]
fn a_bucket_of_70_000_points_beside_short_ones() {
    let long = (0..70_000)
        .map(|i| (i * SECOND, noise(i as usize) * 1e9))
        .collect();
    let few = |n: i64| {
        (0..n)
            .map(|i| (i * SECOND, noise(i as usize)))
            .collect::<Vec<_>>()
    };
    let series = [few(3), long, Vec::new(), few(1), few(100)];
    let plan = everything(&[seconds(100_000), seconds(10_000)], NanPolicy::Keep);
    agrees(&plan, &batch(&series));
}

#[test]
fn a_bucket_that_all_threads_share() {
    let points: Vec<(i64, f64)> = (0..600_000)
        .map(|i| (i, noise(i as usize).powi(3)))
        .collect();
    let plan = everything(&[Granularity::Fixed(u64::MAX >> 1)], NanPolicy::Keep);
    agrees(&plan, &batch(&[points]));
}

#[test]
fn selection_among_crowded_values() {
    // Equal values, a few outliers, exponents of all sizes: bins of equal width separate these
    // badly.
    let kinds: [fn(usize) -> f64; 5] = [
        |i| {
            [
                f64::NEG_INFINITY,
                noise(i),
                -noise(i) * 1e300,
                f64::INFINITY,
                f64::NAN,
            ][i % 5]
        },
        |i| (i % 3) as f64,
        |i| if i % 1000 == 0 { 1e300 } else { noise(i) },
        |i| noise(i) * 2_f64.powi((i % 2000) as i32 - 1000),
        |i| if i == 77 { f64::NAN } else { -5.0 },
    ];
    let series = kinds.map(|kind| (0..5000).map(|i| (i as i64, kind(i))).collect());
    let aggregates = [0.0, 0.1, 25.0, 50.0, 75.0, 99.99, 100.0].map(Method::Percentile);
    let aggregates = aggregates.map(Aggregate::of).to_vec();
    let plan = Resample::new(vec![seconds(1)], aggregates, NanPolicy::Keep).unwrap();
    agrees(&plan, &batch(&series));
}

#[test]
fn series_and_buckets_end_near_piece_boundaries() {
    // Series and buckets that end just before, at and just after the boundaries of the threads'
    // pieces.
    let piece = super::super::prepare::PIECE;
    for around in [piece - 1, piece, piece + 1, 2 * piece, 2 * piece + 1] {
        let mut series = vec![Vec::new(); 8];
        for (which, length) in [(1, around), (2, 1), (4, 2), (5, piece), (6, 1)] {
            series[which] = (0..length).map(|i| (i as i64 * SECOND, noise(i))).collect();
        }
        let plan = everything(
            &[seconds(1), seconds(10), seconds(1_000_000)],
            NanPolicy::Keep,
        );
        agrees(&plan, &batch(&series));
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let points = |n: i64| {
        (0..n)
            .map(|i| (i * SECOND, noise(i as usize)))
            .collect::<Vec<_>>()
    };
    let mut shuffled = points(90_000);
    for i in (1..shuffled.len()).rev() {
        shuffled.swap(i, i * 7919 % 90_001 % (i + 1));
    }
    let batch = batch(&[points(300_000), shuffled, points(10)]);
    let plan = everything(&[seconds(35), seconds(400_000)], NanPolicy::Keep);
    let with = |threads: usize| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| resample(&plan, &batch))
    };
    let one = with(1);
    for threads in [2, 3, 8] {
        assert_same(&one, &with(threads));
    }
}

#[test]
fn series_of_a_batch_are_independent() {
    let series: Vec<Vec<(i64, f64)>> = (0..40)
        .map(|s| {
            (0..s % 7 * 9)
                .map(|i| ((i * 13 + s) % 50 * SECOND, noise((s * i) as usize)))
                .collect()
        })
        .collect();
    let plan = everything(&[seconds(5), seconds(60)], NanPolicy::Keep);
    let together = resample(&plan, &batch(&series));
    for (s, points) in series.iter().enumerate() {
        let alone = resample(&plan, &batch(std::slice::from_ref(points)));
        for (all, one) in together.buckets.iter().zip(&alone.buckets) {
            for (all_column, one_column) in all.columns.iter().zip(&one.columns) {
                let bits = |b: &Buckets, c: &Column, s| {
                    b.of(c, s)
                        .map(|(t, v)| (t, v.to_bits()))
                        .collect::<Vec<_>>()
                };
                assert_eq!(bits(all, all_column, s), bits(one, one_column, 0));
            }
        }
    }
}

#[test]
fn several_points_at_one_time_are_what_the_plan_says() {
    let points = vec![
        (70 * SECOND, 9.0),
        (5 * SECOND, 1.0),
        (5 * SECOND, 2.0),
        (70 * SECOND, 8.0),
        (6 * SECOND, 4.0),
    ];
    let plan = everything(&[seconds(60)], NanPolicy::Keep);
    for (duplicates, sums, firsts, lasts, rates) in [
        (
            Duplicates::Keep,
            [7.0, 17.0],
            [1.0, 9.0],
            [4.0, 8.0],
            [3.0, 4.0],
        ),
        (
            Duplicates::First,
            [5.0, 9.0],
            [1.0, 9.0],
            [4.0, 9.0],
            [3.0, 5.0],
        ),
        (
            Duplicates::Last,
            [6.0, 8.0],
            [2.0, 8.0],
            [4.0, 8.0],
            [2.0, 4.0],
        ),
    ] {
        let plan = plan.clone().with_duplicates(duplicates);
        let result = resample(&plan, &batch(std::slice::from_ref(&points)));
        assert_eq!(result.duplicates, 2, "{duplicates:?}");
        for (name, expected) in [
            ("sum", sums),
            ("first", firsts),
            ("last", lasts),
            ("rate:sum", rates),
        ] {
            let found = &column(&result, name).1.values;
            assert_eq!(*found, expected, "{duplicates:?}, {name}");
        }
    }
    let plan = plan.with_duplicates(Duplicates::Error);
    let refused = CpuEngine::new(plan).resample(&batch(&[vec![(1, 0.0)], points]));
    let expected = (1, 5 * SECOND);
    assert!(
        matches!(refused, Err(SeriesError::SameTime { series, time }) if (series, time) == expected),
        "{refused:?}"
    );
}

#[test]
fn a_skipped_nan_does_not_hide_a_point_of_its_time() {
    let points = vec![
        (SECOND, f64::NAN),
        (SECOND, 2.0),
        (2 * SECOND, f64::NAN),
        (3 * SECOND, 5.0),
    ];
    let of = |nan| {
        resample(
            &everything(&[seconds(60)], nan),
            &batch(std::slice::from_ref(&points)),
        )
    };
    let skipped = of(NanPolicy::Skip);
    assert_eq!((skipped.skipped, skipped.duplicates), (2, 0));
    assert_eq!(column(&skipped, "sum").1.values, [7.0]);
    assert_eq!(column(&skipped, "rate:mean").1.values, [3.0]);
    let kept = of(NanPolicy::Keep);
    assert_eq!((kept.skipped, kept.duplicates), (0, 1));
    assert_eq!(column(&kept, "count").1.values, [4.0]);
    assert_eq!(column(&kept, "min").1.values, [2.0]);
    assert!(column(&kept, "max").1.values[0].is_nan());
    assert!(column(&kept, "sum").1.values[0].is_nan());
    assert_eq!(column(&kept, "nunique").1.values, [3.0]);
}

#[test]
fn zeros_infinities_and_overflow() {
    let inf = f64::INFINITY;
    let values = [
        0.0,
        -0.0,
        0.0,
        inf,
        -inf,
        f64::MAX,
        f64::MAX,
        -f64::MAX,
        5e-324,
        f64::NAN,
    ];
    // A bucket for each pair and triple of these values.
    let mut points = Vec::new();
    for (a, first) in values.iter().enumerate() {
        for (b, second) in values.iter().enumerate() {
            for (c, third) in values.iter().enumerate() {
                let start = ((a * 10 + b) * 10 + c) as i64 * 10 * SECOND;
                points.extend([(start, *first), (start + 1, *second)]);
                if c > 0 {
                    points.push((start + 2, *third));
                }
            }
        }
    }
    let plan = everything(&[seconds(10), seconds(70)], NanPolicy::Keep);
    agrees(&plan, &batch(&[points]));
}

#[test]
fn empty_batches_and_single_points() {
    let plan = everything(&[seconds(60)], NanPolicy::Skip);
    let empty = resample(&plan, &batch(&[]));
    assert_eq!(empty.buckets[0].offsets, [0]);
    agrees(&plan, &batch(&[]));
    agrees(&plan, &batch(&[vec![], vec![], vec![]]));
    agrees(
        &plan,
        &batch(&[
            vec![(7, f64::NAN)],
            vec![(i64::MAX, 1.0)],
            vec![(0, -0.0)],
            vec![],
        ]),
    );
    let one = resample(&plan, &batch(&[vec![(61 * SECOND, 3.0)]]));
    let (buckets, std) = column(&one, "std");
    assert!(std.values[0].is_nan() && buckets.of(std, 0).next().is_none());
    assert!(column(&one, "rate:count").1.values.is_empty());
}

#[test]
fn calendar_granularities() {
    use Calendar::{HalfYear, Month, Quarter, Week, Year};
    let granularities = [Week, Month, Quarter, HalfYear, Year].map(Granularity::Calendar);
    let plan = everything(&granularities, NanPolicy::Keep);
    let hours = |step: i64, n: i64| {
        (0..n)
            .map(|i| (i * step * 3600 * SECOND, noise(i as usize)))
            .collect()
    };
    // Every 11 hours for years, and every 40 days until 2262.
    agrees(&plan, &batch(&[hours(11, 4000), hours(40 * 24, 2600)]));
    let moment = |days: i64| days * 86_400 * SECOND;
    // Saturday 2000-02-26, Sunday 2000-02-27, Tuesday 2000-02-29, Wednesday 2000-03-01.
    let days = [11_013, 11_014, 11_016, 11_017]
        .map(|day| (moment(day), day as f64))
        .to_vec();
    let result = resample(&plan, &batch(&[days]));
    let starts = |which: usize| result.buckets[which].starts.clone();
    assert_eq!(starts(0), [moment(11_007), moment(11_014)]);
    assert_eq!(starts(1), [moment(10_988), moment(11_017)]);
    assert_eq!(starts(2), [moment(10_957)]);
}

#[test]
fn buckets_of_one_nanosecond_and_of_all_time() {
    let points: Vec<(i64, f64)> = (0..100)
        .map(|i| (i64::MAX - 99 + i, noise(i as usize)))
        .collect();
    let all = [
        1,
        2,
        3,
        1 << 62,
        (1 << 62) + 1,
        (1 << 63) - 2,
        (1 << 63) - 1,
    ]
    .map(Granularity::Fixed);
    agrees(&everything(&all, NanPolicy::Keep), &batch(&[points]));
}

#[test]
fn setup_reports_the_number_of_threads() {
    let plan = everything(&[seconds(1)], NanPolicy::Keep);
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let engine = pool.install(|| super::super::CpuEngine::new(plan.clone()));
    let device = &engine.setup().device;
    assert!(device.ends_with(", 3 threads"), "{device}");
    assert_eq!(engine.plan(), &plan);
}
