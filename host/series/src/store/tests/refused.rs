//! Rejected inputs of a store, and concurrent access.

use super::plain_engine::PlainEngine;
use super::{Folder, Points, batch_of, contents, ingest, policy};
use crate::store::{Policy, Query, StoreError, StoreReader, StoreWriter};
use crate::{Batch, NanPolicy, Resample};

fn small() -> Points {
    Points::from([
        ("a".to_owned(), vec![(5, 1.0)]),
        ("b".to_owned(), vec![(7, 2.0)]),
    ])
}

fn error_of<T>(done: Result<T, StoreError>) -> String {
    match done {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_store_keeps_its_policy() {
    let folder = Folder::new();
    let path = folder.path("store");
    assert!(error_of(StoreWriter::open(&path, None)).contains("--policy low, medium, high"));
    let low = Policy::built_in("low").unwrap();
    drop(StoreWriter::open(&path, Some(&low)).unwrap());
    drop(StoreWriter::open(&path, None).unwrap());
    let same = Policy::from_toml("f", "other name", &low.to_toml()).unwrap();
    assert_eq!(
        StoreWriter::open(&path, Some(&same))
            .unwrap()
            .policy()
            .name(),
        "low"
    );
    let high = Policy::built_in("high").unwrap();
    let text = error_of(StoreWriter::open(&path, Some(&high)));
    for part in [
        "low (5m for 30d;",
        "high (1s for 1h, 1m for 7d, 1h for 365d;",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn one_writer_and_many_readers() {
    let folder = Folder::new();
    let path = folder.path("store");
    let policy = policy(1, &["sum"], &[("10ns", 5)]);
    let mut writer = StoreWriter::open(&path, Some(&policy)).unwrap();
    let busy = error_of(StoreWriter::open(&path, Some(&policy)));
    assert!(busy.contains("another process is writing"), "{busy}");
    let (names, batch) = batch_of(&small());
    let mut engine = PlainEngine::new(writer.plan());
    writer.ingest(&mut engine, &names, &batch).unwrap();
    // While the writer is open.
    let during = contents(&path);
    assert_eq!(during.len(), 2);
    let early = StoreReader::open(&path).unwrap();
    let more = Points::from([("c".to_owned(), vec![(9, 3.0)])]);
    let (names, batch) = batch_of(&more);
    writer.ingest(&mut engine, &names, &batch).unwrap();
    // It shows the contents at the time it was opened.
    assert_eq!(early.series(0, 9).unwrap().len(), 2);
    assert_eq!(
        StoreReader::open(&path)
            .unwrap()
            .series(0, 9)
            .unwrap()
            .len(),
        3
    );
    writer.close().unwrap();
    assert_eq!(early.series(1, 1).unwrap()[0].series, "b");
    let text = error_of(StoreReader::open(&folder.path("none")));
    assert!(text.contains("there is no such file"), "{text}");
    for text in [
        error_of(StoreReader::open(folder.0.path())),
        error_of(StoreWriter::open(folder.0.path(), Some(&policy))),
    ] {
        assert!(text.contains("it is a folder"), "{text}");
    }
}

#[test]
fn invalid_batches_are_rejected_without_changes() {
    let folder = Folder::new();
    let path = folder.path("store");
    let policy = policy(1, &["sum"], &[("10ns", 5)]);
    ingest(&path, &policy, &[small()]);
    let before = contents(&path);
    let mut writer = StoreWriter::open(&path, None).unwrap();
    let mut engine = PlainEngine::new(writer.plan());
    let batch = Batch::new(vec![50, 60], vec![1.0, 1.0], vec![0, 1, 2]).unwrap();
    let long = "x".repeat(5000);
    for (names, part) in [
        (vec!["a", "a"], "series 'a' occurs twice"),
        (vec!["a"], "1 names, but 2 series"),
        (vec!["a", ""], "0 bytes"),
        (vec!["a", long.as_str()], "5000 bytes"),
    ] {
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let text = error_of(writer.ingest(&mut engine, &names, &batch));
        assert!(text.contains(part), "{text}");
    }
    let other = Resample::new(
        vec!["1s".parse().unwrap()],
        vec!["sum".parse().unwrap()],
        NanPolicy::Keep,
    );
    let names = ["a".to_owned(), "b".to_owned()];
    let text = error_of(writer.ingest(&mut PlainEngine::new(&other.unwrap()), &names, &batch));
    assert!(text.contains("plan"), "{text}");
    writer.close().unwrap();
    assert_eq!(contents(&path), before);
}

#[test]
fn errors_name_missing_and_existing_items() {
    let folder = Folder::new();
    let path = folder.path("store");
    let policy = policy(1, &["sum", "95pct"], &[("10ns", 5), ("1us", 9)]);
    let cpu = Points::from([
        ("host.cpu".to_owned(), vec![(5, 1.0)]),
        ("host.memory".to_owned(), vec![(5, 1.0)]),
    ]);
    ingest(&path, &policy, &[cpu]);
    let reader = StoreReader::open(&path).unwrap();
    let ask = |series: &str, granularity: &str, aggregate: &str| {
        error_of(reader.query(&Query {
            series: series.to_owned(),
            granularity: granularity.parse().unwrap(),
            aggregate: aggregate.parse().unwrap(),
            start: None,
            end: None,
        }))
    };
    let text = ask("host.cpv", "10ns", "sum");
    assert!(
        text.contains(
            "series: expected one of 2 series, the nearest of which is 'host.cpu', found 'host.cpv'"
        ),
        "{text}"
    );
    let text = ask("host.cpu", "1m", "sum");
    assert!(text.contains("granularity: expected 10ns, 1us"), "{text}");
    let text = ask("host.cpu", "1us", "rate:sum");
    assert!(text.contains("aggregate: expected sum, 95pct"), "{text}");
    let empty = folder.path("empty");
    drop(StoreWriter::open(&empty, Some(&policy)).unwrap());
    let reader = StoreReader::open(&empty).unwrap();
    let text = error_of(reader.query(&Query {
        series: "x".to_owned(),
        granularity: "10ns".parse().unwrap(),
        aggregate: "sum".parse().unwrap(),
        start: None,
        end: None,
    }));
    assert!(text.contains("the store has none yet"), "{text}");
}
