//! Batches in few launches, which nothing waits for, for scans whose frames a block holds in its
//! registers: 64² or 128² pixels. `cpu/batches/batch_engine.rs` has the same steps.
//!
//! A batch is one launch for χ, one for its sums on object and probe, one that divides them, two
//! for the steps of LSQ-ML, and one that changes object and probe; at exact positions, and for
//! several modes, they are other kernels ([`exact`]), which shift the probe in the registers. χ of
//! a batch stays in the L2 cache. Frames and ranges of the batches are on the device, so an epoch
//! can be captured as a graph, to be replayed for other batches. A pass of ePIE or rPIE with one
//! frame a batch is a single launch for one mode, unless the probe has a Fourier support; at exact
//! positions only for 128² pixels and on devices with clusters of blocks.

use super::batch::Batch;
use super::batch_engine::{BatchBuffers, Part, Run, whole};
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::projections::object_update::clip_limits;
use crate::engines::cuda::step_arguments::{alpha, updates};
use crate::engines::method::{BatchMethod, BatchUpdate};
use crate::engines::step_plan::{keeps_frame, spreads_frame};
use crate::engines::update_version::TILE;
use crate::engines::updates::FLOOR;
use crate::{Step, StepMetrics};
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    batch_advance::PtychoBatchAdvance,
    batch_finish::PtychoBatchFinish,
    batch_step_sums::PtychoBatchStepSums,
    batch_sums::PtychoBatchSums,
    frame_chi::{PtychoFrameChi64, PtychoFrameChi128},
    pie_cluster::PtychoPieCluster128,
    pie_cluster_exact::PtychoPieClusterExact128,
    pie_pass::{PtychoPiePass64, PtychoPiePass128},
};

/// `launch_by_side!(device, side, work, Kernel64 | Kernel128 { … })`
macro_rules! launch_by_side {
    ($device:expr, $side:expr, $work:expr, $small:ident | $large:ident $fields:tt) => {
        if $side == 64 {
            $device.launch(&$small $fields, $work)
        } else {
            $device.launch(&$large $fields, $work)
        }
    };
}
pub(in crate::engines::cuda) use launch_by_side;

mod exact;
mod memory;

pub(in crate::engines::cuda) use memory::{Epoch, Fused, PARTS, roots, side_of, side_of_modes};

