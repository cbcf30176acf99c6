//! The ladder of schemes: how the passes of all blocks are queued.
//!
//! A pass reads one field and writes another. The rows of its neighbours are in the halos of the
//! field that it reads, because the previous pass sent them there. `above` and `below` are the
//! neighbours in the cycle of devices; if the border rows are fixed, the first and the last block
//! have none beyond.

use std::ops::Range;

use super::batch::{Batch, Pass};
use super::block::Block;
use super::kernels::{GpuReal, Part};
use super::plan::Scheme;
use warpstride_cuda::gpu::{DeviceGroup, Result, StreamId};
use warpstride_device::launch::Work;
use warpstride_kernels::jacobi::norms::JacobiNorms;

/// The link by which a block sends its outer rows to a neighbour.
pub(super) struct HaloLink<G: DeviceGroup, T: GpuReal> {
    /// Index of the receiving block.
    pub(super) to: usize,
    pub(super) peer_channel: G::PeerChannel<T::Quad>,
}

/// The links between neighbours.
pub(super) struct HaloLinks<G: DeviceGroup, T: GpuReal> {
    /// From each block to the one above it.
    pub(super) up: Vec<Option<HaloLink<G, T>>>,
    /// From each block to the one below it.
    pub(super) down: Vec<Option<HaloLink<G, T>>>,
    /// Whether the links are direct, without the host; `None` if there are no links.
    pub(super) direct: Option<bool>,
}

/// All blocks and the links between them.
pub(super) struct Blocks<G: DeviceGroup, T: GpuReal> {
    pub(super) blocks: Vec<Block<G, T>>,
    pub(super) halo_links: HaloLinks<G, T>,
    pub(super) scheme: Scheme,
    /// Index of the events that the last pass recorded; successive passes alternate between two.
    pub(super) event_set: usize,
}

/// A group of rows of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    Top,
    Bulk,
    Bottom,
}

impl<G: DeviceGroup, T: GpuReal> Blocks<G, T> {
    /// Queues a batch that begins with field `fields[0]`. The first pass writes the second field,
    /// and later ones alternate between the second and the third. Returns the index of the last
    /// field.
    pub(super) fn queue(&mut self, group: &G, batch: &Batch, fields: [usize; 3]) -> Result<usize> {
        let [mut from, mut to, mut next] = fields;
        for pass in &batch.passes {
            self.pass(group, pass, from, to)?;
            (from, to, next) = (to, next, to);
        }
        self.norms(group, batch)?;
        Ok(from)
    }

    fn pass(&mut self, group: &G, pass: &Pass, from: usize, to: usize) -> Result<()> {
        match self.scheme {
            Scheme::DefaultStream => self.on_one_stream(group, pass, from, to),
            Scheme::Streams => self.on_streams(group, pass, from, to),
            Scheme::Events => self.by_events(group, pass, from, to),
            Scheme::Overlap | Scheme::Graphs | Scheme::Temporal => {
                self.overlapped(group, pass, from, to)
            }
        }
    }

    /// Rung 1: one stream per device; the host waits for whole devices.
    fn on_one_stream(&mut self, group: &G, pass: &Pass, from: usize, to: usize) -> Result<()> {
        for block in 0..self.blocks.len() {
            self.launch(group, block, StreamId::Default, Rows::Bulk, pass, from, to)?;
        }
        self.wait_for_devices(group)?;
        for block in 0..self.blocks.len() {
            self.send(group, block, StreamId::Default, Rows::Top, to)?;
            self.send(group, block, StreamId::Default, Rows::Bottom, to)?;
        }
        self.wait_for_devices(group)
    }

    fn wait_for_devices(&self, group: &G) -> Result<()> {
        for block in &self.blocks {
            group.synchronize_device(block.device)?;
        }
        Ok(())
    }

