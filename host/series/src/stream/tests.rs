//! For any memory limit, the rows equal those of a single batch: the same bits in the same order.
//! The engines' own tests cover single batches.

use super::*;
use crate::cpu::CpuEngine;
use crate::io::Block;
use crate::{Batch, Duplicates, Engine, Granularity, NanPolicy, Resample, SeriesError};

/// Collects rows in order, with the bits of the values.
#[derive(Debug, Default, PartialEq)]
struct CollectedRows(Vec<(usize, Granularity, String, i64, u64)>);

impl Sink for CollectedRows {
    fn take<'r>(&mut self, rows: &mut dyn Iterator<Item = Rows<'r>>) -> Result<(), StreamError> {
        for of in rows {
            let name = of.aggregate.to_string();
            let rows = of.present().map(|(start, value)| {
                (
                    of.series,
                    of.granularity,
                    name.clone(),
                    start,
                    value.to_bits(),
                )
            });
            self.0.extend(rows);
        }
        Ok(())
    }
}

/// A deterministic pseudo-random sequence.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        // Knuth's linear congruential generator (MMIX).
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

const SECOND: i64 = 1_000_000_000;
/// 2014-01-30, shortly before a month and a week end.
const BEGIN: i64 = 1_391_040_000 * SECOND;

/// `count` unordered points of several series, one of them much longer than the others; some points
/// are repeated, some are NaN.
fn points(count: usize, span: i64) -> Vec<(u32, i64, f64)> {
    let mut numbers = Numbers(7);
    let mut points: Vec<(u32, i64, f64)> = Vec::new();
    for _ in 0..count {
        let series = [0, 2, 2, 2, 2, 2, 1, 5, 7][numbers.below(9) as usize];
        let time = BEGIN + numbers.below(span as u64) as i64 * SECOND + numbers.below(3) as i64;
        let value = match numbers.below(40) {
            0 => f64::NAN,
            1 => f64::NEG_INFINITY,
            2 => -0.0,
            n => n as f64 * 0.37 - 3.0,
        };
        points.push((series, time, value));
        if numbers.below(10) == 0 {
            let (series, time, _) = points[numbers.below(points.len() as u64) as usize];
            points.push((series, time, 1000.0));
        }
    }
    points
}

fn blocks(points: &[(u32, i64, f64)], sizes: &[usize]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut rest, mut sizes) = (points, sizes.iter().cycle());
    while !rest.is_empty() {
        let (now, later) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
        rest = later;
        blocks.push(Block {
            series: now.iter().map(|p| p.0).collect(),
            times: now.iter().map(|p| p.1).collect(),
            values: now.iter().map(|p| p.2).collect(),
        });
    }
    blocks
}

fn plan(granularities: &str, aggregates: &str, nan: NanPolicy) -> Resample {
    let granularities = granularities
        .split(',')
        .map(|g| g.parse().unwrap())
        .collect();
    let aggregates = aggregates.split(',').map(|a| a.parse().unwrap()).collect();
    Resample::new(granularities, aggregates, nan).unwrap()
}

fn limits(memory: u64, folder: &std::path::Path) -> Limits {
    Limits {
        start: None,
        end: None,
        memory,
        folder: folder.to_owned(),
    }
}

fn stream(
    blocks: &[Block],
    plan: &Resample,
    limits: Limits,
) -> Result<(CollectedRows, Tally), StreamError> {
    let folder = limits.folder.clone();
    let mut gather = Gather::new(limits);
    for block in blocks {
        gather.push(block.clone())?;
    }
    let mut rows = CollectedRows::default();
    let mut finished = 0;
    let mut engine = CpuEngine::new(plan.clone());
    let tally = gather
        .finish(plan)?
        .resample(&mut engine, &mut rows, &mut |done| {
            assert!(done >= finished);
            finished = done;
            true
        })?;
    assert_eq!(finished, tally.points);
    assert_eq!(
        std::fs::read_dir(folder).unwrap().count(),
        0,
        "something was left"
    );
    Ok((rows, tally))
}

/// Plans with granularities that do and do not divide each other, calendar granularities, and
/// rates.
const PLANS: [(&str, &str, NanPolicy); 5] = [
    (
        "60s,1h",
        "mean,std,rate:last,95pct,rate:count,first",
        NanPolicy::Keep,
    ),
    (
        "60s,1h",
        "mean,std,rate:last,95pct,rate:count,first",
        NanPolicy::Skip,
    ),
    (
        "7s,35s,50s,11m",
        "sum,rate:sum,rate:std,last",
        NanPolicy::Skip,
    ),
    ("W,M,90s,H", "count,sum,nunique,median,min", NanPolicy::Keep),
    ("1h", "rate:max", NanPolicy::Keep),
];

