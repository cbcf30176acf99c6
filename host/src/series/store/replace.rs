//! Computed buckets into the blocks of the file.

use super::super::{Buckets, Column, Resampled};
use super::Policy;
use super::record::{self, BUCKETS, Lane, read_block, write_block};
use rayon::prelude::*;

/// A block as it is from now on.
pub(super) struct Replacement {
    pub(super) id: u32,
    pub(super) archive: u8,
    pub(super) block: u64,
    pub(super) record: Vec<u8>,
}

/// Blocks to be changed.
struct Place<'a> {
    /// Number of the series in the batch of the engine.
    series: usize,
    id: u32,
    archive: usize,
    /// Numbers of the buckets, of one block.
    buckets: &'a [u64],
    old: Option<&'a [u8]>,
}

/// Where an aggregate of an archive is found.
struct Source<'a> {
    buckets: &'a Buckets,
    column: &'a Column,
}

/// The new records of all blocks that `wanted` (series: its number, and buckets by archive) touches, from what was
/// computed and from the `old` records; nothing where one cannot be read or the engine's results are not those of the
/// policy.
pub(super) fn replacements(
    policy: &Policy,
    resampled: &Resampled,
    wanted: &[(u32, &[Vec<u64>])],
    old: &[Option<Vec<u8>>],
) -> Option<Vec<Replacement>> {
    let sources: Option<Vec<Vec<Source<'_>>>> = (0..policy.archives().len())
        .map(|archive| sources(policy, resampled, archive))
        .collect();
    let sources = sources?;
    let mut places = Vec::with_capacity(old.len());
    let mut records = old.iter();
    for (series, (id, archives)) in wanted.iter().enumerate() {
        for (archive, buckets) in archives.iter().enumerate() {
            for buckets in buckets.chunk_by(|a, b| a / BUCKETS == b / BUCKETS) {
                places.push(Place {
                    series,
                    id: *id,
                    archive,
                    buckets,
                    old: records.next()?.as_deref(),
                });
            }
        }
    }
    places
        .par_iter()
        .map(|place| place.replace(policy, &sources[place.archive]))
        .collect()
}

/// Of each aggregate of the policy.
fn sources<'a>(
    policy: &Policy,
    resampled: &'a Resampled,
    archive: usize,
) -> Option<Vec<Source<'a>>> {
    let granularity = policy.archives()[archive].granularity();
    let find = |wanted| {
        let of = |buckets: &&'a Buckets| buckets.granularity == granularity;
        resampled.buckets.iter().filter(of).find_map(|buckets| {
            let column = buckets.columns.iter().find(|c| c.aggregate == wanted)?;
            Some(Source { buckets, column })
        })
    };
    policy
        .aggregates()
        .iter()
        .map(|wanted| find(*wanted))
        .collect()
}

impl Place<'_> {
    fn replace(&self, policy: &Policy, sources: &[Source<'_>]) -> Option<Replacement> {
        let (archive, block) = (self.archive as u8, self.buckets[0] / BUCKETS);
        let place = record::Place::of_block(self.id, archive, block);
        let mut lanes = match self.old {
            Some(record) => read_block(record, sources.len(), place)?,
            None => vec![Lane::default(); sources.len()],
        };
        let step = policy.archives()[self.archive].step;
        for (lane, source) in lanes.iter_mut().zip(sources) {
            source.fill(lane, self.series, step, self.buckets);
        }
        Some(Replacement {
            id: self.id,
            archive,
            block,
            record: write_block(&lanes, place),
        })
    }
}

impl Source<'_> {
    /// Puts the values of these buckets into a lane; those that were not computed have none.
    fn fill(&self, lane: &mut Lane, series: usize, step: u64, wanted: &[u64]) {
        let Buckets {
            offsets,
            starts,
            counts,
            ..
        } = self.buckets;
        let end = offsets[series + 1];
        let first = (wanted[0] * step) as i64;
        let before = starts[offsets[series]..end].partition_point(|start| *start < first);
        let mut at = offsets[series] + before;
        let least = self.column.aggregate.method.least_values();
        for bucket in wanted {
            let start = (bucket * step) as i64;
            while at < end && starts[at] < start {
                at += 1;
            }
            let there = at < end && starts[at] == start && counts[at] >= least;
            let value = there.then(|| self.column.values[at]);
            lane.set((bucket % BUCKETS) as usize, value);
        }
    }
}
