//! The rungs of the ladder against the sum of each bucket, in pieces too.

#![cfg(feature = "series")]

mod series;

use series::{Buckets, LAUNCHES, Numbers, copy, launch, poisoned, zeroed};
use warpstride_kernels::series::ladder::{
    SeriesLadderAtomic, SeriesLadderOneBlock, SeriesLadderStaged,
};

fn cases() -> Vec<Buckets> {
    let mut numbers = Numbers(17);
    let mixed: Vec<usize> = (0..700)
        .map(|_| 1 + numbers.below(40) as usize)
        .chain([5000, 1])
        .collect();
    [vec![], vec![1], vec![7; 1000], mixed]
        .iter()
        .map(|lengths| Buckets::new(lengths, |_| numbers.next() as f64 / 3.0))
        .collect()
}

/// One after the other, as all rungs add.
fn expected(case: &Buckets) -> Vec<f64> {
    (0..case.count())
        .map(|b| case.bucket(b).iter().fold(0.0, |sum, v| sum + v))
        .collect()
}

#[test]
fn every_rung_gives_the_sums() {
    for case in cases() {
        let (values, first) = (copy(&case.values), copy(&case.first));
        let (points, buckets) = (case.points(), case.facts[0]);
        for config in LAUNCHES {
            let mut sums = zeroed(case.count());
            launch(
                &SeriesLadderAtomic {
                    values: values.read(),
                    first: first.read(),
                    sums: sums.write(),
                    points,
                    buckets,
                },
                config,
            );
            assert_eq!(sums.as_slice(), expected(&case));

            let mut sums = poisoned(case.count());
            launch(
                &SeriesLadderOneBlock {
                    values: values.read(),
                    first: first.read(),
                    sums: sums.write(),
                    points,
                    buckets,
                },
                config,
            );
            assert_eq!(sums.as_slice(), expected(&case));

            let mut sums = poisoned(case.count());
            launch(
                &SeriesLadderStaged {
                    values: values.read(),
                    first: first.read(),
                    sums: sums.write(),
                    points,
                    origin: 0,
                    bucket_from: 0,
                    buckets,
                },
                config,
            );
            assert_eq!(sums.as_slice(), expected(&case));
            assert_eq!(sums.check_canaries(), Ok(()));
        }
    }
}

#[test]
fn pieces_make_the_whole() {
    for case in cases() {
        let first = copy(&case.first);
        let mut sums = poisoned(case.count());
        let buckets = case.facts[0];
        for bucket_from in (0..buckets).step_by(97) {
            let count = (buckets - bucket_from).min(97);
            let origin = case.first[bucket_from as usize];
            let end = case.first[(bucket_from + count) as usize];
            let piece = copy(&case.values[origin as usize..end as usize]);
            launch(
                &SeriesLadderStaged {
                    values: piece.read(),
                    first: first.read(),
                    sums: sums.write(),
                    points: end - origin,
                    origin,
                    bucket_from,
                    buckets: count,
                },
                LAUNCHES[1],
            );
        }
        assert_eq!(sums.as_slice(), expected(&case));
    }
}
