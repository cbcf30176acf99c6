//! Reads stores.

use super::super::{Aggregate, Granularity};
use super::file::{self, BLOCKS, Fault, META, NAMES, SERIES, on_engine};
use super::record::{
    BUCKETS, RecordKey, State, open_id, read_numbers, read_one_column, write_numbers,
};
use super::{Policy, StoreError};
use redb::{
    ReadOnlyDatabase, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata,
};
use serde::Serialize;
use std::path::Path;

/// Number of series searched for the most similar name.
const MOST_COMPARED: usize = 200_000;

/// Counts of a whole store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// Number of series.
    pub series: u64,
    /// Points accepted; points of the same series and time count once.
    pub points: u64,
    /// Points whose value replaced one of the same time.
    pub replaced: u64,
    /// Points older than their back window.
    pub refused: u64,
    /// Number of batches.
    pub batches: u64,
    /// Time of the last point of all series, nanoseconds since 1970.
    pub last: i64,
}

impl Totals {
    pub(super) fn write(&self) -> Vec<u8> {
        let numbers = [
            self.series,
            self.points,
            self.replaced,
            self.refused,
            self.batches,
            self.last as u64,
        ];
        write_numbers(&numbers, RecordKey::TOTALS)
    }

    pub(super) fn of(
        meta: &impl ReadableTable<&'static str, &'static [u8]>,
    ) -> Result<Self, Fault> {
        let record = meta.get("totals")?;
        let numbers =
            record.and_then(|record| read_numbers::<6>(record.value(), RecordKey::TOTALS));
        let [series, points, replaced, refused, batches, last] =
            numbers.ok_or(Fault::Record("the totals"))?;
        Ok(Self {
            series,
            points,
            replaced,
            refused,
            batches,
            last: i64::try_from(last).map_err(|_| Fault::Record("the totals"))?,
        })
    }
}

/// Counts of a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeriesInfo {
    /// Its name.
    pub series: String,
    /// Points accepted; points of the same time count once.
    pub points: u64,
    /// Points whose value replaced one of the same time.
    pub replaced: u64,
    /// Points older than the back window.
    pub refused: u64,
    /// Time of the last point, nanoseconds since 1970.
    pub last: i64,
}

/// A query for the buckets of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Name of the series.
    pub series: String,
    /// Granularity of an archive of the policy.
    pub granularity: Granularity,
    /// Aggregate of the policy.
    pub aggregate: Aggregate,
    /// Include buckets that begin at this time or later, nanoseconds since 1970.
    pub start: Option<i64>,
    /// Include buckets that begin before this time.
    pub end: Option<i64>,
}

/// Buckets of a series in time order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArchivedBuckets {
    /// Bucket starts, nanoseconds since 1970.
    pub starts: Vec<i64>,
    /// Values of the aggregate.
    pub values: Vec<f64>,
}

/// A store opened for reading; another process may write to it.
///
/// It shows the contents at the time it was opened.
pub struct StoreReader {
    file: String,
    policy: Policy,
    totals: Totals,
    // Dropped before the file.
    transaction: Option<ReadTransaction>,
    database: Option<ReadOnlyDatabase>,
}

