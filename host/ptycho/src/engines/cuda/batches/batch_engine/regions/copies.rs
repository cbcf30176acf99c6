//! The copies of object and probe that regions of a scan have, and their merges.
//!
//! A copy has the part of the object with the windows of its region, on which their corners are
//! then. Between iterations there are no copies, but their memory stays.

use crate::engines::cuda::devices::exchange::Exchange;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::copy_layers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::interleaved::Interleaved;
use crate::engines::regions::{Extent, REGIONS, Regions, regions_of};
use std::mem::swap;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::region_merge::{
    NO_ENTRY, PtychoCopyRegion, PtychoMergeRegions, PtychoPackRegion, region_values,
};

/// A merge of the copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merge {
    /// The tiles of several regions, into the copies.
    Shared,
    /// All tiles with windows, into object and probe.
    All,
}

/// Object and probe of a region, with their momentum.
pub(super) struct RegionCopy<M: Device> {
    extent: Extent,
    object: M::Buffer<Complex32>,
    velocity: M::Buffer<Complex32>,
    probe: M::Buffer<Complex32>,
    probe_velocity: M::Buffer<Complex32>,
    /// Tiles of the copy and shares, of what it packs: for a merge of the shared tiles, of all.
    packed: [(M::Buffer<u32>, M::Buffer<f32>); 2],
    /// Where merged values of the shared tiles go.
    merged: MergedTiles<M>,
}

impl<M: Device> RegionCopy<M> {
    /// Exchanges it with object and probe of the engine.
    pub(super) fn exchange(
        &mut self,
        buffers: &mut Buffers<M>,
        [object, probe]: [&mut M::Buffer<Complex32>; 2],
    ) {
        swap(&mut self.object, &mut buffers.object);
        swap(&mut self.probe, &mut buffers.probe);
        swap(&mut self.velocity, object);
        swap(&mut self.probe_velocity, probe);
    }

    /// The layout while it is in the place of object and probe.
    pub(super) fn layout(&self, layout: &Layout) -> Layout {
        let [rows, columns] = self.extent.shape;
        Layout {
            object_rows: rows as u32,
            object_columns: columns as u32,
            ..*layout
        }
    }
}

/// Tiles to which merged values are written.
struct MergedTiles<M: Device> {
    tiles: M::Buffer<u32>,
    /// (tile, region): which entry of the region it is.
    entries: M::Buffer<[u32; REGIONS]>,
}

/// What regions pack for a merge.
struct Packed<M: Device> {
    /// (region): number of entries.
    counts: [usize; REGIONS],
    /// (region): where it begins among the packed values, and its number of entries.
    regions: M::Buffer<[u32; 2]>,
    /// The same on the host.
    begins: Vec<[u32; 2]>,
}

impl<M: Device> Packed<M> {
    fn new(device: &M, counts: [usize; REGIONS]) -> Result<Self> {
        Ok(Self {
            counts,
            regions: device.alloc("the regions' packed values", REGIONS)?,
            begins: Vec::new(),
        })
    }

    /// Sets where the regions' values begin; returns the lengths of them.
    fn set_lengths(
        &mut self,
        device: &M,
        elements: usize,
        momentum: bool,
    ) -> Result<[usize; REGIONS]> {
        let lengths = (self.counts).map(|count| region_values(count, elements, momentum));
        let mut first = 0;
        let begins: Vec<[u32; 2]> = (lengths.iter().zip(self.counts))
            .map(|(length, count)| {
                first += length;
                [(first - length) as u32, count as u32]
            })
            .collect();
        if begins != self.begins {
            device.upload(&mut self.regions, &begins)?;
            self.begins = begins;
        }
        Ok(lengths)
    }
}

/// The entries of some tiles of the object: of each tile, and of each region.
struct Entries {
    tiles: Vec<u32>,
    /// (tile, region)
    numbers: Vec<[u32; REGIONS]>,
    /// (region): tile and share.
    of_regions: [Vec<(u32, f32)>; REGIONS],
}

