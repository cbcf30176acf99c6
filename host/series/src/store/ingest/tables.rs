//! Reads and writes the tables that a batch changes.

use crate::store::file::{BLOCKS, Fault, RAW, SERIES, on_engine};
use crate::store::merge::{AffectedBuckets, Merged};
use crate::store::record::{BUCKETS, Points, RecordKey, State};
use crate::store::replace::Replacement;
use crate::store::{Policy, StoreError};
use redb::{Key, ReadableTable, Table, TableDefinition, Value, WriteTransaction};
use std::mem::ManuallyDrop;

/// A series after merging.
pub(super) struct ChangedSeries {
    pub(super) id: u32,
    pub(super) before: Option<State>,
    pub(super) after: State,
    pub(super) merged: Merged,
    pub(super) affected: AffectedBuckets,
}

/// The tables that a batch changes.
///
/// The destructor of a table panics after a panic in the database. While that panic unwinds, a
/// second one would end the process, so that each table is opened and closed by itself, and never
/// dropped.
pub(super) struct Tables<'t> {
    pub(super) series: OpenTable<'t, u32, &'static [u8]>,
    pub(super) raw: OpenTable<'t, (u32, u64), &'static [u8]>,
    pub(super) blocks: OpenTable<'t, (u32, u8, u64), &'static [u8]>,
}

/// A table that is closed by [`close`] alone.
type OpenTable<'t, K, V> = ManuallyDrop<Table<'t, K, V>>;

impl<'t> Tables<'t> {
    /// Opens the tables.
    pub(super) fn open(file: &str, transaction: &'t WriteTransaction) -> Result<Self, StoreError> {
        Ok(Self {
            series: open(file, transaction, SERIES)?,
            raw: open(file, transaction, RAW)?,
            blocks: open(file, transaction, BLOCKS)?,
        })
    }

    /// Closes the tables, even if one of them fails. Returns the first error.
    pub(super) fn close(self, file: &str) -> Result<(), StoreError> {
        let closed = [
            close(file, self.series),
            close(file, self.raw),
            close(file, self.blocks),
        ];
        closed.into_iter().collect()
    }
}

fn open<'t, K: Key + 'static, V: Value + 'static>(
    file: &str,
    transaction: &'t WriteTransaction,
    table: TableDefinition<'_, K, V>,
) -> Result<OpenTable<'t, K, V>, StoreError> {
    on_engine(file, || {
        Ok(ManuallyDrop::new(transaction.open_table(table)?))
    })
}

fn close<K: Key + 'static, V: Value + 'static>(
    file: &str,
    table: OpenTable<'_, K, V>,
) -> Result<(), StoreError> {
    on_engine(file, || {
        drop(ManuallyDrop::into_inner(table));
        Ok(())
    })
}

/// Length of the interval of a points record in nanoseconds: several fine buckets, at most a coarse
/// one.
fn interval_length(policy: &Policy) -> u64 {
    const FINE_BUCKETS: u64 = 64;
    let archives = policy.archives();
    let (finest, coarsest) = (archives[0].step, archives[archives.len() - 1].step);
    finest.saturating_mul(FINE_BUCKETS).min(coarsest)
}

pub(super) fn interval_of(policy: &Policy, time: i64) -> u64 {
    time as u64 / interval_length(policy)
}

/// The stored records of the affected blocks in `affected_blocks`, in the same order; `None` for
/// new series.
pub(super) fn old_blocks(
    tables: &Tables<'_>,
    affected_blocks: &[(u32, &[Vec<u64>])],
    is_new: &[bool],
) -> Result<Vec<Option<Vec<u8>>>, Fault> {
    let mut old = Vec::new();
    for ((id, archives), is_new) in affected_blocks.iter().zip(is_new) {
        for (archive, buckets) in archives.iter().enumerate() {
            for some in buckets.chunk_by(|a, b| a / BUCKETS == b / BUCKETS) {
                let record = if *is_new {
                    None
                } else {
                    tables.blocks.get((*id, archive as u8, some[0] / BUCKETS))?
                };
                old.push(record.map(|record| record.value().to_vec()));
            }
        }
    }
    Ok(old)
}

/// Writes all changes, and removes expired data.
pub(super) fn write(
    policy: &Policy,
    tables: &mut Tables<'_>,
    changed: &[ChangedSeries],
    replaced: &[Replacement],
) -> Result<(), Fault> {
    for replacement in replaced {
        let key = (replacement.id, replacement.archive, replacement.block);
        tables.blocks.insert(key, replacement.record.as_slice())?;
    }
    for series in changed {
        write_points(policy, tables, series)?;
        if let Some(before) = series.before {
            for (number, archive) in policy.archives().iter().enumerate() {
                let first_block = |last| archive.first_kept(last) / BUCKETS;
                let first = first_block(series.after.last);
                if first > first_block(before.last) {
                    let past = (series.id, number as u8, 0)..(series.id, number as u8, first);
                    tables.blocks.retain_in(past, |_, _| false)?;
                }
            }
        }
        if series.before != Some(series.after) {
            tables
                .series
                .insert(series.id, series.after.write(series.id).as_slice())?;
        }
    }
    Ok(())
}

/// Writes the changed records of points. Of the records before the reach of the window, only the
/// last is kept, because it contains the preceding point.
fn write_points(
    policy: &Policy,
    tables: &mut Tables<'_>,
    series: &ChangedSeries,
) -> Result<(), Fault> {
    let Points { times, values } = &series.merged.points;
    let first_of = |last| interval_of(policy, policy.reach(policy.window_start(last)));
    let first = first_of(series.after.last);
    let before = times.partition_point(|time| interval_of(policy, *time) < first);
    let keep_from = match before {
        0 => 0,
        points => interval_of(policy, times[points - 1]),
    };
    let mut begin = times.partition_point(|time| interval_of(policy, *time) < keep_from);
    while begin < times.len() {
        let interval = interval_of(policy, times[begin]);
        let points = times[begin..].partition_point(|time| interval_of(policy, *time) == interval);
        let end = begin + points;
        if series.merged.fresh[begin..end].contains(&true) {
            let key = RecordKey::of_points(series.id, interval);
            let record = Points::write(&times[begin..end], &values[begin..end], key);
            tables
                .raw
                .insert((series.id, interval), record.as_slice())?;
        }
        begin = end;
    }
    if series
        .before
        .is_some_and(|before| first_of(before.last) < first)
    {
        let past = (series.id, 0)..(series.id, first);
        let kept = match tables.raw.range(past)?.next_back() {
            Some(record) => record?.0.value(),
            None => return Ok(()),
        };
        tables.raw.retain_in((series.id, 0)..kept, |_, _| false)?;
    }
    Ok(())
}