impl StoreReader {
    /// Opens a store.
    ///
    /// If the file does not exist, is not a store or is damaged; errors of the file system.
    /// No such file, one that is no store or is damaged, the system's refusals.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = path.display().to_string();
        if !file::exists(path)? {
            return Err(StoreError::File {
                file,
                what: "cannot be opened",
                reason: "there is no such file".to_owned(),
            });
        }
        let database = file::open_reader(path)?;
        let (transaction, policy, totals) = on_engine(&file, || {
            let transaction = database.begin_read()?;
            let meta = transaction.open_table(META)?;
            let policy = file::policy_of(&file, &meta)?;
            let totals = Totals::of(&meta)?;
            Ok((transaction, policy, totals))
        })?;
        Ok(Self {
            file,
            policy,
            totals,
            transaction: Some(transaction),
            database: Some(database),
        })
    }

    /// The policy of the store.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Counts of all batches.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    fn transaction(&self) -> Result<&ReadTransaction, Fault> {
        let closed = || Fault::Engine(redb::Error::DatabaseClosed);
        self.transaction.as_ref().ok_or_else(closed)
    }

    /// Number of blocks of buckets in the file.
    ///
    /// # Errors
    /// If the file is damaged; errors of the file system.
    pub fn blocks(&self) -> Result<u64, StoreError> {
        on_engine(&self.file, || {
            Ok(self.transaction()?.open_table(BLOCKS)?.len()?)
        })
    }

    /// At most `most` series from the `from`-th on, in the order of their names.
    ///
    /// # Errors
    /// If the file is damaged; errors of the file system.
    pub fn series(&self, from: usize, most: usize) -> Result<Vec<SeriesInfo>, StoreError> {
        on_engine(&self.file, || {
            let names = self.transaction()?.open_table(NAMES)?;
            let states = self.transaction()?.open_table(SERIES)?;
            let mut facts = Vec::new();
            for entry in names.iter()?.skip(from).take(most) {
                let (name, id) = entry?;
                let id = open_id(name.value(), id.value()).ok_or(Fault::Record(file::A_NAME))?;
                let state = state_of(&states, id)?;
                facts.push(SeriesInfo {
                    series: name.value().to_owned(),
                    points: state.points,
                    replaced: state.replaced,
                    refused: state.refused,
                    last: state.last,
                });
            }
            Ok(facts)
        })
    }

    /// The buckets of a series.
    ///
    /// # Errors
    /// If the store has no such series, granularity or aggregate, or is damaged; errors of the file
    /// system.
    pub fn query(&self, query: &Query) -> Result<ArchivedBuckets, StoreError> {
        let unknown =
            |what: &'static str, requested: String, available: String| StoreError::Unknown {
                file: self.file.clone(),
                what,
                requested,
                available,
            };
        let archives = self.policy.archives();
        let archive = archives
            .iter()
            .position(|archive| archive.granularity() == query.granularity);
        let Some(number) = archive else {
            let available = listed(archives.iter().map(|archive| archive.granularity()));
            return Err(unknown(
                "granularity",
                query.granularity.to_string(),
                available,
            ));
        };
        let aggregates = self.policy.aggregates();
        let Some(column) = aggregates.iter().position(|kept| *kept == query.aggregate) else {
            let available = listed(aggregates);
            return Err(unknown("aggregate", query.aggregate.to_string(), available));
        };
        let found = on_engine(&self.file, || self.find(query, number, column))?;
        found.ok_or_else(|| {
            let available = self.nearest(&query.series);
            unknown("series", query.series.clone(), available)
        })
    }

    /// `None` if there is no such series.
    fn find(
        &self,
        query: &Query,
        number: usize,
        column: usize,
    ) -> Result<Option<ArchivedBuckets>, Fault> {
        let transaction = self.transaction()?;
        let Some(id) = transaction.open_table(NAMES)?.get(query.series.as_str())? else {
            return Ok(None);
        };
        let id = open_id(&query.series, id.value()).ok_or(Fault::Record(file::A_NAME))?;
        let state = state_of(&transaction.open_table(SERIES)?, id)?;
        let archive = self.policy.archives()[number];
        // Index of the first bucket to return, and of the first one after the last.
        let at_or_after = |time: i64| (time.max(0) as u64).div_ceil(archive.step);
        let first = archive
            .first_kept(state.last)
            .max(query.start.map_or(0, at_or_after));
        let end = query.end.map_or(u64::MAX, at_or_after);
        let mut found = ArchivedBuckets::default();
        if first >= end {
            return Ok(Some(found));
        }
        let key = |block: u64| (id, number as u8, block);
        let blocks = transaction.open_table(BLOCKS)?;
        for entry in blocks.range(key(first / BUCKETS)..=key((end - 1) / BUCKETS))? {
            let (key, record) = entry?;
            let block = key.value().2;
            let key = RecordKey::of_block(id, number as u8, block);
            let column = read_one_column(record.value(), column, key);
            let column = column.ok_or(Fault::Record("a block of buckets"))?;
            for (bucket, value) in column.values.iter().enumerate() {
                let there = column.present >> bucket & 1 == 1;
                // This program never writes times beyond 2⁶³ ns.
                let bucket = block
                    .checked_mul(BUCKETS)
                    .map(|first| first + bucket as u64);
                let bucket = bucket.ok_or(Fault::Record("a block of buckets"))?;
                if there && (first..end).contains(&bucket) {
                    let start = bucket.checked_mul(archive.step);
                    let start = start.and_then(|start| i64::try_from(start).ok());
                    found
                        .starts
                        .push(start.ok_or(Fault::Record("a block of buckets"))?);
                    found.values.push(*value);
                }
            }
        }
        Ok(Some(found))
    }

    /// Suggests existing series instead of a missing one.
    fn nearest(&self, requested: &str) -> String {
        if self.totals.series == 0 {
            return "expected a series, of which the store has none yet".to_owned();
        }
        let nearest = on_engine(&self.file, || {
            let names = self.transaction()?.open_table(NAMES)?;
            let mut nearest: Option<(usize, String)> = None;
            for entry in names.iter()?.take(MOST_COMPARED) {
                let name = entry?.0;
                let distance = strsim::damerau_levenshtein(requested, name.value());
                if nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
                    nearest = Some((distance, name.value().to_owned()));
                }
            }
            Ok(nearest)
        });
        match nearest {
            Ok(Some((_, name))) => {
                format!(
                    "expected one of {} series, the nearest of which is '{name}'",
                    self.totals.series
                )
            }
            _ => format!("expected one of {} series", self.totals.series),
        }
    }
}

impl Drop for StoreReader {
    fn drop(&mut self) {
        let (transaction, database) = (self.transaction.take(), self.database.take());
        let _ = on_engine(&self.file, || {
            drop(transaction);
            drop(database);
            Ok(())
        });
    }
}

fn state_of(states: &impl ReadableTable<u32, &'static [u8]>, id: u32) -> Result<State, Fault> {
    let record = states.get(id)?;
    let state = record.and_then(|record| State::read(record.value(), id));
    state.ok_or(Fault::Record("the state of a series"))
}

/// Formats as `expected 1m, 1h`.
fn listed(all: impl IntoIterator<Item = impl ToString>) -> String {
    let all: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    format!("expected {}", all.join(", "))
}
