//! Read-back of aggregates: page-locked memory for the results of chunks, and the assembly of the
//! whole.

use super::output_columns::{OutputColumns, Source};
use super::prepare::vec_with_capacity;
use crate::{Buckets, Column, Resample, Resampled, SeriesError};
use rayon::prelude::*;
use warpstride_cuda::gpu::{Device, PendingCopy, Result};

/// Lengths of page-locked memory are multiples of this number of elements.
const ROUND: usize = 1 << 12;

/// Page-locked memory for reuse.
pub(super) struct Pool<M: Device> {
    wide: Vec<M::Pinned<i64>>,
    narrow: Vec<M::Pinned<u32>>,
    values: Vec<M::Pinned<f64>>,
}

impl<M: Device> Pool<M> {
    pub(super) fn new() -> Self {
        Self {
            wide: Vec::new(),
            narrow: Vec::new(),
            values: Vec::new(),
        }
    }

    pub(super) fn wide(&mut self, device: &M, len: usize) -> Result<M::Pinned<i64>> {
        let more = || device.pinned("starts of buckets", rounded(len));
        taken(&mut self.wide, len).map_or_else(more, Ok)
    }

    pub(super) fn narrow(&mut self, device: &M, len: usize) -> Result<M::Pinned<u32>> {
        let more = || device.pinned("buckets", rounded(len));
        taken(&mut self.narrow, len).map_or_else(more, Ok)
    }

    pub(super) fn values(&mut self, device: &M, len: usize) -> Result<M::Pinned<f64>> {
        let more = || device.pinned("aggregates", rounded(len));
        taken(&mut self.values, len).map_or_else(more, Ok)
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

/// Rounds up, so that memory can be reused by chunks of similar size.
fn rounded(len: usize) -> usize {
    len.next_multiple_of(ROUND)
}

/// Removes and returns the shortest buffer that is long enough.
fn taken<P: std::ops::Deref<Target = [T]>, T>(idle: &mut Vec<P>, len: usize) -> Option<P> {
    let long_enough = idle
        .iter()
        .enumerate()
        .filter(|(_, memory)| memory.len() >= len);
    let (at, _) = long_enough.min_by_key(|(_, memory)| memory.len())?;
    Some(idle.swap_remove(at))
}

/// Buckets of a chunk at one granularity that are being read back.
pub(super) struct PendingTable<M: Device> {
    pub(super) table: usize,
    pub(super) buckets: usize,
    pub(super) series: usize,
    pub(super) starts: M::Received<i64>,
    pub(super) first: M::Received<u32>,
    pub(super) of_series: M::Received<u32>,
    pub(super) columns: M::Received<f64>,
}

impl<M: Device> PendingTable<M> {
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

/// Buckets of a chunk at one granularity in page-locked memory, which may be longer than its
/// contents.
pub struct TableResult<M: Device> {
    /// Index into [`Resampled::buckets`].
    table: usize,
    buckets: usize,
    series: usize,
    starts: M::Pinned<i64>,
    first: M::Pinned<u32>,
    of_series: M::Pinned<u32>,
    columns: M::Pinned<f64>,
}

impl<M: Device> TableResult<M> {
    /// Index into [`Resampled::buckets`].
    #[must_use]
    pub fn table(&self) -> usize {
        self.table
    }

    /// (bucket), nanoseconds since 1970.
    #[must_use]
    pub fn starts(&self) -> &[i64] {
        &self.starts[..self.buckets]
    }

    /// (bucket), number of points.
    pub fn counts(&self) -> impl IndexedParallelIterator<Item = u32> + '_ {
        let first = &self.first[..=self.buckets];
        first
            .par_windows(2)
            .map(|pair| pair[1].wrapping_sub(pair[0]))
    }

    /// (bucket), a column of the device: the requested one-pass methods in the order sum, mean,
    /// min, max, first, last, std, then the methods on sorted values in the order of the plan.
    /// Counts have no column.
    #[must_use]
    pub fn column(&self, column: usize) -> &[f64] {
        &self.columns[column * self.buckets..][..self.buckets]
    }

    /// (series), end of its buckets, counted from the first bucket of the chunk.
    fn ends(&self) -> impl Iterator<Item = usize> + '_ {
        let of_series = &self.of_series[..=self.series];
        let ends = of_series[1..].iter();
        ends.map(|end| (end.wrapping_sub(of_series[0]) as usize).min(self.buckets))
    }
}

/// Assembles the results of all chunks.
pub(super) struct Collector {
    resampled: Resampled,
    sources: Vec<Vec<Source>>,
}

impl Collector {
    /// Makes an empty result of a plan with the given capacity of each table.
    pub(super) fn new(
        plan: &Resample,
        outputs: &[OutputColumns],
        capacities: &[usize],
        series: usize,
    ) -> std::result::Result<Self, SeriesError> {
        let mut collector = Self {
            resampled: Resampled::default(),
            sources: Vec::new(),
        };
        let tables = outputs
            .iter()
            .flat_map(|outputs| plan.granularities().iter().map(move |g| (outputs, g)));
        for ((outputs, granularity), capacity) in tables.zip(capacities) {
            let mut offsets = vec_with_capacity(series + 1)?;
            offsets.push(0);
            let column = |aggregate| {
                Ok(Column {
                    aggregate,
                    values: vec_with_capacity(*capacity)?,
                })
            };
            let columns = outputs.aggregates.iter().copied().map(column);
            collector.resampled.buckets.push(Buckets {
                granularity: *granularity,
                rate: outputs.rate,
                offsets,
                starts: vec_with_capacity(*capacity)?,
                counts: vec_with_capacity(*capacity)?,
                columns: columns.collect::<std::result::Result<_, SeriesError>>()?,
            });
            collector.sources.push(outputs.sources.clone());
        }
        Ok(collector)
    }

    /// Appends the next chunk; `continued` if its first series is the last one appended before.
    pub(super) fn append<M: Device>(&mut self, result: &TableResult<M>, continued: bool) {
        let buckets = &mut self.resampled.buckets[result.table];
        let before = buckets.starts.len();
        for (index, end) in result.ends().enumerate() {
            match buckets.offsets.last_mut() {
                Some(last) if index == 0 && continued => *last = before + end,
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
                Source::Column(index) => column.values.extend_from_slice(result.column(*index)),
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