#[test]
fn results_do_not_depend_on_memory() {
    let folder = tempfile::tempdir().unwrap();
    let points = points(20_000, 40 * 86_400);
    let blocks = blocks(&points, &[1000, 17, 1, 333]);
    let duplicates = [Duplicates::Keep, Duplicates::First, Duplicates::Last];
    for ((granularities, aggregates, nan), duplicates) in
        PLANS.into_iter().zip(duplicates.into_iter().cycle())
    {
        let plan = plan(granularities, aggregates, nan).with_duplicates(duplicates);
        let (whole, whole_tally) = stream(&blocks, &plan, limits(1 << 30, folder.path())).unwrap();
        assert_eq!((whole_tally.batches, whole_tally.spilled), (1, 0));
        assert!(whole_tally.duplicates > 100, "{whole_tally:?}");
        let mut cut_in_time = false;
        for memory in [6 << 20, 1 << 20, 300 << 10] {
            let longest_bucket = granularities.contains('H');
            let found = stream(&blocks, &plan, limits(memory, folder.path()));
            if longest_bucket && memory < 6 << 20 {
                // A bucket of half a year of one series exceeds that.
                let refused = found.unwrap_err().to_string();
                assert!(
                    refused.contains("bucket of H") && refused.contains("memory"),
                    "{refused}"
                );
                continue;
            }
            let (rows, tally) = found.unwrap();
            assert!(
                memory > 1 << 20 || (tally.spilled > 0 && tally.batches > 1),
                "{tally:?}"
            );
            cut_in_time |= tally.batches > 5;
            assert!(rows == whole, "{granularities} {memory}");
            let same = Tally {
                batches: whole_tally.batches,
                spilled: whole_tally.spilled,
                ..tally
            };
            assert_eq!(same, whole_tally);
        }
        assert!(
            cut_in_time || granularities.contains('H'),
            "{granularities}"
        );
    }
}

/// The series is named by its number among all, in memory, in portions, and where it is split.
#[test]
fn two_points_at_one_time_are_an_error_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut points: Vec<(u32, i64, f64)> = (0..30_000)
        .map(|i| (u32::from(i > 4000), BEGIN + i * SECOND, 1.0))
        .collect();
    let plan = plan("60s", "mean", NanPolicy::Keep).with_duplicates(Duplicates::Error);
    for memory in [1 << 30, 6 << 20, 300 << 10] {
        let limits = limits(memory, folder.path());
        stream(&blocks(&points, &[999]), &plan, limits).unwrap();
    }
    let twice = BEGIN + 29_000 * SECOND;
    points.push((1, twice, 2.0));
    for memory in [1 << 30, 6 << 20, 300 << 10] {
        let limits = limits(memory, folder.path());
        let refused = stream(&blocks(&points, &[999]), &plan, limits).unwrap_err();
        let StreamError::Series(why) = refused else {
            panic!("{refused}");
        };
        let expected = (1, twice);
        assert!(
            matches!(*why, SeriesError::SameTime { series, time } if (series, time) == expected),
            "{why}"
        );
    }
}

#[test]
fn a_long_series_is_split_at_bucket_starts() {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<(u32, i64, f64)> = (0..50_000)
        .map(|i| (0, BEGIN + i * SECOND, (i % 977) as f64))
        .collect();
    let blocks = blocks(&all, &[4096]);
    let plan = plan("60s,1h", "mean,rate:sum", NanPolicy::Keep);
    let (whole, _) = stream(&blocks, &plan, limits(1 << 30, folder.path())).unwrap();
    let (rows, tally) = stream(&blocks, &plan, limits(1 << 20, folder.path())).unwrap();
    assert!(rows == whole);
    assert!(tally.batches >= 5, "{tally:?}");
    // Calculated by hand: 50 000 s from a full hour on.
    assert_eq!(
        tally.buckets.iter().map(|b| b.2).collect::<Vec<_>>(),
        [834, 14, 834, 14]
    );
}

#[test]
fn limits_select_points() {
    let folder = tempfile::tempdir().unwrap();
    let points = points(3000, 86_400);
    let (start, end) = (BEGIN + 20_000 * SECOND, BEGIN + 60_000 * SECOND);
    let inside: Vec<_> = points
        .iter()
        .copied()
        .filter(|p| (start..end).contains(&p.1))
        .collect();
    let plan = plan("60s,1h", "mean,rate:sum", NanPolicy::Keep);
    let (expected, _) = stream(
        &blocks(&inside, &[100]),
        &plan,
        limits(1 << 30, folder.path()),
    )
    .unwrap();
    for memory in [1 << 30, 100 << 10] {
        let limits = Limits {
            start: Some(start),
            end: Some(end),
            ..limits(memory, folder.path())
        };
        let (rows, tally) = stream(&blocks(&points, &[100, 1]), &plan, limits).unwrap();
        assert!(rows == expected);
        assert_eq!(tally.points as usize, inside.len());
        assert_eq!(tally.outside as usize, points.len() - inside.len());
    }
}

