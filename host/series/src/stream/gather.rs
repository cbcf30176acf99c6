//! Groups the points of blocks by series, in memory as long as they fit.

use super::StreamError;
use super::batch_memory::{BatchMemory, Extent, GATHERED};
use super::run_file::{Point, RunFile};
use crate::io::Block;
use crate::{Batch, Resample, SeriesError};
use std::path::PathBuf;

/// Limits of time and memory.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Earlier points are left out, nanoseconds since 1970.
    pub start: Option<i64>,
    /// Points at or after this time are left out.
    pub end: Option<i64>,
    /// Bytes of memory for points, engine and results.
    pub memory: u64,
    /// Folder for temporary files, if memory does not suffice.
    pub folder: PathBuf,
}

/// Collects points block by block.
#[derive(Debug)]
pub struct Gather {
    limits: Limits,
    /// Points in memory, in the order of the input.
    blocks: Vec<Block>,
    /// Whether the series of the last block are sorted.
    in_order: bool,
    /// Number of points in the blocks.
    held: u64,
    /// (series).
    extents: Vec<Extent>,
    outside: u64,
    file: Option<RunFile>,
}

/// All points of all series.
#[derive(Debug)]
pub struct Gathered {
    pub(super) points: Points,
    /// (series).
    pub(super) extents: Vec<Extent>,
    pub(super) need: BatchMemory,
    pub(super) limits: Limits,
    pub(super) outside: u64,
}

/// The storage of the points.
#[derive(Debug)]
pub(super) enum Points {
    Memory(Batch),
    Storage(RunFile),
}

impl Gather {
    /// Starts without points.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            blocks: Vec::new(),
            in_order: true,
            held: 0,
            extents: Vec::new(),
            outside: 0,
            file: None,
        }
    }

    /// Adds a block. Series are numbered from 0 in the order of their first points.
    ///
    /// # Errors
    /// If lengths differ or a time is before 1970; errors of the storage.
    pub fn push(&mut self, mut block: Block) -> Result<(), StreamError> {
        let points = block.times.len();
        if block.values.len() != points || block.series.len() != points {
            return Err(SeriesError::Batch(format!(
                "a block has {points} timestamps, {} values and {} series indices",
                block.values.len(),
                block.series.len()
            ))
            .into());
        }
        if let Some(point) = block.times.iter().position(|time| *time < 0) {
            let time = block.times[point];
            return Err(SeriesError::Negative { point, time }.into());
        }
        self.outside += retain_between(&mut block, self.limits.start, self.limits.end);
        self.measure(&block);
        self.held += block.times.len() as u64;
        self.append(block);
        if self.held.saturating_mul(GATHERED) > self.limits.memory {
            self.spill()?;
        }
        Ok(())
    }

    /// Number of points within the limits so far.
    #[must_use]
    pub fn points(&self) -> u64 {
        self.extents.iter().map(|extent| extent.points).sum()
    }

    /// Completes the collection for a plan.
    ///
    /// # Errors
    /// If memory is insufficient; errors of the storage.
    pub fn finish(mut self, plan: &Resample) -> Result<Gathered, StreamError> {
        let need = BatchMemory::new(plan, self.limits.memory);
        let bytes: u64 = self.extents.iter().map(|extent| need.of(extent)).sum();
        let in_memory = self.file.is_none() && need.fits(self.held, bytes);
        let points = if in_memory {
            Points::Memory(self.batch()?)
        } else {
            self.spill()?;
            match self.file {
                Some(file) => Points::Storage(file),
                // Nothing was spilled, so there are no points.
                None => Points::Memory(self.batch()?),
            }
        };
        Ok(Gathered {
            points,
            extents: self.extents,
            need,
            limits: self.limits,
            outside: self.outside,
        })
    }

    /// Appends the block to the last one if that keeps its series sorted. Points of one series, or
    /// of series one after another, thus end as a single block, which becomes the batch.
    fn append(&mut self, mut block: Block) {
        let Some(first) = block.series.first().copied() else {
            return;
        };
        let in_order = block.series.is_sorted();
        match self.blocks.last_mut() {
            Some(last) if in_order && self.in_order && last.series.last() <= Some(&first) => {
                last.series.append(&mut block.series);
                last.times.append(&mut block.times);
                last.values.append(&mut block.values);
            }
            _ => self.blocks.push(block),
        }
        self.in_order = in_order;
    }

    fn measure(&mut self, block: &Block) {
        let Some(last) = block.series.iter().max() else {
            return;
        };
        if *last as usize >= self.extents.len() {
            self.extents.resize(*last as usize + 1, Extent::NONE);
        }
        for (series, times) in series_runs(block) {
            let mut extent = self.extents[series];
            times.iter().for_each(|time| extent.add(*time));
            self.extents[series] = extent;
        }
    }

    /// (series + 1), offsets of the points in memory.
    fn offsets(&self) -> Vec<usize> {
        let mut offsets = vec![0; self.extents.len() + 1];
        for block in &self.blocks {
            for series in &block.series {
                offsets[*series as usize + 1] += 1;
            }
        }
        for series in 1..offsets.len() {
            offsets[series] += offsets[series - 1];
        }
        offsets
    }

    /// All points grouped by series, in the order of the input. Nothing must have been spilled.
    fn batch(&mut self) -> Result<Batch, StreamError> {
        let mut offsets = vec![0];
        let mut end = 0;
        for extent in &self.extents {
            end += extent.points as usize;
            offsets.push(end);
        }
        let held = self.held as usize;
        if let ([block], true) = (&mut self.blocks[..], self.in_order) {
            let block = std::mem::take(block);
            return Ok(Batch::new(block.times, block.values, offsets)?);
        }
        let (mut times, mut values) = (zeroed(held)?, zeroed(held)?);
        let mut next = offsets.clone();
        for block in self.blocks.drain(..) {
            let mut first = 0;
            for (series, times_of_run) in series_runs(&block) {
                let (from, to) = (first..first + times_of_run.len(), next[series]);
                next[series] += times_of_run.len();
                first = from.end;
                if let [time] = times_of_run {
                    (times[to], values[to]) = (*time, block.values[from.start]);
                } else {
                    times[to..next[series]].copy_from_slice(times_of_run);
                    values[to..next[series]].copy_from_slice(&block.values[from]);
                }
            }
        }
        Ok(Batch::new(times, values, offsets)?)
    }

    /// Writes the points in memory as a run.
    fn spill(&mut self) -> Result<(), StreamError> {
        if self.held == 0 {
            return Ok(());
        }
        let offsets = self.offsets();
        let mut points: Vec<Point> = zeroed(self.held as usize)?;
        let mut next = offsets.clone();
        for block in self.blocks.drain(..) {
            let of_block = block.times.iter().zip(&block.values);
            for (series, (time, value)) in block.series.iter().zip(of_block) {
                let at = &mut next[*series as usize];
                points[*at] = Point {
                    time: *time,
                    value: *value,
                };
                *at += 1;
            }
        }
        self.held = 0;
        for pair in offsets.windows(2) {
            let of_series = &mut points[pair[0]..pair[1]];
            if !of_series.is_sorted_by_key(|point| point.time) {
                of_series.sort_by_key(|point| point.time);
            }
        }
        if self.file.is_none() {
            self.file = Some(RunFile::new(&self.limits.folder)?);
        }
        if let Some(file) = &mut self.file {
            let offsets: Vec<u64> = offsets.into_iter().map(|first| first as u64).collect();
            file.append(&points, &offsets)?;
        }
        Ok(())
    }
}

