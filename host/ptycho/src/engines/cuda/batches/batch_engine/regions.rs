//! Mirrors cpu/batches/regions.rs: mini-batches of the regions of a scan, each with a copy of
//! object and probe.
//!
//! Several devices have whole regions, and meet where copies are merged. A copy takes the place of
//! object and probe in the buffers while its batches are worked on.

mod copies;

use super::{BatchBuffers, Deferred, Part, Run};
use crate::Step;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frame_stream::Metrics;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::interleaved::Interleaved;
use crate::engines::method::BatchMethod;
use crate::engines::regions::{REGIONS, Regions, regions_of};
pub(super) use copies::RegionBuffers;
use copies::{Merge, RegionCopy};
use std::mem::swap;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_kernels::ptycho::tile_frames::tiles;

/// Batches that follow each other on one copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    /// Number of the copy on this device.
    copy: usize,
    lists: usize,
    /// What follows it.
    merge: Option<Merge>,
}

/// The batches of an iteration on one device.
pub(in crate::engines::cuda) struct Schedule {
    /// Its frames, numbered as on the device.
    pub(in crate::engines::cuda) lists: Vec<Vec<u32>>,
    groups: Vec<Group>,
}

impl Schedule {
    /// The regions of this device in `segments` of the scan.
    pub(in crate::engines::cuda) fn new(
        segments: &[[Vec<Vec<u32>>; REGIONS]],
        division: &Interleaved,
    ) -> Self {
        let own = regions_of(division.rank(), division.ranks());
        let (mut lists, mut groups) = (Vec::new(), Vec::new());
        for (number, segment) in segments.iter().enumerate() {
            for (copy, region) in own.iter().enumerate() {
                let last = copy + 1 == own.len();
                let merge = match number + 1 == segments.len() {
                    true => Merge::All,
                    false => Merge::Shared,
                };
                groups.push(Group {
                    copy,
                    lists: segment[*region].len(),
                    merge: last.then_some(merge),
                });
                lists.extend_from_slice(&segment[*region]);
            }
        }
        Self {
            lists: division.own_lists(&lists),
            groups,
        }
    }
}

/// Where a device is in the groups of an iteration.
struct Progress {
    group: usize,
    /// Lists of the group that are done.
    done: usize,
    /// The deferred momentum of the group, once it has begun.
    deferred: Option<Deferred>,
}

