//! Back windows, timespans, repeated timestamps, and recomputation.

use super::plain_engine::PlainEngine;
use super::{Folder, Points, batch_of, contents, expected, ingest, policy};
use crate::store::{Ingested, Query, StoreReader, StoreWriter};
use crate::{Batch, Engine, Resample, Resampled, SeriesError};
use warpstride_core::run::Setup;

fn one(points: &[(i64, f64)]) -> Points {
    Points::from([("a".to_owned(), points.to_vec())])
}

#[test]
fn points_older_than_the_window_are_refused_and_counted() {
    let folder = Folder::new();
    let path = folder.path("store");
    let policy = policy(2, &["sum"], &[("10ns", 100), ("100ns", 100)]);
    // The first batch is accepted completely, regardless of its span.
    let first = one(&[(5, 1.0), (1000, 2.0), (3, 4.0)]);
    // Now the window starts at 800.
    let second = one(&[(799, 8.0), (800, 16.0), (0, 32.0), (2000, 64.0), (801, 1.5)]);
    let mut both = first.clone();
    let done = ingest(&path, &policy, &[first, second]);
    assert_eq!(done[0].added, 3);
    let after = (done[1].points, done[1].added, done[1].refused);
    assert_eq!(after, (5, 3, 2));
    let taken = [(800, 16.0), (2000, 64.0), (801, 1.5)];
    both.get_mut("a").unwrap().extend(taken);
    assert_eq!(contents(&path), expected(&policy, &both));
    let reader = StoreReader::open(&path).unwrap();
    let facts = &reader.series(0, 9).unwrap()[0];
    assert_eq!((facts.points, facts.refused, facts.last), (6, 2, 2000));
    let totals = reader.totals();
    assert_eq!((totals.points, totals.refused, totals.batches), (6, 2, 2));
    drop(reader);
    // If all points of a batch are too late, only the counts change.
    let before = contents(&path);
    let done = ingest(&path, &policy, &[one(&[(1, 1.0), (2, 1.0)])]);
    assert_eq!((done[0].refused, done[0].buckets), (2, 0));
    assert_eq!(contents(&path), before);
}

#[test]
fn granularities_need_not_divide_each_other() {
    let folder = Folder::new();
    let path = folder.path("store");
    let policy = policy(0, &["sum"], &[("30ns", 100), ("100ns", 100)]);
    // The bucket of 30 ns that begins at 90 extends beyond 100, where the window starts.
    let parts = [one(&[(85, 1.0), (95, 2.0), (101, 4.0)]), one(&[(105, 8.0)])];
    ingest(&path, &policy, &parts);
    let whole = one(&[(85, 1.0), (95, 2.0), (101, 4.0), (105, 8.0)]);
    assert_eq!(contents(&path), expected(&policy, &whole));
}

#[test]
fn the_newest_batch_and_the_first_point_of_a_batch_win() {
    let folder = Folder::new();
    let path = folder.path("store");
    let aggregates = ["sum", "first", "last", "rate:sum", "nunique"];
    let policy = policy(3, &aggregates, &[("10ns", 100)]);
    let done = ingest(
        &path,
        &policy,
        &[
            one(&[(5, 1.0), (7, 2.0), (5, 9.0), (21, 3.0)]),
            one(&[(7, 20.0), (7, 21.0), (8, 4.0), (21, 3.0)]),
        ],
    );
    assert_eq!((done[0].duplicates, done[0].added), (1, 3));
    let second = Ingested {
        points: 4,
        added: 1,
        replaced: 2,
        changed: 1,
        duplicates: 1,
        conflicts: 1,
        // The bucket of 7, and that of 21 because of the difference.
        buckets: 2,
        ..Ingested::default()
    };
    assert_eq!(done[1], second);
    let now = one(&[(5, 1.0), (7, 20.0), (8, 4.0), (21, 3.0)]);
    assert_eq!(contents(&path), expected(&policy, &now));
}

#[test]
fn old_buckets_are_dropped() {
    let folder = Folder::new();
    let path = folder.path("store");
    let policy = policy(0, &["sum", "std"], &[("10ns", 40), ("50ns", 2)]);
    let mut all = Points::new();
    for part in 0..30 {
        let points: Vec<(i64, f64)> = (0..20).map(|i| (part * 100 + i * 5, i as f64)).collect();
        all.entry("a".to_owned()).or_default().extend(&points);
        ingest(&path, &policy, &[one(&points)]);
        assert_eq!(
            contents(&path),
            expected(&policy, &all),
            "after part {part}"
        );
    }
    let reader = StoreReader::open(&path).unwrap();
    // 40 buckets of 10 ns lie in at most three blocks of 32, two buckets of 50 ns in two.
    assert!(
        reader.blocks().unwrap() <= 5,
        "{}",
        reader.blocks().unwrap()
    );
    let query = Query {
        series: "a".to_owned(),
        granularity: "50ns".parse().unwrap(),
        aggregate: "sum".parse().unwrap(),
        start: None,
        end: None,
    };
    assert_eq!(reader.query(&query).unwrap().starts, [2900, 2950]);
    let part = |start, end| {
        let query = Query {
            granularity: "10ns".parse().unwrap(),
            start,
            end,
            ..query.clone()
        };
        reader.query(&query).unwrap().starts
    };
    assert_eq!(part(Some(2961), None), [2970, 2980, 2990]);
    assert_eq!(part(Some(2960), Some(2980)), [2960, 2970]);
    assert_eq!(part(Some(2960), Some(2981)), [2960, 2970, 2980]);
    assert_eq!(part(None, Some(2610)), [2600]);
    assert!(part(Some(5), Some(5)).is_empty() && part(None, Some(-5)).is_empty());
    assert_eq!(part(Some(i64::MIN), Some(i64::MAX)).len(), 40);
}

/// Counts the points that it aggregates.
struct Counting(PlainEngine, usize);

impl Engine for Counting {
    fn setup(&self) -> &Setup {
        self.0.setup()
    }

    fn plan(&self) -> &Resample {
        self.0.plan()
    }

    fn resample(&mut self, batch: &Batch) -> Result<Resampled, SeriesError> {
        self.1 += batch.len();
        self.0.resample(batch)
    }
}

#[test]
fn only_affected_buckets_are_computed_for_all_series_at_once() {
    let folder = Folder::new();
    let policy = policy(9, &["mean"], &[("100ns", 1000)]);
    let mut writer = StoreWriter::open(&folder.path("s"), Some(&policy)).unwrap();
    let mut engine = Counting(PlainEngine::new(writer.plan()), 0);
    let dense: Vec<(i64, f64)> = (0..1000).map(|i| (i, i as f64)).collect();
    let all = Points::from([("a".to_owned(), dense.clone()), ("b".to_owned(), dense)]);
    let (names, batch) = batch_of(&all);
    let done = writer.ingest(&mut engine, &names, &batch).unwrap();
    assert_eq!((done.buckets, done.new_series, engine.1), (20, 2, 2000));
    // A new point in the seventh bucket of one series, a new value of one point of the other.
    let few = Points::from([
        ("a".to_owned(), vec![(650, 1.0)]),
        ("b".to_owned(), vec![(3, 3.0), (999, 0.0)]),
    ]);
    let (names, batch) = batch_of(&few);
    engine.1 = 0;
    let done = writer.ingest(&mut engine, &names, &batch).unwrap();
    assert_eq!((done.buckets, done.replaced), (2, 3));
    assert_eq!(engine.1, 200);
}
