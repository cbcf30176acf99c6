//! Inserts computed buckets into the blocks of the file.

use super::super::{Buckets, Column, Resampled};
use super::Policy;
use super::record::{BUCKETS, BlockColumn, RecordKey, read_block, write_block};
use rayon::prelude::*;

/// The new record of a block.
pub(super) struct Replacement {
    pub(super) id: u32,
    pub(super) archive: u8,
    pub(super) block: u64,
    pub(super) record: Vec<u8>,
}

/// The changes to a block.
struct BlockChange<'a> {
    /// Index of the series in the engine's batch.
    series: usize,
    id: u32,
    archive: usize,
    /// Indices of the buckets, all in one block.
    buckets: &'a [u64],
    old: Option<&'a [u8]>,
}

/// The computed values of an aggregate in an archive.
struct Source<'a> {
    buckets: &'a Buckets,
    column: &'a Column,
}

/// The new records of all blocks in `affected` (for each series its id, and its buckets by
/// archive), made from the computed results and the `old` records; `None` if a record cannot be
/// read or the results do not match the policy.
pub(super) fn replacements(
    policy: &Policy,
    resampled: &Resampled,
    affected: &[(u32, &[Vec<u64>])],
    old: &[Option<Vec<u8>>],
) -> Option<Vec<Replacement>> {
    let sources: Option<Vec<Vec<Source<'_>>>> = (0..policy.archives().len())
        .map(|archive| sources(policy, resampled, archive))
        .collect();
    let sources = sources?;
    let mut changes = Vec::with_capacity(old.len());
    let mut records = old.iter();
    for (series, (id, archives)) in affected.iter().enumerate() {
        for (archive, buckets) in archives.iter().enumerate() {
            for buckets in buckets.chunk_by(|a, b| a / BUCKETS == b / BUCKETS) {
                changes.push(BlockChange {
                    series,
                    id: *id,
                    archive,
                    buckets,
                    old: records.next()?.as_deref(),
                });
            }
        }
    }
    changes
        .par_iter()
        .map(|change| change.replace(policy, &sources[change.archive]))
        .collect()
}

/// The sources for each aggregate of the policy.
fn sources<'a>(
    policy: &Policy,
    resampled: &'a Resampled,
    archive: usize,
) -> Option<Vec<Source<'a>>> {
    let granularity = policy.archives()[archive].granularity();
    let find = |aggregate| {
        let of = |buckets: &&'a Buckets| buckets.granularity == granularity;
        resampled.buckets.iter().filter(of).find_map(|buckets| {
            let column = buckets.columns.iter().find(|c| c.aggregate == aggregate)?;
            Some(Source { buckets, column })
        })
    };
    policy
        .aggregates()
        .iter()
        .map(|aggregate| find(*aggregate))
        .collect()
}

impl BlockChange<'_> {
    fn replace(&self, policy: &Policy, sources: &[Source<'_>]) -> Option<Replacement> {
        let (archive, block) = (self.archive as u8, self.buckets[0] / BUCKETS);
        let key = RecordKey::of_block(self.id, archive, block);
        let mut columns = match self.old {
            Some(record) => read_block(record, sources.len(), key)?,
            None => vec![BlockColumn::default(); sources.len()],
        };
        let step = policy.archives()[self.archive].step;
        for (column, source) in columns.iter_mut().zip(sources) {
            source.fill(column, self.series, step, self.buckets);
        }
        Some(Replacement {
            id: self.id,
            archive,
            block,
            record: write_block(&columns, key),
        })
    }
}

impl Source<'_> {
    /// Sets the values of these buckets in a column; buckets that were not computed get no value.
    fn fill(&self, column: &mut BlockColumn, series: usize, step: u64, bucket_indices: &[u64]) {
        let Buckets {
            offsets,
            starts,
            counts,
            ..
        } = self.buckets;
        let end = offsets[series + 1];
        let first = (bucket_indices[0] * step) as i64;
        let before = starts[offsets[series]..end].partition_point(|start| *start < first);
        let mut at = offsets[series] + before;
        let least = self.column.aggregate.method.min_values();
        for bucket in bucket_indices {
            let start = (bucket * step) as i64;
            while at < end && starts[at] < start {
                at += 1;
            }
            let there = at < end && starts[at] == start && counts[at] >= least;
            let value = there.then(|| self.column.values[at]);
            column.set((bucket % BUCKETS) as usize, value);
        }
    }
}
