//! Collects blocks of points into batches and writes the batches to the store.

use super::Ingest;
use super::report::{Counts, ProgressLine};
use crate::failure::Failure;
use crate::series::backend::TimedEngine;
use crate::series::points::Limits;
use crate::series::progress::Progress;
use crate::series::summary::StageSeconds;
use std::time::Instant;
use warpstride::run::Interrupt;
use warpstride::series::io::{Block, Reader};
use warpstride::series::store::{Pending, StoreWriter};
use warpstride::system::Bytes;
use warpstride::text::count;

/// A running ingest.
pub(super) struct BatchWriter<'a> {
    pub(super) ingest: &'a Ingest,
    /// The range of `--start` and `--end`.
    pub(super) limits: Limits,
    /// Limit of memory in bytes.
    pub(super) memory: u64,
    pub(super) progress: Progress,
    pub(super) writer: StoreWriter,
    pub(super) engine: TimedEngine,
    pub(super) so_far: Counts,
    pub(super) batches: u64,
    pub(super) pending: Pending,
    pub(super) seconds: StageSeconds,
    pub(super) begun: Instant,
}

impl BatchWriter<'_> {
    pub(super) fn all(
        &mut self,
        reader: &mut Reader,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let mut first = true;
        let stopped = || Failure::Interrupted("stopped: nothing was stored".to_owned());
        loop {
            let begun = Instant::now();
            let Some(block) = reader.step() else { break };
            let block = self.filter_points(block?);
            self.seconds.read += begun.elapsed().as_secs_f64();
            if interrupt.requested() {
                return Err(stopped());
            }
            let mut from = 0;
            while from < block.len() {
                let end = block
                    .len()
                    .min(from + self.ingest.batch - self.pending.len());
                self.pending.extend(
                    &block.series[from..end],
                    &block.times[from..end],
                    &block.values[from..end],
                )?;
                self.fits()?;
                from = end;
                if self.pending.len() == self.ingest.batch {
                    self.store(reader)?;
                }
                if interrupt.requested() {
                    return Err(stopped());
                }
            }
            let mebibytes = (Reader::position(reader) >> 20) as usize;
            self.progress
                .at("ingest", mebibytes, self.so_far.taken.points, first);
            first = false;
        }
        if !self.pending.is_empty() {
            self.store(reader)?;
        }
        Ok(())
    }

    /// Checks that the pending points fit in memory.
    fn fits(&self) -> Result<(), Failure> {
        let points = self.pending.len();
        let needed = points.saturating_mul(Pending::BYTES_PER_POINT) as u64;
        if needed <= self.memory {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "--batch {}: its first {} need {} of memory, but only {} is available; use a smaller batch",
            self.ingest.batch,
            count(points, ["point", "points"]),
            Bytes(u128::from(needed)),
            Bytes(u128::from(self.memory))
        )))
    }

    /// Removes points outside the time range, and NaN if they are to be skipped.
    fn filter_points(&mut self, mut block: Block) -> Block {
        let ((start, end), skip_nan) = (self.limits, self.ingest.skip_nan);
        if start.is_none() && end.is_none() && !skip_nan {
            return block;
        }
        let mut kept = 0;
        for point in 0..block.len() {
            let (time, value) = (block.times[point], block.values[point]);
            let inside =
                start.is_none_or(|start| time >= start) && end.is_none_or(|end| time < end);
            if inside && !(skip_nan && value.is_nan()) {
                block.series[kept] = block.series[point];
                block.times[kept] = time;
                block.values[kept] = value;
                kept += 1;
            }
        }
        self.so_far.left_out += (block.len() - kept) as u64;
        block.series.truncate(kept);
        block.times.truncate(kept);
        block.values.truncate(kept);
        block
    }

    /// Stores the pending points as a batch, and reports it when it is on disk.
    fn store(&mut self, reader: &Reader) -> Result<(), Failure> {
        let (numbers, batch) = self.pending.take()?;
        let names: Option<Vec<String>> = numbers
            .iter()
            .map(|number| reader.names().get(*number).map(str::to_owned))
            .collect();
        let names = names.ok_or_else(|| Failure::failed("a series of the input has no name"))?;
        let (begun, computed) = (Instant::now(), self.engine.spent);
        self.so_far.taken += self.writer.ingest(&mut self.engine, &names, &batch)?;
        self.batches += 1;
        let compute = (self.engine.spent - computed).as_secs_f64();
        self.seconds.compute += compute;
        self.seconds.write += begun.elapsed().as_secs_f64() - compute;
        self.ingest.line(&ProgressLine::Batch {
            batch: self.batches,
            so_far: self.so_far,
            seconds: self.begun.elapsed().as_secs_f64(),
        })
    }
}
