//! Processes a batch: reads the stored points of its series, merges them, and recomputes the
//! affected buckets.

use super::ingested::Ingested;
use super::tables::{ChangedSeries, Tables, interval_of, old_blocks, write};
use crate::store::file::{A_NAME, Fault, META, NAMES, on_engine};
use crate::store::merge::{affected, merge};
use crate::store::read::Totals;
use crate::store::record::{Points, RecordKey, State, open_id, seal_id};
use crate::store::replace::replacements;
use crate::store::{Policy, StoreError};
use crate::{Batch, Engine};
use rayon::prelude::*;
use redb::{ReadableTable, WriteTransaction};
use warpstride_core::system::Bytes;
use warpstride_core::system::Memory;

/// Number of points processed at once, including stored ones; a single series may have more.
const POINTS_AT_A_TIME: usize = 4 << 20;

/// Bytes per point while it is merged and aggregated.
const BYTES_PER_POINT: usize = 120;

/// Lower bound on the bytes of a stored point in the file.
const LEAST_BYTES_STORED: usize = 9;

/// A series of a batch.
struct BatchSeries {
    id: u32,
    /// Index of the series in the batch.
    index: usize,
    state: Option<State>,
    /// Points of the batch within the back window.
    batch: Vec<(i64, f64)>,
    refused: u64,
    /// Intervals and records of the stored points, as far back as needed, in order.
    stored: Vec<(u64, Vec<u8>)>,
}

impl BatchSeries {
    /// Number of points.
    fn size(&self) -> usize {
        self.batch.len() + self.size_stored()
    }

    /// Estimated number of stored points.
    fn size_stored(&self) -> usize {
        let bytes: usize = self.stored.iter().map(|(_, record)| record.len()).sum();
        bytes / LEAST_BYTES_STORED
    }
}

/// A batch being ingested.
pub(super) struct BatchIngest<'a> {
    pub(super) file: &'a str,
    pub(super) policy: &'a Policy,
    pub(super) names: &'a [String],
    pub(super) batch: &'a Batch,
    pub(super) engine: &'a mut dyn Engine,
    pub(super) totals: Totals,
    pub(super) done: Ingested,
}

