//! Chunks of random batches are complete and consistent for all sizes.

use super::*;
use crate::{Batch, Duplicates, Granularity, NanPolicy};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn rules(names: &[&str]) -> Vec<Bucketing> {
    let read = |name: &&str| name.parse::<Granularity>().unwrap().bucketing();
    names.iter().map(read).collect()
}

/// Series of the given lengths with steps of 0 … 20 s; some of them may be unsorted.
fn batch(lengths: &[usize], unsorted: bool, rng: &mut impl Rng) -> Batch {
    let (mut times, mut offsets) = (Vec::new(), vec![0]);
    for length in lengths {
        let mut time = rng.random_range(0..1_000_000_000_000_i64);
        let first = times.len();
        for _ in 0..*length {
            time += rng.random_range(0..=20) * 1_000_000_000;
            times.push(time);
        }
        if unsorted && *length > 1 && rng.random_range(0..3) == 0 {
            times[first..].reverse();
        }
        offsets.push(times.len());
    }
    let values = vec![0.0; times.len()];
    Batch::new(times, values, offsets).unwrap()
}

/// Asserts that each point and series occurs once and in order, that no bucket is split, and that
/// all buckets fit in the capacity.
fn check(prepared: &Prepared<'_>, rules: &[Bucketing], rates: bool, chunks: &[Chunk]) {
    let mut point = 0;
    let mut series = 0;
    for chunk in chunks {
        assert_eq!(chunk.points.start, point, "{chunks:?}");
        point = chunk.points.end;
        let continued = chunk.series.start < series;
        assert_eq!(chunk.series.start, series - usize::from(continued));
        series = chunk.series.end;
        let start = prepared.offsets[chunk.series.start];
        assert_eq!(continued, chunk.points.start > start);
        assert_eq!(continued, chunk.continued);
        assert!(chunk.points.start >= start);
        assert!(point <= prepared.offsets[series] && point >= prepared.offsets[series - 1]);
        let times = &prepared.times;
        if continued {
            for rule in rules {
                let at = |point: usize| rule.index(times[point]);
                assert!(at(chunk.points.start) > at(chunk.points.start - 1));
            }
        }
        assert_eq!(chunk.lead.is_some(), continued && rates);
        if let Some(lead) = chunk.lead {
            // The first of the points at the preceding time.
            assert!(times[lead] == times[chunk.points.start - 1]);
            assert!(lead == start || times[lead - 1] < times[lead]);
        }
        let offsets: Vec<u32> = chunk.offsets(prepared).collect();
        assert_eq!(offsets.len(), chunk.series.len() + 1);
        assert_eq!(*offsets.last().unwrap() as usize, chunk.len());
        let travelling: Vec<usize> = chunk.lead.into_iter().chain(chunk.points.clone()).collect();
        for (rule, capacity) in rules.iter().zip(&chunk.capacities) {
            let mut buckets = 0;
            for (position, pair) in offsets.windows(2).enumerate() {
                let of_series = &travelling[pair[0] as usize..pair[1] as usize];
                for point in of_series {
                    let bounds = &prepared.offsets[chunk.series.start + position..][..2];
                    assert!((bounds[0]..bounds[1]).contains(point));
                }
                let mut indices: Vec<u64> = of_series
                    .iter()
                    .map(|point| rule.index(times[*point]))
                    .collect();
                indices.sort_unstable();
                indices.dedup();
                buckets += indices.len();
            }
            assert!(*capacity >= buckets);
            assert!(*capacity <= chunk.len());
        }
    }
    assert_eq!(point, prepared.points());
    assert_eq!(series, prepared.series());
}

#[test]
fn chunks_contain_every_bucket_once_and_whole() {
    let mut rng = Pcg64Mcg::seed_from_u64(6);
    for names in [
        &["35s"][..],
        &["1m", "5m", "1h"],
        &["35s", "1m"],
        &["1m", "W"],
    ] {
        let rules = rules(names);
        for unsorted in [false, true] {
            for _ in 0..60 {
                let series = rng.random_range(0..12);
                let lengths: Vec<usize> = (0..series)
                    .map(|_| match rng.random_range(0..4) {
                        0 => 0,
                        1 => 1,
                        2 => rng.random_range(0..10),
                        _ => rng.random_range(0..400),
                    })
                    .collect();
                let batch = batch(&lengths, unsorted, &mut rng);
                let prepared = Prepared::new(&batch, NanPolicy::Keep, Duplicates::First).unwrap();
                for (usual, most) in [(1, 1000), (30, 1000), (100, 400), (100_000, 100_000)] {
                    let sizes = Sizes { usual, most };
                    for rates in [false, true] {
                        let chunks = split_batch(&prepared, &rules, rates, sizes).unwrap();
                        check(&prepared, &rules, rates, &chunks);
                    }
                }
            }
        }
    }
}

#[test]
fn a_long_series_is_split_at_common_bucket_starts() {
    // Points 5 s apart; buckets of 35 s and of 60 s begin together every 420 s.
    let times: Vec<i64> = (0..10_000).map(|i| i * 5_000_000_000).collect();
    let batch = Batch::single(times, vec![0.0; 10_000]).unwrap();
    let prepared = Prepared::new(&batch, NanPolicy::Keep, Duplicates::First).unwrap();
    let rules = rules(&["35s", "1m"]);
    let sizes = Sizes {
        usual: 1000,
        most: 1000,
    };
    let chunks = split_batch(&prepared, &rules, true, sizes).unwrap();
    check(&prepared, &rules, true, &chunks);
    for chunk in &chunks[1..] {
        assert_eq!(chunk.points.start % 84, 0);
        assert_eq!(chunk.lead, Some(chunk.points.start - 1));
    }
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk.points.len() > 700 || chunk.points.end == 10_000)
    );
    assert!(chunks.len() <= 13);
}

#[test]
fn series_that_cannot_be_split_are_reported() {
    let most = Sizes {
        usual: 10,
        most: 50,
    };
    // All points in one bucket.
    let times: Vec<i64> = (0..60).collect();
    let batch = Batch::single(times.clone(), vec![0.0; 60]).unwrap();
    let prepared = Prepared::new(&batch, NanPolicy::Keep, Duplicates::First).unwrap();
    let refused = split_batch(&prepared, &rules(&["1s"]), false, most).unwrap_err();
    let expected = TooLong {
        series: 0,
        points: 60,
        unsorted: false,
    };
    assert_eq!(refused, expected);
    // Each point in a bucket of its own, but in reverse order.
    let backwards = times.iter().rev().copied().collect();
    let batch = Batch::single(backwards, vec![0.0; 60]).unwrap();
    let prepared = Prepared::new(&batch, NanPolicy::Keep, Duplicates::First).unwrap();
    let refused = split_batch(&prepared, &rules(&["1ns"]), false, most).unwrap_err();
    assert!(refused.unsorted);
}
