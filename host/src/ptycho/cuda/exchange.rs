//! What several devices exchange when the frames of a scan are divided among them: sums over frames, and what is known of each
//! frame.
//!
//! Every device has the whole object and the probe, and its own frames ([`Interleaved`]). Sums on the object that are in fixed point, and the
//! slices of a probe update, have the same bits for any division; sums in floating point are added in the order of the ranks.

use super::buffers::{Buffers, Layout};
use crate::gpu::{Buffer, Device, GpuError, Result};
use crate::ptycho::interleaved::Interleaved;
use crate::ptycho::{EngineError, Ranks};
use bytemuck::Pod;
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::rank_sums::{PtychoAddRanks, PtychoAddRanksFixed};

/// The exchange between devices, as one of them sees it.
pub(super) struct Exchange<M: Device> {
    ranks: Ranks,
    /// Direct copies between devices; without them, arrays go through the hosts.
    peers: Option<M::Peers>,
    frames: Interleaved,
    /// (rank, pixel of the object): sums in fixed point, once they are needed.
    fixed: Option<M::Buffer<u64>>,
    /// (rank, pixel of the object): sums in floating point, once they are needed.
    object: Option<(M::Buffer<Complex32>, M::Buffer<f32>)>,
    /// (slice, mode, row, column) and (slice, row, column) of all devices.
    probe: (M::Buffer<Complex32>, M::Buffer<f32>),
}

/// (slice, mode, row, column) and (slice, row, column): sums of a probe update.
pub(super) type ProbeSums<'a, M> = (
    &'a <M as Device>::Buffer<Complex32>,
    &'a <M as Device>::Buffer<f32>,
);

impl<M: Device> Exchange<M> {
    /// The exchange of the frames of a scan, whose probe updates have `slices` slices on each device.
    pub(super) fn new(
        device: &M,
        (layout, slices): (&Layout, u32),
        ranks: Ranks,
        peers: Option<M::Peers>,
    ) -> Result<Self> {
        let scan = layout.scan_frames as usize;
        let slices = match ranks.size() {
            1 => 0,
            size => size * slices as usize,
        };
        let pixels = layout.pixels() as usize;
        Ok(Self {
            frames: Interleaved::new(scan, [ranks.rank(), ranks.size()]),
            fixed: None,
            object: None,
            probe: (
                device.alloc(
                    "the probe's sums of all devices",
                    slices * layout.probe_elements(),
                )?,
                device.alloc("the probe's weights of all devices", slices * pixels)?,
            ),
            ranks,
            peers,
        })
    }

    /// The ranks.
    pub(super) fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Whether there is one device.
    pub(super) fn alone(&self) -> bool {
        self.ranks.size() == 1
    }

    /// The frames of this device.
    pub(super) fn frames(&self) -> &Interleaved {
        &self.frames
    }

    /// Replaces the object's sums in fixed point by those of all devices.
    pub(super) fn add_fixed(
        &mut self,
        device: &M,
        layout: &Layout,
        sums: &mut M::Buffer<u64>,
    ) -> Result<()> {
        if self.alone() {
            return Ok(());
        }
        let (size, elements) = (self.ranks.size(), layout.object_elements());
        let mut all = match self.fixed.take() {
            Some(all) => all,
            None => device.alloc("the object's sums of all devices", size * elements)?,
        };
        self.all_gather(device, sums, &mut all, 1)?;
        device.launch(
            &PtychoAddRanksFixed {
                to: sums.write(),
                all: all.read(),
                ranks: size as u32,
                elements: elements as u32,
            },
            Work::Elements(elements),
        )?;
        self.fixed = Some(all);
        Ok(())
    }

    /// Replaces the object's sums in floating point by those of all devices; does nothing if the gate is closed.
    pub(super) fn add_object(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
    ) -> Result<()> {
        if self.alone() {
            return Ok(());
        }
        let (size, elements) = (self.ranks.size(), layout.object_elements());
        let (mut sums, mut weights) = match self.object.take() {
            Some(all) => all,
            None => (
                device.alloc("the object's sums of all devices", size * elements)?,
                device.alloc("the object's weights of all devices", size * elements)?,
            ),
        };
        self.all_gather(device, &buffers.object_work, &mut sums, 1)?;
        self.all_gather(device, &buffers.object_weights, &mut weights, 1)?;
        let Buffers {
            object_work,
            object_weights,
            gate,
            ..
        } = buffers;
        device.launch(
            &PtychoAddRanks {
                numerators: object_work.write(),
                weights: object_weights.write(),
                all_numerators: sums.read(),
                all_weights: weights.read(),
                gate: gate.read(),
                ranks: size as u32,
                elements: elements as u32,
            },
            Work::Elements(elements),
        )?;
        self.object = Some((sums, weights));
        Ok(())
    }

    /// The slices of the probe's sums of all devices, in their order, and their number; `own` has those of this device.
    pub(super) fn slices<'a>(
        &'a mut self,
        device: &M,
        own: ProbeSums<'a, M>,
        slices: u32,
    ) -> Result<(ProbeSums<'a, M>, u32)> {
        if self.alone() {
            return Ok((own, slices));
        }
        let (mut sums, mut weights) = std::mem::replace(
            &mut self.probe,
            (
                device.alloc("the probe's sums of all devices", 0)?,
                device.alloc("the probe's weights of all devices", 0)?,
            ),
        );
        let pieces = slices as usize;
        let mut gathered = self.all_gather(device, own.0, &mut sums, pieces);
        if gathered.is_ok() {
            gathered = self.all_gather(device, own.1, &mut weights, pieces);
        }
        self.probe = (sums, weights);
        gathered?;
        let (sums, weights) = &self.probe;
        Ok(((sums, weights), slices * self.ranks.size() as u32))
    }

    /// Values of all frames, in their order, from those of this device's; `values` of them for each frame.
    pub(super) fn of_frames<T: Pod + Default>(
        &self,
        own: Vec<T>,
        values: usize,
    ) -> std::result::Result<Vec<T>, EngineError> {
        if self.alone() {
            return Ok(own);
        }
        let all = self.ranks.gathered(&own)?;
        Ok(self.frames.sorted(&all, values))
    }

    fn all_gather<T: Pod + Send>(
        &mut self,
        device: &M,
        mine: &M::Buffer<T>,
        all: &mut M::Buffer<T>,
        pieces: usize,
    ) -> Result<()> {
        if let Some(peers) = &mut self.peers {
            return device.all_gather(peers, mine, all, pieces);
        }
        let mut own = vec![T::zeroed(); mine.len()];
        device.download(mine, &mut own)?;
        let of_ranks = self
            .ranks
            .gathered(&own)
            .map_err(|error| GpuError::Exchange {
                reason: error.to_string(),
            })?;
        let piece = mine.len() / pieces.max(1);
        let size = self.ranks.size();
        let mut sorted = Vec::with_capacity(of_ranks.len());
        for number in 0..pieces {
            for rank in 0..size {
                let from = rank * mine.len() + number * piece;
                sorted.extend_from_slice(&of_ranks[from..from + piece]);
            }
        }
        device.upload(all, &sorted)
    }
}
