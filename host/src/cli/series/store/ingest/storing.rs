//! Blocks of points into batches, and batches into the store.

use super::Ingest;
use super::told::{Line, Seconds, SoFar};
use crate::cli::failure::Failure;
use crate::cli::series::machine::Chosen;
use crate::cli::series::points::Limits;
use crate::cli::series::progress::Progress;
use std::time::Instant;
use warpstride::io::Bytes;
use warpstride::io::series::{Block, Reader};
use warpstride::run::Interrupt;
use warpstride::series::store::{Pending, StoreWriter};

/// An ingest on its way.
pub(super) struct Storing<'a> {
    pub(super) ingest: &'a Ingest,
    /// `--start` and `--end`.
    pub(super) limits: Limits,
    /// Bytes that may be taken.
    pub(super) memory: u64,
    pub(super) progress: Progress,
    pub(super) writer: StoreWriter,
    pub(super) engine: Chosen,
    pub(super) so_far: SoFar,
    pub(super) batches: u64,
    pub(super) pending: Pending,
    pub(super) seconds: Seconds,
    pub(super) begun: Instant,
}

impl Storing<'_> {
    pub(super) fn all(
        &mut self,
        reader: &mut Reader,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let mut first = true;
        let stopped = || Failure::Interrupted("stopped: nothing was stored".to_owned());
        while let Some(block) = reader.step() {
            let block = self.wanted(block?);
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

    /// Holds the points that wait against the memory.
    fn fits(&self) -> Result<(), Failure> {
        let points = self.pending.len();
        let needed = points.saturating_mul(Pending::BYTES_OF_A_POINT) as u64;
        if needed <= self.memory {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "--batch {}: its first {points} points need {} of memory, but {} may be used; a smaller one is expected",
            self.ingest.batch,
            Bytes(u128::from(needed)),
            Bytes(u128::from(self.memory))
        )))
    }

    /// Leaves out what is not to be stored.
    fn wanted(&mut self, mut block: Block) -> Block {
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

    /// Makes a batch of what is pending; says so when it is on the storage.
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
        self.seconds.store += begun.elapsed().as_secs_f64() - compute;
        self.ingest.line(&Line::Batch {
            batch: self.batches,
            so_far: self.so_far,
            seconds: self.begun.elapsed().as_secs_f64(),
        })
    }
}