impl<M: Device> Run<'_, M> {
    /// One pass over the batches of `schedule`.
    pub(in crate::engines::cuda) fn iterate_regions(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        schedule: &Schedule,
        (regions, division, corners): (&Regions, &Interleaved, &[[u32; 2]]),
    ) -> Result<()> {
        self.begin(method)?;
        // Those of the whole object serve all regions: graphs have their address.
        let [rows, columns] = [self.layout.object_rows, self.layout.object_columns];
        self.hold_counters(tiles(rows as usize, columns as usize))?;
        let device = self.device;
        let mut of_regions = match self.batches.regions.take() {
            Some(of_regions) => of_regions,
            None => RegionBuffers::new(device, regions, division)?,
        };
        let velocities = [&self.batches.object_velocity, &self.batches.probe_velocity];
        let alone = self.exchange.is_none();
        let on = (device, self.layout);
        of_regions.begin(on, self.buffers, velocities, alone)?;
        of_regions.set_corners(on, (regions, division), corners)?;
        swap(&mut of_regions.corners, &mut self.buffers.corners);
        let whole_groups = self.buffers.stream.is_none();
        let mut progress = Progress {
            group: 0,
            done: 0,
            deferred: None,
        };
        let Self {
            layout,
            buffers,
            frames,
            batches: own,
            probe_fft,
            exchange,
            ..
        } = self;
        let mut work = |layout: &Layout,
                        buffers: &mut Buffers<M>,
                        frames: &mut FrameBuffers<M>,
                        batches: &[Batch]| {
            let mut run = Run {
                device,
                layout,
                buffers,
                frames,
                batches: &mut **own,
                probe_fft,
                exchange: exchange.as_deref_mut(),
                deferred: None,
                distances: None,
                group: 0,
            };
            let of_block = (batches, whole_groups);
            run.work_on(
                step,
                method,
                (&schedule.groups, &mut of_regions),
                &mut progress,
                of_block,
            )
        };
        let lists = &schedule.lists;
        let layout = &Layout {
            shares: 0,
            ..**layout
        };
        let done = frames.each(device, layout, buffers, lists, Metrics::Written, &mut work);
        swap(&mut of_regions.corners, &mut self.buffers.corners);
        self.batches.regions = Some(of_regions);
        done
    }

    /// Works on the next batches, and merges after the last of each segment.
    fn work_on(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        (groups, of_regions): (&[Group], &mut RegionBuffers<M>),
        progress: &mut Progress,
        (mut batches, whole_groups): (&[Batch], bool),
    ) -> Result<()> {
        while let Some(group) = groups.get(progress.group) {
            let now = batches.len().min(group.lists - progress.done);
            if now == 0 && progress.done < group.lists {
                // The next block has the rest of it.
                return Ok(());
            }
            let (these, others) = batches.split_at(now);
            if let Some(copy) = of_regions.copies.get_mut(group.copy)
                && now > 0
            {
                let layout = copy.layout(self.layout);
                self.exchange_with(copy);
                let of_group = (group, &mut *progress, whole_groups);
                let done = self.part_of_group(step, method, (&layout, these), of_group);
                self.exchange_with(copy);
                done?;
            }
            batches = others;
            progress.done += now;
            if progress.done < group.lists {
                return Ok(());
            }
            if let Some(merge) = group.merge {
                let BatchBuffers {
                    object_velocity,
                    probe_velocity,
                    ..
                } = &mut *self.batches;
                of_regions.merge(
                    (self.device, self.layout),
                    self.buffers,
                    [object_velocity, probe_velocity],
                    self.exchange.as_deref_mut(),
                    (merge, step.update_object),
                )?;
            }
            (progress.group, progress.done) = (progress.group + 1, 0);
        }
        Ok(())
    }

    fn exchange_with(&mut self, copy: &mut RegionCopy<M>) {
        let BatchBuffers {
            object_velocity,
            probe_velocity,
            ..
        } = &mut *self.batches;
        copy.exchange(self.buffers, [object_velocity, probe_velocity]);
    }

    /// Works on `batches` of a group, with its copy in the place of object and probe.
    fn part_of_group(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        (layout, batches): (&Layout, &[Batch]),
        (group, progress, whole_groups): (&Group, &mut Progress, bool),
    ) -> Result<()> {
        let Some(first) = batches.first() else {
            return Ok(());
        };
        let begins = progress.done == 0;
        let ends = progress.done + batches.len() == group.lists;
        let alone = self.exchange.is_none();
        let part = match (begins, whole_groups && alone) {
            (true, true) => Part::All,
            (true, false) => Part::First,
            (false, _) => Part::Later,
        };
        let mut run = Run {
            device: self.device,
            layout,
            buffers: &mut *self.buffers,
            frames: &mut *self.frames,
            batches: &mut *self.batches,
            probe_fft: self.probe_fft,
            exchange: None,
            deferred: progress.deferred.take(),
            distances: None,
            group: progress.group,
        };
        if begins && super::defers(run.device, run.layout, step, method, group.lists) {
            run.begin_deferred()?;
        }
        // Batches of a block are numbered from the beginning of the block.
        run.deferred = (run.deferred).map(|of| of.at(progress.done as u32, first.number));
        run.pass(step, method, batches, part)?;
        if ends {
            run.deferred = (run.deferred).map(|of| of.at(group.lists as u32, 0));
            run.end_deferred(step, method)?;
        }
        progress.deferred = run.deferred;
        Ok(())
    }
}
