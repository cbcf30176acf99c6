//! Aggregates on their way back: page-locked memory that chunks' results come to, and the whole that is made of them.

use super::prepare::room;
use super::wanted::{Source, Wanted};
use crate::gpu::{Copying, Machine, Result};
use crate::series::{Buckets, Column, Resample, Resampled, SeriesError};
use rayon::prelude::*;

/// Page-locked memory that is used again and again.
pub(super) struct Pool<M: Machine> {
    wide: Vec<M::Pinned<i64>>,
    narrow: Vec<M::Pinned<u32>>,
    values: Vec<M::Pinned<f64>>,
}

impl<M: Machine> Pool<M> {
    pub(super) fn new() -> Self {
        Self {
            wide: Vec::new(),
            narrow: Vec::new(),
            values: Vec::new(),
        }
    }

    pub(super) fn wide(&mut self, machine: &M, len: usize) -> Result<M::Pinned<i64>> {
        taken(&mut self.wide, len).map_or_else(|| machine.pinned("starts of buckets", len), Ok)
    }

    pub(super) fn narrow(&mut self, machine: &M, len: usize) -> Result<M::Pinned<u32>> {
        taken(&mut self.narrow, len).map_or_else(|| machine.pinned("buckets", len), Ok)
    }

    pub(super) fn values(&mut self, machine: &M, len: usize) -> Result<M::Pinned<f64>> {
        taken(&mut self.values, len).map_or_else(|| machine.pinned("aggregates", len), Ok)
    }

    pub(super) fn give_back(&mut self, results: Vec<TableResult<M>>) {
        for result in results {
            self.wide.push(result.starts);
            self.narrow.push(result.first);
            self.narrow.push(result.of_series);
            self.values.push(result.columns);
        }
    }
}

/// The shortest that is long enough.
fn taken<P: std::ops::Deref<Target = [T]>, T>(idle: &mut Vec<P>, len: usize) -> Option<P> {
    let long_enough = idle
        .iter()
        .enumerate()
        .filter(|(_, memory)| memory.len() >= len);
    let (at, _) = long_enough.min_by_key(|(_, memory)| memory.len())?;
    Some(idle.swap_remove(at))
}

/// Buckets of a chunk at one granularity on their way.
pub(super) struct Incoming<M: Machine> {
    pub(super) table: usize,
    pub(super) buckets: usize,
    pub(super) series: usize,
    pub(super) starts: M::Received<i64>,
    pub(super) first: M::Received<u32>,
    pub(super) of_series: M::Received<u32>,
    pub(super) columns: M::Received<f64>,
}

impl<M: Machine> Incoming<M> {
    pub(super) fn ready(&self) -> bool {
        self.starts.ready() && self.first.ready() && self.of_series.ready() && self.columns.ready()
    }

    pub(super) fn wait(self) -> Result<TableResult<M>> {
        Ok(TableResult {
            table: self.table,
            buckets: self.buckets,
            series: self.series,
            starts: self.starts.wait()?,
            first: self.first.wait()?,
            of_series: self.of_series.wait()?,
            columns: self.columns.wait()?,
        })
    }
}

/// Buckets of a chunk at one granularity, in page-locked memory, which may be longer than what is in it.
pub struct TableResult<M: Machine> {
    /// Place among [`Resampled::buckets`].
    table: usize,
    buckets: usize,
    series: usize,
    starts: M::Pinned<i64>,
    first: M::Pinned<u32>,
    of_series: M::Pinned<u32>,
    columns: M::Pinned<f64>,
}

impl<M: Machine> TableResult<M> {
    /// Place among [`Resampled::buckets`].
    #[must_use]
    pub fn table(&self) -> usize {
        self.table
    }

    /// (bucket), nanoseconds since 1970.
    #[must_use]
    pub fn starts(&self) -> &[i64] {
        &self.starts[..self.buckets]
    }

    /// (bucket), points.
    pub fn counts(&self) -> impl IndexedParallelIterator<Item = u32> + '_ {
        let first = &self.first[..=self.buckets];
        first
            .par_windows(2)
            .map(|pair| pair[1].wrapping_sub(pair[0]))
    }

    /// (bucket), the aggregate of that place among the columns of the device.
    #[must_use]
    pub fn column(&self, column: usize) -> &[f64] {
        &self.columns[column * self.buckets..][..self.buckets]
    }

    /// (series), the bucket behind its last one, from the chunk's first.
    fn ends(&self) -> impl Iterator<Item = usize> + '_ {
        let of_series = &self.of_series[..=self.series];
        let ends = of_series[1..].iter();
        ends.map(|end| (end.wrapping_sub(of_series[0]) as usize).min(self.buckets))
    }
}

/// The whole, chunk by chunk.
pub(super) struct Collector {
    resampled: Resampled,
    sources: Vec<Vec<Source>>,
}

impl Collector {
    /// For a plan's results, with room for so many buckets in each table.
    pub(super) fn new(
        plan: &Resample,
        wanted: &[Wanted],
        capacities: &[usize],
        series: usize,
    ) -> std::result::Result<Self, SeriesError> {
        let mut collector = Self {
            resampled: Resampled::default(),
            sources: Vec::new(),
        };
        let tables = wanted
            .iter()
            .flat_map(|wanted| plan.granularities().iter().map(move |g| (wanted, g)));
        for ((wanted, granularity), capacity) in tables.zip(capacities) {
            let mut offsets = room(series + 1)?;
            offsets.push(0);
            let column = |aggregate| {
                Ok(Column {
                    aggregate,
                    values: room(*capacity)?,
                })
            };
            let columns = wanted.aggregates.iter().copied().map(column);
            collector.resampled.buckets.push(Buckets {
                granularity: *granularity,
                rate: wanted.rate,
                offsets,
                starts: room(*capacity)?,
                counts: room(*capacity)?,
                columns: columns.collect::<std::result::Result<_, SeriesError>>()?,
            });
            collector.sources.push(wanted.sources.clone());
        }
        Ok(collector)
    }

    /// What comes next; `continued` where its first series is the last of what was there.
    pub(super) fn append<M: Machine>(&mut self, result: &TableResult<M>, continued: bool) {
        let buckets = &mut self.resampled.buckets[result.table];
        let before = buckets.starts.len();
        for (place, end) in result.ends().enumerate() {
            match buckets.offsets.last_mut() {
                Some(last) if place == 0 && continued => *last = before + end,
                _ => buckets.offsets.push(before + end),
            }
        }
        buckets.starts.extend_from_slice(result.starts());
        buckets.counts.par_extend(result.counts());
        let counts = &buckets.counts[before..];
        let columns = buckets.columns.par_iter_mut();
        columns
            .zip(&self.sources[result.table])
            .for_each(|(column, source)| match source {
                Source::Counts => column.values.extend(counts.iter().map(|n| f64::from(*n))),
                Source::Column(place) => column.values.extend_from_slice(result.column(*place)),
            });
    }

    pub(super) fn finish(self, duplicates: usize, skipped: usize) -> Resampled {
        Resampled {
            duplicates,
            skipped,
            ..self.resampled
        }
    }
}
