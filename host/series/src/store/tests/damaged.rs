//! Other files, truncated files and files with changed bytes: an error with one sentence, never a
//! panic.

use super::plain_engine::PlainEngine;
use super::{Folder, Points, batch_of, ingest, policy};
use crate::store::file::{BLOCKS, META, NAMES, RAW, SERIES};
use crate::store::{Query, StoreError, StoreReader, StoreWriter};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use redb::{Database, ReadableTable, WriteTransaction};
use std::path::Path;

fn points(from: i64) -> Points {
    let of = |series: i64| (0..40).map(|i| (from + i * 7 + series, i as f64)).collect();
    (0..40)
        .map(|series| (format!("series {series}"), of(series)))
        .collect()
}

/// Reads everything, then adds a batch; stops at the first error.
fn use_it(path: &Path) -> Result<(), StoreError> {
    ask(path)?;
    add(path)
}

fn ask(path: &Path) -> Result<(), StoreError> {
    let reader = StoreReader::open(path)?;
    for facts in reader.series(0, usize::MAX)? {
        for archive in reader.policy().archives() {
            reader.query(&Query {
                series: facts.series.clone(),
                granularity: archive.granularity(),
                aggregate: reader.policy().aggregates()[1],
                start: None,
                end: None,
            })?;
        }
    }
    Ok(())
}

fn add(path: &Path) -> Result<(), StoreError> {
    let mut writer = StoreWriter::open(path, None)?;
    let mut engine = PlainEngine::new(writer.plan());
    let (names, batch) = batch_of(&points(400));
    writer.ingest(&mut engine, &names, &batch)?;
    writer.close()
}

#[test]
fn other_files_are_rejected() {
    let folder = Folder::new();
    let path = folder.path("file");
    for bytes in [
        &b""[..],
        b"x",
        b"series,timestamp,value\na,1,2\n",
        &[0; 8192],
    ] {
        std::fs::write(&path, bytes).unwrap();
        for error in [
            StoreReader::open(&path).err().unwrap(),
            StoreWriter::open(&path, None).err().unwrap(),
        ] {
            assert!(
                error.to_string().contains("expected a store of series"),
                "{error}"
            );
        }
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "the file was changed");
    }
    // A database of the same kind, written by another program.
    std::fs::remove_file(&path).unwrap();
    redb::Database::create(&path).unwrap();
    let error = StoreReader::open(&path).err().unwrap().to_string();
    assert!(error.contains("expected a store of series"), "{error}");
}

#[test]
fn damage_is_reported_as_an_error() {
    let folder = Folder::new();
    let (whole, path) = (folder.path("whole"), folder.path("damaged"));
    let policy = policy(
        2,
        &["sum", "rate:max", "std"],
        &[("10ns", 100), ("50ns", 100)],
    );
    ingest(&whole, &policy, &[points(0), points(200)]);
    let bytes = std::fs::read(&whole).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    use_it(&path).unwrap();
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut below = |n: usize| (random.next_u64() % n as u64) as usize;
    let used: Vec<usize> = (0..bytes.len() / 512)
        .filter(|sector| bytes[sector * 512..][..512].iter().any(|byte| *byte != 0))
        .collect();
    let mut noticed = 0;
    for round in 0..150 {
        let mut changed = bytes.clone();
        match round % 3 {
            0 => changed.truncate(below(bytes.len())),
            1 => {
                let at = used[below(used.len())] * 512 + below(512);
                changed[at] ^= 1 << below(8);
            }
            _ => {
                let at = used[below(used.len())] * 512;
                for byte in &mut changed[at..at + 512] {
                    *byte = below(256) as u8;
                }
            }
        }
        std::fs::write(&path, &changed).unwrap();
        if let Err(error) = use_it(&path) {
            noticed += 1;
            let text = error.to_string();
            assert!(!text.contains('\n') && text.contains("damaged"), "{text}");
        }
    }
    assert!(noticed > 60, "{noticed} of 150 were detected");
}

/// Valid records under wrong keys, as a changed bit in a key leaves them; the database does not
/// detect these.
#[test]
fn records_under_wrong_keys_are_detected() {
    type Change = fn(&WriteTransaction);
    // Whether a reader finds the damage; a writer finds all of it.
    let changes: [(&str, bool, Change); 7] = [
        ("a block of buckets", true, |of| {
            let mut blocks = of.open_table(BLOCKS).unwrap();
            let record = blocks.remove((0, 0, 0)).unwrap().unwrap().value().to_vec();
            blocks.insert((0, 0, 1), &record[..]).unwrap();
        }),
        ("a block of buckets", true, |of| {
            let mut blocks = of.open_table(BLOCKS).unwrap();
            let record = blocks.get((0, 1, 0)).unwrap().unwrap().value().to_vec();
            blocks.insert((1, 1, 0), &record[..]).unwrap();
        }),
        ("the state of a series", true, |of| {
            let mut states = of.open_table(SERIES).unwrap();
            let record = states.get(3).unwrap().unwrap().value().to_vec();
            states.insert(4, &record[..]).unwrap();
        }),
        ("the state of a series", true, |of| {
            let mut states = of.open_table(SERIES).unwrap();
            states.remove(3).unwrap().unwrap();
        }),
        ("the number of a series", true, |of| {
            let mut names = of.open_table(NAMES).unwrap();
            let other = names.get("series 7").unwrap().unwrap().value();
            names.insert("series 8", other).unwrap();
        }),
        ("the policy", true, |of| {
            let mut meta = of.open_table(META).unwrap();
            let text = meta.get("policy").unwrap().unwrap().value().to_vec();
            let text = String::from_utf8(text).unwrap().replace("10ns", "20ns");
            meta.insert("policy", text.as_bytes()).unwrap();
        }),
        ("points", false, |of| {
            let mut raw = of.open_table(RAW).unwrap();
            let (key, record) = {
                let (key, record) = raw.pop_last().unwrap().unwrap();
                (key.value(), record.value().to_vec())
            };
            raw.insert((key.0, key.1 + 1), &record[..]).unwrap();
        }),
    ];
    let folder = Folder::new();
    let policy = policy(
        2,
        &["sum", "count", "rate:max"],
        &[("10ns", 100), ("50ns", 100)],
    );
    for (number, (what, read, change)) in changes.into_iter().enumerate() {
        let path = folder.path(&number.to_string());
        ingest(&path, &policy, &[points(0)]);
        let database = Database::open(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        change(&transaction);
        transaction.commit().unwrap();
        drop(database);
        let damage = |of: Result<(), StoreError>| {
            let error = of.expect_err(what).to_string();
            assert!(error.contains("damaged") && error.contains(what), "{error}");
        };
        damage(add(&path));
        match read {
            true => damage(ask(&path)),
            false => ask(&path).unwrap(),
        }
    }
}