impl Entries {
    fn new(regions: &Regions, tiles: Vec<u32>) -> Self {
        let mut of_regions: [Vec<(u32, f32)>; REGIONS] = Default::default();
        let of_tile = |tile: &u32| {
            let shares = regions.shares()[*tile as usize];
            let mut numbers = [NO_ENTRY; REGIONS];
            for region in (0..REGIONS).filter(|region| shares[*region] > 0.0) {
                numbers[region] = of_regions[region].len() as u32;
                of_regions[region].push((*tile, shares[region] as f32));
            }
            numbers
        };
        Self {
            numbers: tiles.iter().map(of_tile).collect(),
            tiles,
            of_regions,
        }
    }

    fn counts(&self) -> [usize; REGIONS] {
        self.of_regions.each_ref().map(Vec::len)
    }

    /// The entries of a region, with tiles of its extent.
    fn packed<M: Device>(
        &self,
        device: &M,
        region: usize,
        (extent, across): (Extent, usize),
    ) -> Result<(M::Buffer<u32>, M::Buffer<f32>)> {
        let (tiles, shares): (Vec<u32>, Vec<f32>) = (self.of_regions[region].iter())
            .filter_map(|(tile, share)| Some((extent.tile(*tile, across)?, *share)))
            .unzip();
        Ok((upload(device, &tiles)?, upload(device, &shares)?))
    }

    /// The tiles that `number` has a number for.
    fn merged<M: Device>(
        &self,
        device: &M,
        number: impl Fn(u32) -> Option<u32>,
    ) -> Result<MergedTiles<M>> {
        let (tiles, entries): (Vec<u32>, Vec<[u32; REGIONS]>) = (self.tiles.iter())
            .zip(&self.numbers)
            .filter_map(|(tile, numbers)| Some((number(*tile)?, *numbers)))
            .unzip();
        Ok(MergedTiles {
            tiles: upload(device, &tiles)?,
            entries: upload(device, &entries)?,
        })
    }
}

fn upload<M: Device, T: bytemuck::Pod + Send>(device: &M, values: &[T]) -> Result<M::Buffer<T>> {
    let mut buffer = device.alloc("the tiles of regions", values.len())?;
    device.upload(&mut buffer, values)?;
    Ok(buffer)
}

/// What the regions of a device need.
pub(in crate::engines::cuda) struct RegionBuffers<M: Device> {
    pub(super) copies: Vec<RegionCopy<M>>,
    /// The regions of the copies.
    own: Vec<usize>,
    shared: Packed<M>,
    all: Packed<M>,
    /// Where merged values of all tiles go.
    merged: MergedTiles<M>,
    /// The same of no tiles: an object that is not updated stays as it is.
    of_probe: Packed<M>,
    no_entries: (M::Buffer<u32>, M::Buffer<f32>),
    no_tiles: MergedTiles<M>,
    /// (frame): corners of the windows on the copies.
    pub(super) corners: M::Buffer<[u32; 2]>,
    /// The same on the host.
    present_corners: Vec<[u32; 2]>,
    /// What the regions of this device have packed.
    packed: M::Buffer<Complex32>,
    /// What all regions have packed, if there are other devices.
    of_devices: M::Buffer<Complex32>,
}

impl<M: Device> RegionBuffers<M> {
    pub(super) fn new(device: &M, regions: &Regions, division: &Interleaved) -> Result<Self> {
        let own = regions_of(division.rank(), division.ranks());
        let across = regions.tile_columns();
        let [shared, all] = [false, true].map(|all| Entries::new(regions, regions.tiles_of(all)));
        let copy = |region: &usize| {
            let extent = regions.extent(*region);
            let of_extent = (extent, across);
            Ok(RegionCopy {
                extent,
                object: device.alloc("a region's object", 0)?,
                velocity: device.alloc("a region's momentum of the object", 0)?,
                probe: device.alloc("a region's probe", 0)?,
                probe_velocity: device.alloc("a region's momentum of the probe", 0)?,
                packed: [
                    shared.packed(device, *region, of_extent)?,
                    all.packed(device, *region, of_extent)?,
                ],
                merged: shared.merged(device, |tile| extent.tile(tile, across))?,
            })
        };
        Ok(Self {
            copies: own.iter().map(copy).collect::<Result<_>>()?,
            shared: Packed::new(device, shared.counts())?,
            merged: all.merged(device, Some)?,
            all: Packed::new(device, all.counts())?,
            of_probe: Packed::new(device, [0; REGIONS])?,
            no_entries: (upload(device, &[])?, upload(device, &[])?),
            no_tiles: all.merged(device, |_| None)?,
            corners: device.alloc("the corners on the regions", 0)?,
            present_corners: Vec::new(),
            packed: device.alloc("the packed regions", 0)?,
            of_devices: device.alloc("the packed regions of all devices", 0)?,
            own,
        })
    }

