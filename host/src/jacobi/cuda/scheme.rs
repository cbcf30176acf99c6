//! The ladder: how the passes of all blocks are queued.
//!
//! A pass reads one field and writes another. Its neighbours' rows are in the halos of the field
//! that it reads, because the pass before pushed them there. `above` and `below` are the neighbours
//! in the cycle of devices; fixed rows have none beyond the first and the last block.

use std::ops::Range;

use super::batch::{Batch, Pass};
use super::block::Block;
use super::kernels::{GpuReal, Part};
use super::plan::Scheme;
use crate::gpu::{Fleet, Lane, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::jacobi::norms::JacobiNorms;

/// The way of a block's outer rows to a neighbour.
pub(super) struct Way<F: Fleet, T: GpuReal> {
    /// The receiving block.
    pub(super) to: usize,
    pub(super) relay: F::Relay<T::Quad>,
}

/// The ways between neighbours.
pub(super) struct Ways<F: Fleet, T: GpuReal> {
    /// From each block to the one above it.
    pub(super) up: Vec<Option<Way<F, T>>>,
    /// From each block to the one below it.
    pub(super) down: Vec<Option<Way<F, T>>>,
    /// Whether they go without the host; `None` where there are none.
    pub(super) direct: Option<bool>,
}

/// All blocks, with their ways.
pub(super) struct Blocks<F: Fleet, T: GpuReal> {
    pub(super) blocks: Vec<Block<F, T>>,
    pub(super) ways: Ways<F, T>,
    pub(super) scheme: Scheme,
    /// Which of a block's marks the last pass set.
    pub(super) turn: usize,
}

/// Which rows of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    Top,
    Bulk,
    Bottom,
}

impl<F: Fleet, T: GpuReal> Blocks<F, T> {
    /// Queues a batch that begins with field `fields[0]`; its passes go from there to the second,
    /// and then between the second and the third. Gives the place of the last field.
    pub(super) fn queue(&mut self, fleet: &F, batch: &Batch, fields: [usize; 3]) -> Result<usize> {
        let [mut from, mut to, mut next] = fields;
        for pass in &batch.passes {
            self.pass(fleet, pass, from, to)?;
            (from, to, next) = (to, next, to);
        }
        self.norms(fleet, batch)?;
        Ok(from)
    }

    fn pass(&mut self, fleet: &F, pass: &Pass, from: usize, to: usize) -> Result<()> {
        match self.scheme {
            Scheme::DefaultStream => self.on_one_stream(fleet, pass, from, to),
            Scheme::Streams => self.on_streams(fleet, pass, from, to),
            Scheme::Events => self.by_events(fleet, pass, from, to),
            Scheme::Overlap | Scheme::Graphs | Scheme::Temporal => {
                self.overlapped(fleet, pass, from, to)
            }
        }
    }

    /// Rung 1: one queue a device; the host waits for whole devices.
    fn on_one_stream(&mut self, fleet: &F, pass: &Pass, from: usize, to: usize) -> Result<()> {
        for block in 0..self.blocks.len() {
            self.launch(fleet, block, Lane::Default, Rows::Bulk, pass, from, to)?;
        }
        self.wait_for_devices(fleet)?;
        for block in 0..self.blocks.len() {
            self.push(fleet, block, Lane::Default, Rows::Top, to)?;
            self.push(fleet, block, Lane::Default, Rows::Bottom, to)?;
        }
        self.wait_for_devices(fleet)
    }

    fn wait_for_devices(&self, fleet: &F) -> Result<()> {
        for block in &self.blocks {
            fleet.synchronize_device(block.device)?;
        }
        Ok(())
    }

    /// Rung 2: three queues a device; the host waits for queues.
    fn on_streams(&mut self, fleet: &F, pass: &Pass, from: usize, to: usize) -> Result<()> {
        for block in 0..self.blocks.len() {
            self.launch(fleet, block, Lane::Bulk, Rows::Bulk, pass, from, to)?;
        }
        for block in &self.blocks {
            fleet.synchronize(block.device, Lane::Bulk)?;
        }
        for block in 0..self.blocks.len() {
            self.push(fleet, block, Lane::Top, Rows::Top, to)?;
            self.push(fleet, block, Lane::Bottom, Rows::Bottom, to)?;
        }
        for block in &self.blocks {
            fleet.synchronize(block.device, Lane::Top)?;
            fleet.synchronize(block.device, Lane::Bottom)?;
        }
        // A push through the host ends on the receiving device.
        for block in 0..self.blocks.len() {
            self.await_above(fleet, block, Lane::Bulk)?;
            self.await_below(fleet, block, Lane::Bulk)?;
            fleet.synchronize(self.blocks[block].device, Lane::Bulk)?;
        }
        Ok(())
    }