impl<M: Device> Run<'_, M> {
    /// One pass over batches, which are `part` of an iteration's.
    pub(in crate::engines::cuda) fn fused_pass(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        batches: &[Batch],
        part: Part,
    ) -> Result<()> {
        // The kernels that change the probe transform it too.
        if part != Part::Later && self.shifts() {
            self.transform_probe()?;
        }
        let divided = self.exchange.is_some();
        // That launch goes through all frames.
        if self.frames.size == 1
            && !divided
            && !method.regions
            && self.has_pass()
            && step.probe_fourier_support.is_none()
            && let BatchUpdate::Pie {
                object_step,
                probe_step,
                ..
            } = method.update
        {
            return self.pie_pass(step, method, [object_step, probe_step], part);
        }
        // With a regulariser, launches depend on the number of frames in each batch; those of
        // blocks are captured nowhere, and devices meet between launches.
        if method.smoothness().is_some() || divided || part != Part::All {
            return self.each(step, method, batches);
        }
        // What changes from one iteration to the next and no launch depends on.
        let key = Step {
            iteration: 0,
            refinement: None,
            metrics: StepMetrics::ALL,
            ..*step
        };
        let (device, shifts, group) = (self.device, self.shifts(), self.group);
        let same = |epoch: &Epoch<M>| epoch.step == key && epoch.shifts == shifts;
        if !self.frames.epochs.get(&group).is_some_and(same) {
            self.frames.epochs.remove(&group);
            let graph = device.capture(&mut || self.each(step, method, batches))?;
            let Some(graph) = graph else {
                return self.each(step, method, batches);
            };
            let epoch = Epoch {
                step: key,
                shifts,
                graph,
            };
            self.frames.epochs.insert(group, epoch);
        }
        match self.frames.epochs.get_mut(&group) {
            Some(epoch) => device.replay(&mut epoch.graph),
            None => Ok(()),
        }
    }

    /// Queues the launches of all batches.
    fn each(&mut self, step: &Step, method: &BatchMethod, batches: &[Batch]) -> Result<()> {
        for batch in batches {
            self.catch_up(step, method, *batch)?;
            self.chi(step, *batch)?;
            self.sums(step, method, *batch)?;
            self.add_devices(step, *batch, 1.0)?;
            let extra = if step.update_object {
                self.add_smoothness(method, *batch)?
            } else {
                0.0
            };
            self.divide(step, method, extra)?;
            if let BatchUpdate::LeastSquares { smoothness, .. } = method.update {
                let parts = self.fused_step_sums(*batch)?;
                self.step_mean(step, smoothness, *batch, parts)?;
            }
            self.fused_advance(step, method)?;
        }
        Ok(())
    }

    /// Whether probes are shifted, if only by 0: between pixels and for several modes.
    fn shifts(&self) -> bool {
        self.frames.shifts() || self.layout.modes > 1
    }

    /// χ of a batch, and the metrics of its frames.
    fn chi(&mut self, step: &Step, batch: Batch) -> Result<()> {
        if self.shifts() {
            return self.exact_chi(step, batch);
        }
        let Some(fused) = &mut self.batches.fused else {
            return Ok(());
        };
        let (frames, buffers, layout) = (&mut *self.frames, &mut *self.buffers, self.layout);
        launch_by_side!(
            self.device,
            fused.side,
            Work::Blocks(frames.size),
            PtychoFrameChi64
                | PtychoFrameChi128 {
                    chi: frames.chi.write(),
                    largest: fused.largest.write(),
                    errors: buffers.errors.write(),
                    moved: buffers.moved.write(),
                    photon: buffers.photon.write(),
                    residual: buffers.residual.write(),
                    free: buffers.free.write(),
                    probe: buffers.probe.read(),
                    object: buffers.object.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    corners: buffers.corners.read(),
                    order: frames.order.read(),
                    ranges: frames.ranges.read(),
                    roots: fused.roots.read(),
                    frames: layout.frames,
                    most: frames.size as u32,
                    batches: frames.ranges.len() as u32,
                    batch: batch.number,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                }
        )
    }

    /// Numerators, weights and the largest weights on object and probe.
    fn sums(&mut self, step: &Step, method: &BatchMethod, batch: Batch) -> Result<()> {
        let shifts = self.shifts();
        let BatchBuffers {
            object,
            object_weights,
            probe,
            probe_weights,
            bounds,
            fused: Some(fused),
            ..
        } = &mut *self.batches
        else {
            return Ok(());
        };
        let (frames, buffers, layout) = (&*self.frames, &*self.buffers, self.layout);
        let tiles = (layout.object_rows as usize).div_ceil(TILE[0])
            * (layout.object_columns as usize).div_ceil(TILE[1]);
        let groups = (layout.pixels() as usize).div_ceil(TILE[1]);
        let most = frames.size as u32;
        let (shared, probes, slices) = if shifts {
            (&frames.probes, most, most)
        } else {
            (&buffers.probe, 1, 0)
        };
        self.device.launch(
            &PtychoBatchSums {
                numerators: object.write(),
                weights: object_weights.write(),
                sums: probe.write(),
                probe_weights: probe_weights.write(),
                largest: fused.largest.write(),
                bounds: bounds.write(),
                probe: shared.read(),
                spectra: frames.work.read(),
                chi: frames.chi.read(),
                object: buffers.object.read(),
                corners: buffers.corners.read(),
                order: frames.order.read(),
                ranges: frames.ranges.read(),
                share_ends: frames.share_ends.read(),
                given_bounds: frames.bounds.read(),
                frames: layout.frames,
                most,
                batches: frames.ranges.len() as u32,
                batch: batch.number,
                probes,
                slices,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                updates: updates(step),
                given: frames.bounds.len() as u32,
                whole: whole(method),
                scale: 1.0,
            },
            Work::Turns(groups * layout.modes as usize + tiles),
        )
    }

    /// Divides the numerators; `extra` is added to the object's weights.
    fn divide(&mut self, step: &Step, method: &BatchMethod, extra: f64) -> Result<()> {
        if self.shifts() {
            return self.exact_divide(step, method, extra);
        }
        let BatchBuffers {
            object,
            object_weights,
            probe,
            probe_weights,
            bounds,
            fused: Some(fused),
            ..
        } = &mut *self.batches
        else {
            return Ok(());
        };
        let (elements, pixels) = (self.layout.object_elements(), self.layout.pixels());
        self.device.launch(
            &PtychoBatchFinish {
                object: object.write(),
                probe: probe.write(),
                weights: object_weights.read(),
                probe_weights: probe_weights.read(),
                largest: fused.largest.read(),
                bounds: bounds.read(),
                elements: elements as u32,
                columns: self.layout.object_columns,
                pixels,
                updates: updates(step),
                extra: extra as f32,
                floor: FLOOR as f32,
                object_alpha: alpha(method.object_denominator()),
                probe_alpha: alpha(method.probe_denominator()),
            },
            Work::Elements(elements + pixels as usize),
        )
    }

    /// The sums behind the frames' steps; returns the parts of a frame.
    fn fused_step_sums(&mut self, batch: Batch) -> Result<u32> {
        if self.shifts() {
            self.exact_step_sums(batch)?;
            return Ok(self.layout.modes);
        }
        let BatchBuffers {
            object,
            probe,
            step_sums,
            ..
        } = &mut *self.batches;
        let (frames, buffers, layout) = (&*self.frames, &*self.buffers, self.layout);
        self.device.launch(
            &PtychoBatchStepSums {
                sums: step_sums.write(),
                probe: buffers.probe.read(),
                probe_direction: probe.read(),
                chi: frames.chi.read(),
                object: buffers.object.read(),
                direction: object.read(),
                corners: buffers.corners.read(),
                order: frames.order.read(),
                ranges: frames.ranges.read(),
                frames: layout.frames,
                most: frames.size as u32,
                batches: frames.ranges.len() as u32,
                batch: batch.number,
                rows: layout.rows,
                columns: layout.columns,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                parts: PARTS,
            },
            Work::Blocks(frames.size * PARTS as usize),
        )?;
        Ok(PARTS)
    }

    /// Changes object and probe along their directions.
    fn fused_advance(&mut self, step: &Step, method: &BatchMethod) -> Result<()> {
        if self.shifts() {
            return self.exact_advance(step, method);
        }
        let momentum = method.momentum();
        let deferred = u32::from(self.deferred.is_some());
        let counts = self.batches.velocities(momentum);
        let BatchBuffers {
            object,
            probe,
            steps,
            bounds,
            object_velocity,
            probe_velocity,
            ..
        } = &mut *self.batches;
        let (device, layout) = (self.device, self.layout);
        let [clip_low, clip_high] = clip_limits(step.clip_object);
        let (elements, pixels) = (layout.object_elements(), layout.pixels());
        device.launch(
            &PtychoBatchAdvance {
                object: self.buffers.object.write(),
                probe: self.buffers.probe.write(),
                object_velocity: object_velocity.write(),
                probe_velocity: probe_velocity.write(),
                object_direction: object.read(),
                probe_direction: probe.read(),
                support: self.buffers.support.read(),
                steps: steps.read(),
                bounds: bounds.read(),
                elements: elements as u32,
                columns: layout.object_columns,
                pixels,
                velocities: counts[0],
                probe_velocities: counts[1],
                updates: updates(step),
                deferred,
                momentum: momentum as f32,
                clip_low,
                clip_high,
            },
            Work::Elements(elements + pixels as usize),
        )?;
        self.constrain_spectrum(step)?;
        Ok(())
    }

    /// Whether there is a kernel for a whole pass: that for 64² has the probe in shared memory on
    /// every device; at exact positions a cluster is needed.
    fn has_pass(&self) -> bool {
        let Some(fused) = &self.batches.fused else {
            return false;
        };
        if self.layout.modes > 1 {
            false
        } else if self.shifts() {
            fused.side == 128 && self.has_clusters()
        } else {
            fused.side == 128 || keeps_frame(64, self.device.shared_memory())
        }
    }

    /// Whether a frame of 128² can be spread over a cluster of blocks.
    fn has_clusters(&self) -> bool {
        spreads_frame(128, self.device.arch(), self.device.shared_memory())
    }

    /// One pass with one frame a batch.
    fn pie_pass(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        steps: [f64; 2],
        part: Part,
    ) -> Result<()> {
        let (shifts, has_clusters) = (self.shifts(), self.has_clusters());
        let Some(fused) = &self.batches.fused else {
            return Ok(());
        };
        let FrameBuffers {
            order,
            probe_spectra: probe_spectrum,
            ..
        } = &mut *self.frames;
        let Buffers {
            object,
            probe,
            errors,
            moved,
            photon,
            residual,
            free,
            support,
            magnitudes,
            scales,
            corners,
            fractions,
            ..
        } = &mut *self.buffers;
        let clip = step.clip_object.filter(|_| step.update_object);
        let [clip_low, clip_high] = clip_limits(clip);
        let steps = [
            if step.update_object { steps[0] } else { 0.0 },
            if step.update_probe { steps[1] } else { 0.0 },
        ];
        // All ones without a support.
        let supported = u32::from(step.update_probe && step.probe_support.is_some());
        macro_rules! pass {
            ($kernel:ident, $work:expr $(, $more:ident . $access:ident)*) => {
                self.device.launch(
                    &$kernel {
                        object: object.write(),
                        probe: probe.write(),
                        errors: errors.write(),
                        moved: moved.write(),
                        photon: photon.write(),
                        residual: residual.write(),
                        free: free.write(),
                        support: support.read(),
                        magnitudes: magnitudes.read(),
                        scales: scales.read(),
                        corners: corners.read(),
                        $($more: $more.$access(),)*
                        order: order.read(),
                        roots: fused.roots.read(),
                        frames: self.layout.frames,
                        object_rows: self.layout.object_rows,
                        object_columns: self.layout.object_columns,
                        object_alpha: alpha(method.object_denominator()),
                        probe_alpha: alpha(method.probe_denominator()),
                        object_step: steps[0] as f32,
                        probe_step: steps[1] as f32,
                        clip_low,
                        clip_high,
                        supported,
                        later: u32::from(part == Part::Later),
                    },
                    $work,
                )
            };
        }
        if fused.side == 64 {
            pass!(PtychoPiePass64, Work::Blocks(1))
        } else if shifts {
            pass!(
                PtychoPieClusterExact128,
                Work::Clusters(1),
                probe_spectrum.write,
                fractions.read
            )
        } else if has_clusters {
            pass!(PtychoPieCluster128, Work::Clusters(1))
        } else {
            pass!(PtychoPiePass128, Work::Blocks(1))
        }
    }
}