    /// Sets the corners of this device's windows on the copies from those of all frames on the
    /// object.
    pub(super) fn set_corners(
        &mut self,
        (device, layout): (&M, &Layout),
        (regions, division): (&Regions, &Interleaved),
        corners: &[[u32; 2]],
    ) -> Result<()> {
        let window = [layout.rows, layout.columns].map(|n| n as usize);
        let mut of_scan = corners.to_vec();
        for region in &self.own {
            let extent = regions.extent(*region);
            for frame in regions.frames(*region) {
                let corner = &mut of_scan[*frame as usize];
                *corner = extent.corner(*corner, window);
            }
        }
        let own = division.pick(&of_scan);
        if self.corners.len() != own.len() {
            self.corners = device.alloc("the corners on the regions", own.len())?;
        }
        if self.present_corners != own {
            device.upload(&mut self.corners, &own)?;
            self.present_corners = own;
        }
        Ok(())
    }

    /// Makes the copies those of object and probe.
    pub(super) fn begin(
        &mut self,
        (device, layout): (&M, &Layout),
        buffers: &Buffers<M>,
        [velocity, probe_velocity]: [&M::Buffer<Complex32>; 2],
        alone: bool,
    ) -> Result<()> {
        for copy in &mut self.copies {
            let on = (device, layout, copy.extent);
            copy_part(on, &buffers.object, &mut copy.object)?;
            copy_part(on, velocity, &mut copy.velocity)?;
            let pairs = [
                (&buffers.probe, &mut copy.probe),
                (probe_velocity, &mut copy.probe_velocity),
            ];
            for (from, to) in pairs {
                resize(device, to, from.len())?;
                if !from.is_empty() {
                    copy_layers(device, &buffers.open, from, to)?;
                }
            }
        }
        let momentum = !velocity.is_empty();
        let elements = buffers.probe.len();
        self.shared.set_lengths(device, elements, momentum)?;
        let lengths = self.all.set_lengths(device, elements, momentum)?;
        let own: usize = self.own.iter().map(|region| lengths[*region]).sum();
        resize(device, &mut self.packed, own)?;
        let total = if alone { 0 } else { lengths.iter().sum() };
        resize(device, &mut self.of_devices, total)
    }