impl BatchIngest<'_> {
    pub(super) fn run(
        mut self,
        transaction: &WriteTransaction,
    ) -> Result<(Ingested, Totals), StoreError> {
        let file = self.file;
        let known = self.totals.series;
        let mut series = on_engine(file, || self.identify(transaction))?;
        // In the order of the tables.
        series.sort_unstable();
        let mut tables = Tables::open(file, transaction)?;
        let stored = self.store(&mut tables, series, known);
        let closed = tables.close(file);
        stored.and(closed)?;
        self.totals.batches += 1;
        on_engine(file, || {
            let mut meta = transaction.open_table(META)?;
            meta.insert("totals", self.totals.write().as_slice())?;
            Ok(())
        })?;
        Ok((self.done, self.totals))
    }

    /// Stores the points of `series` (ids and indices in the batch), of which the first `known` ids
    /// existed before.
    fn store(
        &mut self,
        tables: &mut Tables<'_>,
        series: Vec<(u32, usize)>,
        known: u64,
    ) -> Result<(), StoreError> {
        let file = self.file;
        let mut series = series.into_iter().peekable();
        while series.peek().is_some() {
            let mut some = Vec::new();
            let mut points = 0;
            while points < POINTS_AT_A_TIME {
                let Some((id, index)) = series.next() else {
                    break;
                };
                let entry =
                    on_engine(file, || self.read(tables, id, index, u64::from(id) < known))?;
                points += entry.size();
                some.push(entry);
            }
            self.fits(&some, points)?;
            self.advance(tables, some)?;
        }
        Ok(())
    }

    /// Ids and batch indices of the series that have points; new series get an id.
    fn identify(&mut self, transaction: &WriteTransaction) -> Result<Vec<(u32, usize)>, Fault> {
        let mut table = transaction.open_table(NAMES)?;
        let offsets = self.batch.offsets();
        let mut found = Vec::with_capacity(self.names.len());
        for (index, name) in self.names.iter().enumerate() {
            if offsets[index] == offsets[index + 1] {
                continue;
            }
            let known = table.get(name.as_str())?.map(|id| id.value());
            let id = match known {
                Some(id) => open_id(name, id).ok_or(Fault::Record(A_NAME))?,
                None => {
                    let id = u32::try_from(self.totals.series).map_err(|_| {
                        StoreError::Series("expected at most 2^32 series in a store".to_owned())
                    })?;
                    self.totals.series += 1;
                    self.done.new_series += 1;
                    table.insert(name.as_str(), seal_id(name, id))?;
                    id
                }
            };
            found.push((id, index));
        }
        Ok(found)
    }

    /// Reads the stored points of a series as far back as its new points reach. A series that is
    /// `known` must have a state.
    fn read(
        &self,
        tables: &Tables<'_>,
        id: u32,
        index: usize,
        known: bool,
    ) -> Result<BatchSeries, Fault> {
        let record = tables.series.get(id)?;
        let state = match record {
            None if known => return Err(Fault::Record("the state of a series")),
            None => None,
            Some(record) => Some(
                State::read(record.value(), id).ok_or(Fault::Record("the state of a series"))?,
            ),
        };
        let window = state.map_or(0, |state| self.policy.window_start(state.last));
        let range = self.batch.offsets()[index]..self.batch.offsets()[index + 1];
        let times = &self.batch.times()[range.clone()];
        let values = &self.batch.values()[range];
        let batch: Vec<(i64, f64)> = times
            .iter()
            .zip(values)
            .filter(|(time, _)| **time >= window)
            .map(|(time, value)| (*time, *value))
            .collect();
        let refused = (times.len() - batch.len()) as u64;
        let mut stored = Vec::new();
        if let (Some(_), Some(earliest)) = (state, batch.iter().map(|point| point.0).min()) {
            let interval = interval_of(self.policy, self.policy.reach(earliest));
            if self.policy.has_rates()
                && let Some(before) = tables.raw.range((id, 0)..(id, interval))?.next_back()
            {
                let (key, record) = before?;
                stored.push((key.value().1, record.value().to_vec()));
            }
            for record in tables.raw.range((id, interval)..=(id, u64::MAX))? {
                let (key, record) = record?;
                stored.push((key.value().1, record.value().to_vec()));
            }
        }
        Ok(BatchSeries {
            id,
            index,
            state,
            batch,
            refused,
            stored,
        })
    }

    /// Checks that the points of some series fit in memory.
    fn fits(&self, some: &[BatchSeries], points: usize) -> Result<(), StoreError> {
        let available = Memory::available().limit();
        let needed = points as u128 * BYTES_PER_POINT as u128;
        if needed <= u128::from(available) {
            return Ok(());
        }
        let largest = some.iter().max_by_key(|entry| entry.size());
        Err(StoreError::TooLarge {
            series: largest.map_or_else(String::new, |entry| self.names[entry.index].clone()),
            new: largest.map_or(0, |entry| entry.batch.len()),
            stored: largest.map_or(0, BatchSeries::size_stored),
            remedy: match largest {
                Some(largest) if largest.batch.len() < largest.size_stored() => {
                    "a policy with a smaller back_window"
                }
                _ => "a smaller --batch",
            },
            needed: Bytes(needed),
            available: Bytes(u128::from(available)),
        })
    }

    /// Merges some series, computes the affected buckets, and writes the results.
    fn advance(
        &mut self,
        tables: &mut Tables<'_>,
        some: Vec<BatchSeries>,
    ) -> Result<(), StoreError> {
        let (file, policy) = (self.file, self.policy);
        let changed: Option<Vec<ChangedSeries>> = some
            .into_par_iter()
            .map(|entry| change(policy, entry))
            .collect();
        let changed = on_engine(file, || changed.ok_or(Fault::Record("points of a series")))?;
        for series in &changed {
            self.count(series);
        }
        let mut times = Vec::new();
        let mut values = Vec::new();
        let mut offsets = vec![0];
        for series in &changed {
            times.extend_from_slice(&series.affected.points.times);
            values.extend_from_slice(&series.affected.points.values);
            offsets.push(times.len());
        }
        let mut replaced = Vec::new();
        if !times.is_empty() {
            let resampled = self.engine.resample(&Batch::new(times, values, offsets)?)?;
            let affected_blocks: Vec<(u32, &[Vec<u64>])> = changed
                .iter()
                .map(|series| (series.id, series.affected.buckets.as_slice()))
                .collect();
            let is_new: Vec<bool> = changed
                .iter()
                .map(|series| series.before.is_none())
                .collect();
            let old = on_engine(file, || old_blocks(tables, &affected_blocks, &is_new))?;
            replaced = on_engine(file, || {
                replacements(policy, &resampled, &affected_blocks, &old)
                    .ok_or(Fault::Record("a block of buckets"))
            })?;
        }
        on_engine(file, || write(policy, tables, &changed, &replaced))
    }

    fn count(&mut self, series: &ChangedSeries) {
        let merged = &series.merged;
        let refused = series.after.refused - series.before.map_or(0, |state| state.refused);
        let buckets: usize = series.affected.buckets.iter().map(Vec::len).sum();
        self.done += Ingested {
            points: 0,
            added: merged.added,
            replaced: merged.replaced,
            changed: merged.changed,
            duplicates: merged.duplicates,
            conflicts: merged.conflicts,
            refused,
            future: 0,
            new_series: 0,
            buckets: buckets as u64,
        };
        self.totals.points += merged.added;
        self.totals.replaced += merged.replaced;
        self.totals.refused += refused;
        self.totals.last = self.totals.last.max(series.after.last);
    }
}

/// Merges the points and finds the affected buckets; `None` if a record cannot be read.
fn change(policy: &Policy, entry: BatchSeries) -> Option<ChangedSeries> {
    let mut stored = Points::default();
    for (interval, record) in &entry.stored {
        stored.read_into(record, RecordKey::of_points(entry.id, *interval))?;
    }
    let merged = merge(stored, entry.batch);
    let before = entry.state.unwrap_or_default();
    let newest = merged.points.times.last().copied().unwrap_or(0);
    let after = State {
        last: before.last.max(newest),
        points: before.points + merged.added,
        replaced: before.replaced + merged.replaced,
        refused: before.refused + entry.refused,
    };
    let affected = affected(policy, &merged, after.last);
    Some(ChangedSeries {
        id: entry.id,
        before: entry.state,
        after,
        merged,
        affected,
    })
}
