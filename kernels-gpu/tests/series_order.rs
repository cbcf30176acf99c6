//! Order statistics of buckets of every length against a sort of the bucket and the definitions on it. Every kernel
//! answers its lengths and leaves the others alone, so that together they answer all.

#![cfg(feature = "series")]

mod series;

use series::{Buckets, LAUNCHES, Numbers, copy, launch, poisoned, zeroed};
use warpstride_device::emulator::{Memory, Order};
use warpstride_kernels::series::order_block::SeriesOrderBlock;
use warpstride_kernels::series::order_distinct::{SeriesDistinct, SeriesDistinctClear};
use warpstride_kernels::series::order_long::slots;
use warpstride_kernels::series::order_query::{MEDIAN, NUNIQUE, OrderQuery, PERCENTILE};
use warpstride_kernels::series::order_select::{BINS, SelectState, SeriesOrderSelect};
use warpstride_kernels::series::order_short::{SeriesOrder8, SeriesOrder32};
use warpstride_kernels::series::order_warp::SeriesOrderWarp;

const COLUMNS: u32 = 7;

fn query(kind: u32, percent: f64, column: u32) -> OrderQuery {
    OrderQuery {
        percent,
        kind,
        column,
    }
}

/// Columns in another order than the queries, and one (2) without a query.
fn queries() -> Vec<OrderQuery> {
    vec![
        query(MEDIAN, 0.0, 1),
        query(PERCENTILE, 95.0, 0),
        query(NUNIQUE, 0.0, 4),
        query(PERCENTILE, 33.3, 3),
        query(PERCENTILE, 100.0, 6),
        query(PERCENTILE, 0.0, 5),
    ]
}

/// The definition: sort, then take. NaN is one value, the greatest.
fn expected(bucket: &[f64], query: &OrderQuery) -> f64 {
    let mut sorted = bucket.to_vec();
    sorted.sort_by(|a, b| match (a.is_nan(), b.is_nan()) {
        (false, false) => a.total_cmp(b),
        (a, b) => a.cmp(&b),
    });
    let n = sorted.len();
    match query.kind {
        NUNIQUE => {
            sorted.dedup_by(|a, b| a == b || a.is_nan() && b.is_nan());
            sorted.len() as f64
        }
        MEDIAN => {
            let (a, b) = (sorted[(n - 1) / 2], sorted[n / 2]);
            warpstride_kernels::series::quantile::middle(a, b)
        }
        _ => {
            let (below, fraction) =
                warpstride_kernels::series::quantile::position(n as u32, query.percent);
            let below = below as usize;
            let (a, b) = (sorted[below], sorted[(below + 1).min(n - 1)]);
            warpstride_kernels::series::quantile::interpolate(a, b, fraction)
        }
    }
}

/// All kernels in one launch size, into one set of columns.
fn answers(buckets: &Buckets, queries: &[OrderQuery], size: (u32, u32, Order)) -> Memory<f64> {
    let (points, capacity) = (buckets.points(), buckets.capacity);
    // Columns may be longer than the buckets.
    let stride = capacity + 2;
    let values = copy(&buckets.values);
    let first = copy(&buckets.first);
    let covering = copy(&buckets.covering);
    let facts = copy(&buckets.facts);
    let wanted = copy(queries);
    let mut out = poisoned::<f64>((COLUMNS * stride) as usize);
    macro_rules! sorted {
        ($kernel:ident $(, $covering:ident)?) => {
            launch(
                &$kernel {
                    values: values.read(),
                    first: first.read(),
                    $($covering: covering.read(),)?
                    facts: facts.read(),
                    wanted: wanted.read(),
                    out: out.write(),
                    points,
                    capacity,
                    queries: queries.len() as u32,
                    columns: COLUMNS,
                    stride,
                },
                size,
            );
        };
    }
    sorted!(SeriesOrder8);
    sorted!(SeriesOrder32);
    sorted!(SeriesOrderWarp, covering);
    sorted!(SeriesOrderBlock, covering);

    let slots = slots(points as usize) as u32;
    let ranks = slots as usize * 2 * queries.len();
    let mut histograms = zeroed::<u32>(ranks * BINS);
    let mut states = poisoned::<SelectState>(ranks);
    let mut found = poisoned::<u64>(ranks);
    let mut done = zeroed::<u32>(slots as usize);
    for pass in 0..8 {
        let select = SeriesOrderSelect {
            values: values.read(),
            first: first.read(),
            covering: covering.read(),
            facts: facts.read(),
            wanted: wanted.read(),
            histograms: histograms.write(),
            states: states.write(),
            found: found.write(),
            done: done.write(),
            out: out.write(),
            points,
            capacity,
            slots,
            queries: queries.len() as u32,
            columns: COLUMNS,
            stride,
            pass,
        };
        launch(&select, size);
    }
    // As they were found, for the next buckets.
    assert!(histograms.as_slice().iter().all(|h| *h == 0));
    assert!(done.as_slice().iter().all(|d| *d == 0));
    for query in queries.iter().filter(|q| q.kind == NUNIQUE) {
        let mut table = poisoned::<u64>(2 * points as usize);
        let mut counts = zeroed::<u32>(slots as usize);
        let clear = SeriesDistinctClear {
            first: first.read(),
            covering: covering.read(),
            facts: facts.read(),
            table: table.write(),
            points,
            capacity,
            slots,
        };
        launch(&clear, size);
        let distinct = SeriesDistinct {
            values: values.read(),
            first: first.read(),
            covering: covering.read(),
            facts: facts.read(),
            table: table.write(),
            counts: counts.write(),
            done: done.write(),
            out: out.write(),
            points,
            capacity,
            slots,
            columns: COLUMNS,
            stride,
            column: query.column,
        };
        launch(&distinct, size);
        assert!(counts.as_slice().iter().all(|c| *c == 0));
        assert!(done.as_slice().iter().all(|d| *d == 0));
        assert_eq!(table.check_canaries(), Ok(()));
        assert_eq!(counts.check_canaries(), Ok(()));
    }
    for checked in [
        histograms.check_canaries(),
        states.check_canaries(),
        found.check_canaries(),
    ] {
        assert_eq!(checked, Ok(()));
    }
    assert_eq!(out.check_canaries(), Ok(()));
    out
}