    /// Merges the copies, with the object if it is updated.
    pub(super) fn merge(
        &mut self,
        (device, layout): (&M, &Layout),
        buffers: &mut Buffers<M>,
        [velocity, probe_velocity]: [&mut M::Buffer<Complex32>; 2],
        exchange: Option<&mut Exchange<M>>,
        (merge, with_object): (Merge, bool),
    ) -> Result<()> {
        let of = match merge {
            _ if !with_object => &mut self.of_probe,
            Merge::All => &mut self.all,
            Merge::Shared => &mut self.shared,
        };
        let elements = layout.probe_elements();
        let lengths = of.set_lengths(device, elements, !velocity.is_empty())?;
        let mut first = 0;
        for (copy, region) in self.copies.iter().zip(&self.own) {
            let [shared, all] = &copy.packed;
            let (tiles, shares) = match merge {
                _ if !with_object => &self.no_entries,
                Merge::All => all,
                Merge::Shared => shared,
            };
            let of_copy = copy.layout(layout);
            let capacity = self.packed.len() as u32;
            device.launch(
                &PtychoPackRegion {
                    packed: self.packed.write(),
                    object: copy.object.read(),
                    velocity: copy.velocity.read(),
                    probe: copy.probe.read(),
                    probe_velocity: copy.probe_velocity.read(),
                    tiles: tiles.read(),
                    shares: shares.read(),
                    capacity,
                    first: first as u32,
                    object_rows: of_copy.object_rows,
                    object_columns: of_copy.object_columns,
                    elements: elements as u32,
                    velocities: copy.velocity.len() as u32,
                    probe_velocities: copy.probe_velocity.len() as u32,
                    entries: tiles.len() as u32,
                },
                Work::Elements(lengths[*region]),
            )?;
            first += lengths[*region];
        }
        let values = match exchange {
            Some(exchange) => {
                let of_each = REGIONS / exchange.ranks().size().clamp(1, REGIONS);
                let of_devices: Vec<usize> = (lengths.chunks(of_each))
                    .map(|of_device| of_device.iter().sum())
                    .collect();
                let all = &mut self.of_devices;
                exchange.gather_in_order(device, &self.packed, all, &of_devices)?;
                &self.of_devices
            }
            None => &self.packed,
        };
        let values = (values, &of.regions);
        match merge {
            Merge::All => {
                let probe = &mut buffers.probe;
                let to = [&mut buffers.object, velocity, probe, probe_velocity];
                let tiles = if with_object {
                    &self.merged
                } else {
                    &self.no_tiles
                };
                add(device, layout, tiles, values, to)
            }
            Merge::Shared => self.copies.iter_mut().try_for_each(|copy| {
                let of_copy = copy.layout(layout);
                let to = [
                    &mut copy.object,
                    &mut copy.velocity,
                    &mut copy.probe,
                    &mut copy.probe_velocity,
                ];
                let tiles = if with_object {
                    &copy.merged
                } else {
                    &self.no_tiles
                };
                add(device, &of_copy, tiles, values, to)
            }),
        }
    }
}

/// Frees memory before it takes more.
fn resize<M: Device>(device: &M, buffer: &mut M::Buffer<Complex32>, length: usize) -> Result<()> {
    if buffer.len() != length {
        *buffer = device.alloc("the copies of regions", 0)?;
        *buffer = device.alloc("the copies of regions", length)?;
    }
    Ok(())
}

/// Copies the part of an array on the object, if there is one.
fn copy_part<M: Device>(
    (device, layout, extent): (&M, &Layout, Extent),
    from: &M::Buffer<Complex32>,
    to: &mut M::Buffer<Complex32>,
) -> Result<()> {
    let [rows, columns] = extent.shape;
    let pixels = if from.is_empty() { 0 } else { rows * columns };
    resize(device, to, pixels)?;
    if pixels == 0 {
        return Ok(());
    }
    device.launch(
        &PtychoCopyRegion {
            to: to.write(),
            from: from.read(),
            top: extent.first[0] as u32,
            left: extent.first[1] as u32,
            rows: rows as u32,
            columns: columns as u32,
            object_rows: layout.object_rows,
            object_columns: layout.object_columns,
        },
        Work::Elements(pixels),
    )
}

/// Writes the sums of what the regions have packed.
fn add<M: Device>(
    device: &M,
    layout: &Layout,
    to_tiles: &MergedTiles<M>,
    (values, regions): (&M::Buffer<Complex32>, &M::Buffer<[u32; 2]>),
    [object, velocity, probe, probe_velocity]: [&mut M::Buffer<Complex32>; 4],
) -> Result<()> {
    let (count, elements) = (to_tiles.tiles.len(), layout.probe_elements());
    let [velocities, probe_velocities] = [velocity.len(), probe_velocity.len()];
    device.launch(
        &PtychoMergeRegions {
            object: object.write(),
            velocity: velocity.write(),
            probe: probe.write(),
            probe_velocity: probe_velocity.write(),
            all: values.read(),
            regions: regions.read(),
            tiles: to_tiles.tiles.read(),
            entries: to_tiles.entries.read(),
            length: values.len() as u32,
            object_rows: layout.object_rows,
            object_columns: layout.object_columns,
            elements: elements as u32,
            velocities: velocities as u32,
            probe_velocities: probe_velocities as u32,
            count: count as u32,
        },
        Work::Elements(region_values(count, elements, velocities > 0)),
    )
}