    /// Rung 3: a pass waits on the device for its neighbours' pushes, pushes wait for the pass.
    ///
    /// No push overwrites a halo that is still read: it follows its own block's pass, which followed
    /// the neighbour's push, which followed the neighbour's pass, and that was the reader.
    fn by_events(&mut self, fleet: &F, pass: &Pass, from: usize, to: usize) -> Result<()> {
        for block in 0..self.blocks.len() {
            if !pass.begins() {
                self.await_above(fleet, block, Lane::Bulk)?;
                self.await_below(fleet, block, Lane::Bulk)?;
            }
            self.launch(fleet, block, Lane::Bulk, Rows::Bulk, pass, from, to)?;
            let own = &self.blocks[block];
            fleet.record(&own.bulk_done[0], own.device, Lane::Bulk)?;
        }
        for block in 0..self.blocks.len() {
            for (lane, rows) in [(Lane::Top, Rows::Top), (Lane::Bottom, Rows::Bottom)] {
                let own = &self.blocks[block];
                fleet.wait(&own.bulk_done[0], own.device, lane)?;
                self.push(fleet, block, lane, rows, to)?;
            }
        }
        Ok(())
    }

    /// Rung 4 and above: the outer rows and their pushes beside the bulk. The bulk reads no halo, so
    /// that only the outer rows wait for the neighbours; it waits for the outer rows of the pass
    /// before, which it reads, and they for the bulk. Outer rows are queued first: their lanes go
    /// before the bulk where both could start.
    fn overlapped(&mut self, fleet: &F, pass: &Pass, from: usize, to: usize) -> Result<()> {
        if self.blocks.len() == 1 {
            return self.launch(fleet, 0, Lane::Bulk, Rows::Bulk, pass, from, to);
        }
        let (before, now) = (self.turn, 1 - self.turn);
        self.turn = now;
        for block in 0..self.blocks.len() {
            self.outer(fleet, block, pass, from, to, [before, now])?;
        }
        for block in 0..self.blocks.len() {
            let own = &self.blocks[block];
            if !pass.begins() {
                fleet.wait(&own.top_done[before], own.device, Lane::Bulk)?;
                fleet.wait(&own.bottom_done[before], own.device, Lane::Bulk)?;
            }
            self.launch(fleet, block, Lane::Bulk, Rows::Bulk, pass, from, to)?;
            let own = &self.blocks[block];
            fleet.record(&own.bulk_done[now], own.device, Lane::Bulk)?;
        }
        Ok(())
    }

    /// The outer rows of a block and their pushes.
    fn outer(
        &mut self,
        fleet: &F,
        block: usize,
        pass: &Pass,
        from: usize,
        to: usize,
        [before, now]: [usize; 2],
    ) -> Result<()> {
        let own = &self.blocks[block];
        let device = own.device;
        // The top rows of a low block are neighbours of the bottom rows, or of the block below.
        let low = own.geometry.rows < 3 * own.geometry.halo;
        if !pass.begins() {
            for lane in [Lane::Top, Lane::Bottom] {
                fleet.wait(&own.bulk_done[before], device, lane)?;
            }
            self.await_above(fleet, block, Lane::Top)?;
            self.await_below(fleet, block, Lane::Bottom)?;
            if low {
                // Bottom rows never reach the halo above: those next to it are top rows.
                self.await_below(fleet, block, Lane::Top)?;
            }
        }
        self.launch(fleet, block, Lane::Top, Rows::Top, pass, from, to)?;
        self.launch(fleet, block, Lane::Bottom, Rows::Bottom, pass, from, to)?;
        let own = &self.blocks[block];
        fleet.record(&own.top_done[now], device, Lane::Top)?;
        fleet.record(&own.bottom_done[now], device, Lane::Bottom)?;
        if low {
            // A push tells the neighbour that this block has read its rows, on both sides. And the
            // next pass of either lane reads, and writes over, what the other has to do with.
            fleet.wait(&own.bottom_done[now], device, Lane::Top)?;
            fleet.wait(&own.top_done[now], device, Lane::Bottom)?;
        }
        self.push(fleet, block, Lane::Top, Rows::Top, to)?;
        self.push(fleet, block, Lane::Bottom, Rows::Bottom, to)
    }