fn check(lengths: &[usize], sizes: &[(u32, u32, Order)], value: impl FnMut(usize) -> f64) {
    let buckets = Buckets::new(lengths, value);
    let queries = queries();
    let stride = buckets.capacity as usize + 2;
    for size in sizes {
        let out = answers(&buckets, &queries, *size);
        let mut touched = vec![false; out.as_slice().len()];
        for query in &queries {
            for bucket in 0..buckets.count() {
                let at = query.column as usize * stride + bucket;
                touched[at] = true;
                let (found, bucket) = (out.as_slice()[at], buckets.bucket(bucket));
                let expected = expected(bucket, query);
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{query:?} of {} points: {found}, not {expected}",
                    bucket.len()
                );
            }
        }
        for (found, touched) in out.as_slice().iter().zip(touched) {
            assert!(
                touched || found.to_bits() == u64::MAX,
                "written without need"
            );
        }
    }
}

#[test]
fn every_length_of_one_thread() {
    let mut numbers = Numbers(11);
    let lengths: Vec<usize> = (1..=40).chain((1..=34).rev()).chain([7; 50]).collect();
    check(&lengths, &LAUNCHES, |_| numbers.value());
    check(&[], &LAUNCHES[..1], |_| 0.0);
    check(&[1], &LAUNCHES[..1], |_| f64::NAN);
}

#[test]
fn every_length_of_a_warp_or_a_block() {
    let mut numbers = Numbers(5);
    let lengths = [
        31, 33, 64, 1, 65, 127, 32, 128, 129, 5, 255, 256, 257, 511, 512, 513, 2, 1023, 1024, 1025,
        2049,
    ];
    check(&lengths, &LAUNCHES, |_| numbers.value());
    check(&[4095, 3, 4096], &LAUNCHES[1..2], |_| numbers.value());
    check(&[600], &LAUNCHES[1..2], |_| -0.0);
}

#[test]
fn long_buckets() {
    let mut numbers = Numbers(3);
    check(&[4097], &LAUNCHES[1..], |_| numbers.value());
    check(&[17, 5000, 40, 8193, 4096, 4100], &LAUNCHES[1..], |_| {
        numbers.value()
    });
    check(&[70_000, 1], &LAUNCHES[2..], |i| {
        (i * 7919 % 70_001) as f64 * 0.1
    });
    // The values are found in the last pass only, or in the second.
    check(&[5000], &LAUNCHES[2..], |i| {
        f64::from_bits(0x4000_0000_0000_0000 + i as u64)
    });
    check(&[5000], &LAUNCHES[2..], |i| {
        f64::from_bits((i as u64) << 50)
    });
    check(&[5000], &LAUNCHES[2..], |_| 7.25);
    check(&[9000], &LAUNCHES[2..], |i| [0.0, -0.0, f64::NAN][i % 3]);
}