#[test]
fn extreme_times_are_supported() {
    let folder = tempfile::tempdir().unwrap();
    let times = [0, 1, SECOND, i64::MAX - SECOND, i64::MAX - 1, i64::MAX];
    let mut all = Vec::new();
    for copy in 0..300 {
        all.extend(times.map(|time| (0, time, f64::from(copy))));
        all.push((0, copy as i64 * 86_400 * 20 * SECOND, 1.0));
    }
    for granularities in [
        "1ns,60s",
        "W",
        "M,W,Y",
        "9223372036854775807ns",
        "106751d,7s",
    ] {
        let plan = plan(granularities, "count,last,std", NanPolicy::Keep);
        let (whole, _) =
            stream(&blocks(&all, &[50]), &plan, limits(1 << 30, folder.path())).unwrap();
        assert!(!whole.0.is_empty());
        match stream(
            &blocks(&all, &[50]),
            &plan,
            limits(100 << 10, folder.path()),
        ) {
            Ok((rows, tally)) => {
                assert!(tally.batches > 1);
                assert!(rows == whole, "{granularities}");
            }
            Err(why) => assert!(why.to_string().contains("a bucket of"), "{why}"),
        }
    }
}

#[test]
fn a_stopped_stream_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let all = points(20_000, 86_400);
    let plan = plan("60s", "mean", NanPolicy::Keep);
    for memory in [1 << 30, 300 << 10] {
        let mut gather = Gather::new(limits(memory, folder.path()));
        for block in blocks(&all, &[500]) {
            gather.push(block).unwrap();
        }
        let mut calls = 0;
        let mut engine = CpuEngine::new(plan.clone());
        let end = gather.finish(&plan).unwrap().resample(
            &mut engine,
            &mut CollectedRows::default(),
            &mut |_| {
                calls += 1;
                calls < 2
            },
        );
        assert!(matches!(end, Err(StreamError::Stopped)), "{end:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn the_error_of_a_sink_ends_the_stream() {
    struct Full;
    impl Sink for Full {
        fn take<'r>(&mut self, _: &mut dyn Iterator<Item = Rows<'r>>) -> Result<(), StreamError> {
            Err(crate::SeriesError::Batch("full".to_owned()).into())
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let all = points(20_000, 86_400);
    let plan = plan("60s", "mean", NanPolicy::Keep);
    for memory in [1 << 30, 300 << 10] {
        let mut gather = Gather::new(limits(memory, folder.path()));
        for block in blocks(&all, &[500]) {
            gather.push(block).unwrap();
        }
        let mut engine = CpuEngine::new(plan.clone());
        let end = gather
            .finish(&plan)
            .unwrap()
            .resample(&mut engine, &mut Full, &mut |_| true);
        assert_eq!(end.unwrap_err().to_string(), "full");
    }
}

#[test]
fn inconsistent_blocks_are_rejected_and_empty_streams_have_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let mut gather = Gather::new(limits(1 << 20, folder.path()));
    let block = |series: &[u32], times: &[i64], values: &[f64]| Block {
        series: series.to_vec(),
        times: times.to_vec(),
        values: values.to_vec(),
    };
    assert!(gather.push(block(&[0], &[1], &[])).is_err());
    assert!(gather.push(block(&[0], &[1, 2], &[1.0, 2.0])).is_err());
    let refused = gather
        .push(block(&[0, 0], &[1, -1], &[1.0, 2.0]))
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("expected a timestamp from 1970 on"),
        "{refused}"
    );
    gather.push(block(&[], &[], &[])).unwrap();
    let plan = plan("60s", "mean", NanPolicy::Keep);
    let mut rows = CollectedRows::default();
    let mut engine = CpuEngine::new(plan.clone());
    let tally = gather
        .finish(&plan)
        .unwrap()
        .resample(&mut engine, &mut rows, &mut |_| true)
        .unwrap();
    assert_eq!((rows.0.len(), tally.points), (0, 0));
}

/// Batches do not exceed the estimated memory.
#[test]
fn batches_stay_within_the_limit() {
    struct Least(CpuEngine, usize);
    impl Engine for Least {
        fn setup(&self) -> &warpstride_core::run::Setup {
            self.0.setup()
        }
        fn plan(&self) -> &Resample {
            self.0.plan()
        }
        fn resample(&mut self, batch: &Batch) -> Result<crate::Resampled, crate::SeriesError> {
            self.1 = self.1.max(batch.len());
            self.0.resample(batch)
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let memory = 400 << 10;
    let plan = plan("60s,1h", "mean,max", NanPolicy::Keep);
    let mut gather = Gather::new(limits(memory, folder.path()));
    for block in blocks(&points(40_000, 86_400), &[700]) {
        gather.push(block).unwrap();
    }
    let mut engine = Least(CpuEngine::new(plan.clone()), 0);
    gather
        .finish(&plan)
        .unwrap()
        .resample(&mut engine, &mut CollectedRows::default(), &mut |_| true)
        .unwrap();
    assert!(engine.1 * 96 <= memory as usize, "{}", engine.1);
}