    /// Queues the launch of some rows of a block.
    #[expect(
        clippy::too_many_arguments,
        reason = "what, where and between which fields"
    )]
    fn launch(
        &mut self,
        fleet: &F,
        block: usize,
        lane: Lane,
        rows: Rows,
        pass: &Pass,
        from: usize,
        to: usize,
    ) -> Result<()> {
        let block = &mut self.blocks[block];
        let layout = block.layouts[pass.sweeps - 1];
        let part = match rows {
            Rows::Top => layout.top,
            Rows::Bulk => layout.bulk,
            Rows::Bottom => layout.bottom,
        };
        if part.strips == 0 {
            return Ok(());
        }
        let (device, stride) = (block.device, block.sums_stride);
        let part = Part {
            wanted: pass.wanted,
            sums_stride: stride,
            ..part
        };
        let first = pass.first * stride as usize;
        let sums = first..first + pass.sweeps * stride as usize;
        let geometry = block.geometry;
        let memory = block.memory(from, to, sums)?;
        T::pass(fleet, device, lane, pass.sweeps, geometry, part, memory)
    }

    /// Queues the copy of a block's outer rows of field `field` into the neighbour's halo.
    fn push(
        &mut self,
        fleet: &F,
        block: usize,
        lane: Lane,
        rows: Rows,
        field: usize,
    ) -> Result<()> {
        let ways = if rows == Rows::Top {
            &self.ways.up
        } else {
            &self.ways.down
        };
        let Some(way) = &ways[block] else {
            return Ok(());
        };
        let (range, at) = self.outer_rows(block, way.to, rows);
        let [own, neighbour] = match self.blocks.get_disjoint_mut([block, way.to]) {
            Ok(pair) => pair,
            // A block alone has no ways.
            Err(_) => return Ok(()),
        };
        let (from, to) = (&own.fields[field], &mut neighbour.fields[field]);
        fleet.push(&way.relay, lane, from, range, to, at)
    }

    /// The outer rows of a block, and their place in the neighbour's halo, in vectors.
    fn outer_rows(&self, block: usize, neighbour: usize, rows: Rows) -> (Range<usize>, usize) {
        let (own, other) = (
            &self.blocks[block].geometry,
            &self.blocks[neighbour].geometry,
        );
        let (pitch, halo) = (own.pitch as usize, own.halo as usize);
        let (first, at) = match rows {
            Rows::Top => (halo, halo + other.rows as usize),
            _ => (own.rows as usize, 0),
        };
        (first * pitch..(first + halo) * pitch, at * pitch)
    }

    /// Lets a lane wait for the last push of the block above.
    fn await_above(&self, fleet: &F, block: usize, lane: Lane) -> Result<()> {
        self.await_ways(fleet, &self.ways.down, block, lane)
    }

    /// Lets a lane wait for the last push of the block below.
    fn await_below(&self, fleet: &F, block: usize, lane: Lane) -> Result<()> {
        self.await_ways(fleet, &self.ways.up, block, lane)
    }

    fn await_ways(
        &self,
        fleet: &F,
        ways: &[Option<Way<F, T>>],
        block: usize,
        lane: Lane,
    ) -> Result<()> {
        for way in ways.iter().flatten().filter(|way| way.to == block) {
            fleet.await_push(&way.relay, self.blocks[block].device, lane)?;
        }
        Ok(())
    }

    /// Queues the sums of the checked sweeps behind all launches of the batch.
    fn norms(&mut self, fleet: &F, batch: &Batch) -> Result<()> {
        let lane = match self.scheme {
            Scheme::DefaultStream => Lane::Default,
            _ => Lane::Bulk,
        };
        let several = self.blocks.len() > 1;
        for block in &mut self.blocks {
            if self.scheme.overlaps() && several {
                fleet.wait(&block.top_done[self.turn], block.device, lane)?;
                fleet.wait(&block.bottom_done[self.turn], block.device, lane)?;
            }
            let mut first_total = 0;
            for checks in &batch.checks {
                use crate::gpu::{Buffer as _, RangedBuffer as _};
                let totals = first_total..first_total + checks.count;
                first_total = totals.end;
                let launch = JacobiNorms {
                    totals: block.totals.write_range(totals)?,
                    sums: block.sums.read(),
                    rows: batch.sweeps as u32,
                    stride: block.sums_stride,
                    count: block.layouts[checks.sweeps - 1].sums,
                    first: checks.first as u32,
                    every: checks.every as u32,
                    sweeps: checks.count as u32,
                };
                fleet.launch(block.device, lane, &launch, Work::Blocks(checks.count))?;
            }
        }
        Ok(())
    }
}