/// Consecutive times of points of one series, with its index.
fn series_runs(block: &Block) -> impl Iterator<Item = (usize, &[i64])> {
    let mut first = 0;
    block.series.chunk_by(|a, b| a == b).map(move |run| {
        let from = first;
        first += run.len();
        (run[0] as usize, &block.times[from..first])
    })
}

/// Removes points before `start`, or at or after `end`. Returns their number.
fn retain_between(block: &mut Block, start: Option<i64>, end: Option<i64>) -> u64 {
    let inside = |time: i64| start.is_none_or(|s| time >= s) && end.is_none_or(|e| time < e);
    let before = block.times.len();
    if (start.is_none() && end.is_none()) || block.times.iter().all(|time| inside(*time)) {
        return 0;
    }
    let keep: Vec<bool> = block.times.iter().map(|time| inside(*time)).collect();
    retain(&mut block.series, &keep);
    retain(&mut block.times, &keep);
    retain(&mut block.values, &keep);
    (before - block.times.len()) as u64
}

fn retain<T>(column: &mut Vec<T>, keep: &[bool]) {
    let mut kept = keep.iter();
    column.retain(|_| kept.next().copied().unwrap_or(true));
}

/// Allocates zeros, or returns an error.
pub(super) fn zeroed<T: bytemuck::Zeroable>(count: usize) -> Result<Vec<T>, SeriesError> {
    bytemuck::allocation::try_zeroed_vec(count).map_err(|()| SeriesError::HostMemory {
        what: "a batch of points",
        needed: count.saturating_mul(size_of::<T>()),
    })
}
