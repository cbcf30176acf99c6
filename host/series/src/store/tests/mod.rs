//! Compares stores with the definition: aggregates of all points at once, computed with plain
//! loops.

mod damaged;
mod plain_engine;
mod refused;
mod splits;
mod windows;

use super::super::{Batch, Engine, Resampled};
use super::{ArchivedBuckets, Policy, Query, StoreReader, StoreWriter};
use plain_engine::PlainEngine;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Points by series.
type Points = BTreeMap<String, Vec<(i64, f64)>>;

/// A temporary folder for stores.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn policy(back_window: u64, aggregates: &[&str], archives: &[(&str, u64)]) -> Policy {
    let archives: String = archives
        .iter()
        .map(|(granularity, points)| {
            format!("[[archive]]\ngranularity = '{granularity}'\npoints = {points}\n")
        })
        .collect();
    let text = format!("back_window = {back_window}\naggregates = {aggregates:?}\n{archives}");
    Policy::from_toml("test", "test", &text).unwrap()
}

fn batch_of(points: &Points) -> (Vec<String>, Batch) {
    let mut offsets = vec![0];
    let all: Vec<(i64, f64)> = points.values().flatten().copied().collect();
    for points in points.values() {
        offsets.push(offsets[offsets.len() - 1] + points.len());
    }
    let (times, values) = all.into_iter().unzip();
    let batch = Batch::new(times, values, offsets).unwrap();
    (points.keys().cloned().collect(), batch)
}

/// Creates or opens a store and ingests these batches.
fn ingest(path: &Path, policy: &Policy, batches: &[Points]) -> Vec<super::Ingested> {
    let mut writer = StoreWriter::open(path, Some(policy)).unwrap();
    let mut engine = PlainEngine::new(writer.plan());
    let done = batches
        .iter()
        .map(|points| {
            let (names, batch) = batch_of(points);
            writer.ingest(&mut engine, &names, &batch).unwrap()
        })
        .collect();
    writer.close().unwrap();
    done
}

/// The contents of a store: (series, granularity, aggregate) to starts and bits.
type Contents = BTreeMap<(String, String, String), Vec<(i64, u64)>>;

fn bits(values: impl IntoIterator<Item = (i64, f64)>) -> Vec<(i64, u64)> {
    values
        .into_iter()
        .map(|(start, value)| (start, value.to_bits()))
        .collect()
}

fn contents(path: &Path) -> Contents {
    let reader = StoreReader::open(path).unwrap();
    let mut contents = Contents::new();
    for facts in reader.series(0, usize::MAX).unwrap() {
        for archive in reader.policy().archives() {
            for aggregate in reader.policy().aggregates() {
                let query = Query {
                    series: facts.series.clone(),
                    granularity: archive.granularity(),
                    aggregate: *aggregate,
                    start: None,
                    end: None,
                };
                let ArchivedBuckets { starts, values } = reader.query(&query).unwrap();
                let key = (
                    facts.series.clone(),
                    archive.granularity().to_string(),
                    aggregate.to_string(),
                );
                contents.insert(key, bits(starts.into_iter().zip(values)));
            }
        }
    }
    contents
}

/// The expected contents after ingesting these points at once: all aggregates, without buckets
/// older than the archive's timespan.
fn expected(policy: &Policy, points: &Points) -> Contents {
    let (names, batch) = batch_of(points);
    let resampled: Resampled = PlainEngine::new(&policy.plan().unwrap())
        .resample(&batch)
        .unwrap();
    let mut contents = Contents::new();
    for (series, name) in names.iter().enumerate() {
        let Some(last) = points[name].iter().map(|point| point.0).max() else {
            continue;
        };
        for buckets in &resampled.buckets {
            let archives = policy.archives().iter();
            let archive = archives
                .clone()
                .find(|archive| archive.granularity() == buckets.granularity)
                .unwrap();
            let step = archive.step as i64;
            let kept_after = last / step * step - archive.timespan() as i64;
            for column in &buckets.columns {
                let kept = buckets
                    .of(column, series)
                    .filter(|(start, _)| *start > kept_after);
                let key = (
                    name.clone(),
                    buckets.granularity.to_string(),
                    column.aggregate.to_string(),
                );
                contents.insert(key, bits(kept));
            }
        }
    }
    contents
}