    /// Rung 2: three streams per device; the host waits for streams.
    fn on_streams(&mut self, group: &G, pass: &Pass, from: usize, to: usize) -> Result<()> {
        for block in 0..self.blocks.len() {
            self.launch(group, block, StreamId::Bulk, Rows::Bulk, pass, from, to)?;
        }
        for block in &self.blocks {
            group.synchronize(block.device, StreamId::Bulk)?;
        }
        for block in 0..self.blocks.len() {
            self.send(group, block, StreamId::Top, Rows::Top, to)?;
            self.send(group, block, StreamId::Bottom, Rows::Bottom, to)?;
        }
        for block in &self.blocks {
            group.synchronize(block.device, StreamId::Top)?;
            group.synchronize(block.device, StreamId::Bottom)?;
        }
        // A send through the host ends on the receiving device.
        for block in 0..self.blocks.len() {
            self.wait_for_above(group, block, StreamId::Bulk)?;
            self.wait_for_below(group, block, StreamId::Bulk)?;
            group.synchronize(self.blocks[block].device, StreamId::Bulk)?;
        }
        Ok(())
    }

    /// Rung 3: a pass waits on the device for the sends of its neighbours, and sends wait for the
    /// pass.
    ///
    /// No send overwrites a halo that is still being read: it follows the pass of its own block,
    /// which followed the neighbour's send, which followed the neighbour's pass, the reader of the
    /// halo.
    fn by_events(&mut self, group: &G, pass: &Pass, from: usize, to: usize) -> Result<()> {
        for block in 0..self.blocks.len() {
            if !pass.is_first() {
                self.wait_for_above(group, block, StreamId::Bulk)?;
                self.wait_for_below(group, block, StreamId::Bulk)?;
            }
            self.launch(group, block, StreamId::Bulk, Rows::Bulk, pass, from, to)?;
            let own = &self.blocks[block];
            group.record(&own.bulk_done[0], own.device, StreamId::Bulk)?;
        }
        for block in 0..self.blocks.len() {
            for (stream, rows) in [(StreamId::Top, Rows::Top), (StreamId::Bottom, Rows::Bottom)] {
                let own = &self.blocks[block];
                group.wait(&own.bulk_done[0], own.device, stream)?;
                self.send(group, block, stream, rows, to)?;
            }
        }
        Ok(())
    }

    /// Rung 4 and above: the outer rows are computed and sent concurrently with the bulk. The bulk
    /// reads no halo, so only the outer rows wait for the neighbours. The bulk waits for the outer
    /// rows of the previous pass, which it reads, and vice versa. Outer rows are queued first, in
    /// streams that have priority over the bulk.
    fn overlapped(&mut self, group: &G, pass: &Pass, from: usize, to: usize) -> Result<()> {
        if self.blocks.len() == 1 {
            return self.launch(group, 0, StreamId::Bulk, Rows::Bulk, pass, from, to);
        }
        let (before, now) = (self.event_set, 1 - self.event_set);
        self.event_set = now;
        for block in 0..self.blocks.len() {
            self.outer(group, block, pass, from, to, [before, now])?;
        }
        for block in 0..self.blocks.len() {
            let own = &self.blocks[block];
            if !pass.is_first() {
                group.wait(&own.top_done[before], own.device, StreamId::Bulk)?;
                group.wait(&own.bottom_done[before], own.device, StreamId::Bulk)?;
            }
            self.launch(group, block, StreamId::Bulk, Rows::Bulk, pass, from, to)?;
            let own = &self.blocks[block];
            group.record(&own.bulk_done[now], own.device, StreamId::Bulk)?;
        }
        Ok(())
    }

    /// Queues the launches and sends of the outer rows of a block.
    fn outer(
        &mut self,
        group: &G,
        block: usize,
        pass: &Pass,
        from: usize,
        to: usize,
        [before, now]: [usize; 2],
    ) -> Result<()> {
        let own = &self.blocks[block];
        let device = own.device;
        // In a block of few rows, the top rows are next to the bottom rows or to the block below.
        let few_rows = own.geometry.rows < 3 * own.geometry.halo;
        if !pass.is_first() {
            for stream in [StreamId::Top, StreamId::Bottom] {
                group.wait(&own.bulk_done[before], device, stream)?;
            }
            self.wait_for_above(group, block, StreamId::Top)?;
            self.wait_for_below(group, block, StreamId::Bottom)?;
            if few_rows {
                // Bottom rows never read the halo above, because the rows next to it are top rows.
                self.wait_for_below(group, block, StreamId::Top)?;
            }
        }
        self.launch(group, block, StreamId::Top, Rows::Top, pass, from, to)?;
        self.launch(group, block, StreamId::Bottom, Rows::Bottom, pass, from, to)?;
        let own = &self.blocks[block];
        group.record(&own.top_done[now], device, StreamId::Top)?;
        group.record(&own.bottom_done[now], device, StreamId::Bottom)?;
        if few_rows {
            // A send signals to the neighbour that this block has read its rows, on both sides. And
            // the next pass of either stream reads and overwrites rows that the other one uses.
            group.wait(&own.bottom_done[now], device, StreamId::Top)?;
            group.wait(&own.top_done[now], device, StreamId::Bottom)?;
        }
        self.send(group, block, StreamId::Top, Rows::Top, to)?;
        self.send(group, block, StreamId::Bottom, Rows::Bottom, to)
    }

