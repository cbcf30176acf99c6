//! What several devices exchange when the frames of a scan are divided among them: sums over
//! frames, and what is known of each frame.
//!
//! Every device has the whole object and the probe, and its own frames ([`Interleaved`]). Sums on
//! the object that are in fixed point, and the slices of a probe update, have the same bits for any
//! division; sums in floating point are added in the order of the ranks.

use crate::Ranks;
use crate::engines::batch_shares::order_of_devices;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::interleaved::Interleaved;
use crate::engines::regions::Regions;
use bytemuck::Pod;
use std::ops::Range;
use std::sync::Arc;
use warpstride_cuda::cuda::{PeerCopy, Transfers};
use warpstride_cuda::gpu::{Buffer, Device, GpuError, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    fluence::{FLUENCE_ROWS, fluence_tiles},
    rank_sums::PtychoAddRanks,
};
use warpstride_ranks::RankError;

/// The exchange between devices, as one of them sees it.
pub(in crate::engines::cuda) struct Exchange<M: Device> {
    ranks: Ranks,
    /// Copies between devices; without them, arrays go through the hosts.
    peers: Option<M::Peers>,
    frames: Interleaved,
    /// The pixels of the object that each device updates from sums in fixed point.
    pixels: Vec<Range<usize>>,
    /// (other rank, pixel of this device's part of the object): sums in fixed point, once they are
    /// needed.
    fixed: Option<M::Buffer<u64>>,
    /// (rank, pixel of the object): sums in floating point, once they are needed.
    object: Option<(M::Buffer<Complex32>, M::Buffer<f32>)>,
    /// (device, slice, mode, row, column) and (device, slice, row, column).
    probe: (M::Buffer<Complex32>, M::Buffer<f32>),
}

/// (slice, mode, row, column) and (slice, row, column): sums of a probe update.
pub(in crate::engines::cuda) type ProbeSums<'a, M> = (
    &'a <M as Device>::Buffer<Complex32>,
    &'a <M as Device>::Buffer<f32>,
);