    /// Queues the launch for a group of rows of a block.
    #[expect(
        clippy::too_many_arguments,
        reason = "the rows, the stream and the fields of a launch"
    )]
    fn launch(
        &mut self,
        group: &G,
        block: usize,
        stream: StreamId,
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
            norm_mask: pass.norm_mask,
            sums_stride: stride,
            ..part
        };
        let first = pass.first * stride as usize;
        let sums = first..first + pass.sweeps * stride as usize;
        let geometry = block.geometry;
        let memory = block.memory(from, to, sums)?;
        T::pass(group, device, stream, pass.sweeps, geometry, part, memory)
    }

    /// Queues the copy of a block's outer rows of field `field` into the neighbour's halo.
    fn send(
        &mut self,
        group: &G,
        block: usize,
        stream: StreamId,
        rows: Rows,
        field: usize,
    ) -> Result<()> {
        let halo_links = if rows == Rows::Top {
            &self.halo_links.up
        } else {
            &self.halo_links.down
        };
        let Some(link) = &halo_links[block] else {
            return Ok(());
        };
        let (range, at) = self.outer_rows(block, link.to, rows);
        let [own, neighbour] = match self.blocks.get_disjoint_mut([block, link.to]) {
            Ok(pair) => pair,
            // A single block has no links.
            Err(_) => return Ok(()),
        };
        let (from, to) = (&own.fields[field], &mut neighbour.fields[field]);
        group.send(&link.peer_channel, stream, from, range, to, at)
    }

    /// The range of a block's outer rows and their offset in the neighbour's buffer, in vectors.
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

    /// Makes a stream wait for the last send of the block above.
    fn wait_for_above(&self, group: &G, block: usize, stream: StreamId) -> Result<()> {
        self.wait_for_links(group, &self.halo_links.down, block, stream)
    }

    /// Makes a stream wait for the last send of the block below.
    fn wait_for_below(&self, group: &G, block: usize, stream: StreamId) -> Result<()> {
        self.wait_for_links(group, &self.halo_links.up, block, stream)
    }

    fn wait_for_links(
        &self,
        group: &G,
        halo_links: &[Option<HaloLink<G, T>>],
        block: usize,
        stream: StreamId,
    ) -> Result<()> {
        for link in halo_links.iter().flatten().filter(|link| link.to == block) {
            group.wait_for_send(&link.peer_channel, self.blocks[block].device, stream)?;
        }
        Ok(())
    }

    /// Queues the sums of the checked sweeps after all launches of the batch.
    fn norms(&mut self, group: &G, batch: &Batch) -> Result<()> {
        let stream = match self.scheme {
            Scheme::DefaultStream => StreamId::Default,
            _ => StreamId::Bulk,
        };
        let several = self.blocks.len() > 1;
        for block in &mut self.blocks {
            if self.scheme.overlaps() && several {
                group.wait(&block.top_done[self.event_set], block.device, stream)?;
                group.wait(&block.bottom_done[self.event_set], block.device, stream)?;
            }
            let mut first_total = 0;
            for checks in &batch.checks {
                use warpstride_cuda::gpu::{Buffer as _, RangedBuffer as _};
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
                group.launch(block.device, stream, &launch, Work::Blocks(checks.count))?;
            }
        }
        Ok(())
    }
}