impl<M: Device> Exchange<M> {
    /// The exchange of the frames of a scan, whose probe updates have `slices` slices on each
    /// device.
    pub(in crate::engines::cuda) fn new(
        device: &M,
        (layout, slices): (&Layout, u32),
        (ranks, regions): (Ranks, Option<Arc<Regions>>),
        peers: Option<M::Peers>,
    ) -> Result<Self> {
        let scan = layout.scan_frames as usize;
        let slices = match ranks.size() {
            1 => 0,
            size => size * slices as usize,
        };
        let pixels = layout.pixels() as usize;
        Ok(Self {
            frames: Interleaved::new(scan, [ranks.rank(), ranks.size()]).with_regions(regions),
            pixels: parts_of_object(layout, ranks.size()),
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
    pub(in crate::engines::cuda) fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Whether there is one device.
    pub(in crate::engines::cuda) fn alone(&self) -> bool {
        self.ranks.size() == 1
    }

    /// Whether arrays are copied directly between the devices.
    pub(in crate::engines::cuda) fn has_peers(&self) -> bool {
        self.peers.is_some()
    }

    /// The frames of this device.
    pub(in crate::engines::cuda) fn frames(&self) -> &Interleaved {
        &self.frames
    }

    /// The part of the object that this device updates: pixels, whole rows of tiles of the fluence.
    pub(in crate::engines::cuda) fn own_pixels(&self) -> Range<usize> {
        self.pixels[self.ranks.rank()].clone()
    }

    /// The tiles of the fluence on that part: the first one, and the end.
    pub(in crate::engines::cuda) fn own_tiles(&self, layout: &Layout) -> [u32; 2] {
        let Range { start, end } = self.own_pixels();
        [start, end].map(|pixel| {
            let row = pixel as u32 / layout.object_columns.max(1);
            fluence_tiles(row, layout.object_columns)
        })
    }

    /// The sums in fixed point of the other devices on this device's part of the object (other,
    /// pixel), and their number; none if they are not `wanted`.
    pub(in crate::engines::cuda) fn fixed_of_others(
        &mut self,
        device: &M,
        sums: &M::Buffer<u64>,
        wanted: bool,
    ) -> Result<(&M::Buffer<u64>, usize)> {
        let size = self.ranks.size();
        let own = self.own_pixels();
        let mut others = match self.fixed.take() {
            Some(others) => others,
            None => device.alloc("the object's sums of other devices", (size - 1) * own.len())?,
        };
        let count = if wanted { size - 1 } else { 0 };
        if count > 0 {
            let pixels = self.pixels.clone();
            let copies = move |rank: usize| -> Vec<PeerCopy> {
                let own = &pixels[rank];
                let devices = (0..size).filter(|device| *device != rank);
                (devices.enumerate())
                    .map(|(n, device)| PeerCopy {
                        device,
                        from: own.clone(),
                        at: n * own.len(),
                    })
                    .collect()
            };
            self.gather(device, (sums, sums.len()), &mut others, copies)?;
        }
        Ok((self.fixed.insert(others), count))
    }

    /// Gives this device's part of an array on the object to the others, and gets theirs.
    pub(in crate::engines::cuda) fn share<T: Pod + Send>(
        &mut self,
        device: &M,
        array: &mut M::Buffer<T>,
    ) -> Result<()> {
        if self.alone() {
            return Ok(());
        }
        let rank = self.ranks.rank();
        let own = self.own_pixels();
        if let Some(peers) = &mut self.peers {
            let pixels = &self.pixels;
            let copies = |rank: usize| {
                let others = (pixels.iter().enumerate()).filter(|(device, _)| *device != rank);
                others
                    .map(|(device, pixels)| PeerCopy {
                        device,
                        from: 0..pixels.len(),
                        at: pixels.start,
                    })
                    .collect()
            };
            let transfers = Transfers::new(rank, pixels.len(), copies);
            return device.share_with_peers(peers, array, own, &transfers);
        }
        let mut values = vec![T::zeroed(); array.len()];
        device.download(array, &mut values)?;
        let all = self.ranks.gathered(&values[own]).map_err(failed)?;
        device.upload(array, &all)
    }

    /// Replaces the object's sums in floating point by those of all devices; does nothing if the
    /// gate is closed.
    pub(in crate::engines::cuda) fn add_object(
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
        let copies = |_: usize| all_copies(size, elements);
        let (work, weight) = (&buffers.object_work, &buffers.object_weights);
        self.gather(device, (work, work.len()), &mut sums, copies)?;
        self.gather(device, (weight, weight.len()), &mut weights, copies)?;
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

    /// The slices of the probe's sums of all devices (device, slice), their number and that of the
    /// devices; `own` has those of this device.
    pub(in crate::engines::cuda) fn slices<'a>(
        &'a mut self,
        device: &M,
        own: ProbeSums<'a, M>,
        slices: u32,
    ) -> Result<(ProbeSums<'a, M>, u32, u32)> {
        if self.alone() {
            return Ok((own, slices, 1));
        }
        let (mut sums, mut weights) = std::mem::replace(
            &mut self.probe,
            (
                device.alloc("the probe's sums of all devices", 0)?,
                device.alloc("the probe's weights of all devices", 0)?,
            ),
        );
        let size = self.ranks.size();
        let [elements, pixels] = [own.0.len(), own.1.len()];
        let copies = |_: usize| all_copies(size, elements);
        let mut gathered = self.gather(device, (own.0, elements), &mut sums, copies);
        if gathered.is_ok() {
            let copies = |_: usize| all_copies(size, pixels);
            gathered = self.gather(device, (own.1, pixels), &mut weights, copies);
        }
        self.probe = (sums, weights);
        gathered?;
        let (sums, weights) = &self.probe;
        Ok(((sums, weights), slices * size as u32, size as u32))
    }

    /// The first values of `mine` of all devices, as many of each as `lengths` says, one after the
    /// other; devices in the order in which their sums are added ([`order_of_devices`]).
    pub(in crate::engines::cuda) fn gather_in_order<T: Pod + Send>(
        &mut self,
        device: &M,
        mine: &M::Buffer<T>,
        to: &mut M::Buffer<T>,
        lengths: &[usize],
    ) -> Result<()> {
        let mut at = 0;
        let mut copies = Vec::with_capacity(lengths.len());
        for (device, length) in order_of_devices(self.ranks.size()).into_iter().zip(lengths) {
            if *length > 0 {
                copies.push(PeerCopy {
                    device,
                    from: 0..*length,
                    at,
                });
            }
            at += length;
        }
        let sent = lengths.iter().copied().max().unwrap_or(0);
        self.gather(device, (mine, sent), to, |_| copies.clone())
    }

    /// Values of all frames, in their order, from those of this device's.
    pub(in crate::engines::cuda) fn of_frames<T: Pod + Default>(
        &self,
        own: Vec<T>,
    ) -> std::result::Result<Vec<T>, RankError> {
        if !self.frames.differs() {
            return Ok(own);
        }
        let all = self.ranks.gathered(&own)?;
        Ok(self.frames.sorted(&all, 1))
    }

    /// Copies from the first `sent` elements of the `mine` of all devices, which may have different
    /// lengths; `copies` says what each rank copies.
    fn gather<T: Pod + Send>(
        &mut self,
        device: &M,
        (mine, sent): (&M::Buffer<T>, usize),
        to: &mut M::Buffer<T>,
        copies: impl Fn(usize) -> Vec<PeerCopy>,
    ) -> Result<()> {
        let rank = self.ranks.rank();
        if let Some(peers) = &mut self.peers {
            let transfers = Transfers::new(rank, self.ranks.size(), copies);
            return device.gather_from_peers(peers, mine, to, &transfers);
        }
        let mut own = vec![T::zeroed(); mine.len()];
        device.download(mine, &mut own)?;
        own.resize(sent, T::zeroed());
        let of_ranks = self.ranks.gathered(&own).map_err(failed)?;
        let mut values = vec![T::zeroed(); to.len()];
        for copy in copies(rank) {
            let from = &of_ranks[copy.device * sent..][copy.from.clone()];
            values[copy.at..copy.at + from.len()].copy_from_slice(from);
        }
        device.upload(to, &values)
    }
}

/// An error of the ranks as one of a device.
pub(in crate::engines::cuda) fn failed(error: RankError) -> GpuError {
    GpuError::Exchange {
        reason: error.to_string(),
    }
}

/// Copies of whole arrays of `elements` elements from all devices: (device, element).
fn all_copies(devices: usize, elements: usize) -> Vec<PeerCopy> {
    let of_device = |device: usize| PeerCopy {
        device,
        from: 0..elements,
        at: device * elements,
    };
    (0..devices).map(of_device).collect()
}

/// The pixels of the object that each of `devices` devices updates: whole rows of tiles of the
/// fluence.
fn parts_of_object(layout: &Layout, devices: usize) -> Vec<Range<usize>> {
    let bands = layout.object_rows.div_ceil(FLUENCE_ROWS) as usize;
    let start = |device: usize| {
        let row = device * bands / devices * FLUENCE_ROWS as usize;
        row.min(layout.object_rows as usize) * layout.object_columns as usize
    };
    (0..devices)
        .map(|device| start(device)..start(device + 1))
        .collect()
}
