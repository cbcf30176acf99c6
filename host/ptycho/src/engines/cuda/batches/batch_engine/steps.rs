//! The steps of object and probe along the directions of a batch.

use super::{BatchBuffers, Run, SMOOTHNESS_BLOCKS};
use crate::Step;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::batches::fused_batches::PARTS;
use crate::engines::cuda::memory::frames::ShiftTo;
use crate::engines::cuda::model::exposure_points::PointView;
use crate::engines::cuda::projections::object_update::clip_limits;
use crate::engines::cuda::updates::constraints::fourier_support;
use crate::engines::method::BatchMethod;
use crate::engines::updates::Smoothness;
use crate::engines::updates::{DAMPING, LIT, STEP, TRIM};
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    advance_layers::PtychoAdvanceLayers,
    batch_advance::PtychoBatchAdvance,
    pie_pass::OBJECT,
    scale_layers::PtychoScaleLayers,
    smoothness::{PtychoPairSums, PtychoSmoothnessSums},
    step_mean::PtychoStepMean,
    step_sums::PtychoStepSums,
};

impl<M: Device> Run<'_, M> {
    /// The steps that are optimal in the mean of the batch.
    pub(super) fn steps(
        &mut self,
        step: &Step,
        smoothness: Smoothness,
        batch: Batch,
    ) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let BatchBuffers {
            object,
            probe,
            step_sums,
            ..
        } = &mut *self.batches;
        let same = self.frames.same_probe();
        match (same, step.update_probe) {
            // A direction that is not updated is 0.
            (true, _) => {}
            (false, true) => {
                let open = &self.buffers.open;
                self.frames
                    .transform_layers(device, open, probe, self.probe_fft)?;
                let to = ShiftTo::Work;
                self.frames
                    .shift(device, layout, self.buffers, batch, to, 0)?;
            }
            (false, false) => device.zero(&mut self.frames.work)?,
        }
        let points = self.frames.points.as_ref();
        let at = PointView::new(layout, self.buffers, points, (&self.frames.order, batch));
        let (sources, probes, probe_changes) = match same {
            true => (1, &self.buffers.probe, &*probe),
            false => (at.count, &self.frames.probes, &self.frames.work),
        };
        // The parts of all points of a frame.
        let parts = PARTS / at.points.min(PARTS);
        device.launch(
            &PtychoStepSums {
                sums: step_sums.write(),
                probes: probes.read(),
                probe_changes: probe_changes.read(),
                chi: self.frames.chi.read(),
                object: self.buffers.object.read(),
                direction: object.read(),
                corners: at.corners.read(),
                order: at.order.read(),
                frames: at.frames,
                first: at.first,
                count: at.count,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                sources,
                parts,
                layers: layout.object_layers,
            },
            Work::Blocks(at.count as usize * parts as usize),
        )?;
        let parts = parts * at.points;
        self.step_mean(step, smoothness, batch, parts)
    }

    /// The steps from the sums of each frame in `parts` parts, and those of the regulariser.
    pub(in crate::engines::cuda) fn step_mean(
        &mut self,
        step: &Step,
        smoothness: Smoothness,
        batch: Batch,
        parts: u32,
    ) -> Result<()> {
        self.gather_step_sums(batch, parts)?;
        let (device, layout) = (self.device, self.layout);
        let BatchBuffers {
            object,
            object_weights,
            largest: [largest, _],
            fused,
            step_sums,
            solved,
            steps,
            smoothness_sums,
            smoothness: smoothness_sum,
            whole,
            divided,
            ..
        } = &mut *self.batches;
        if smoothness.weight > 0.0 && step.update_object {
            let largest = (fused.as_ref()).map_or(&*largest, |fused| &fused.largest);
            device.launch(
                &PtychoSmoothnessSums {
                    sums: smoothness_sums.write(),
                    object: self.buffers.object.read(),
                    direction: object.read(),
                    weights: object_weights.read(),
                    largest: largest.read(),
                    blocks: SMOOTHNESS_BLOCKS as u32,
                    layers: layout.object_layers,
                    rows: layout.object_rows,
                    columns: layout.object_columns,
                    edge: smoothness.edge as f32,
                    lit: LIT as f32,
                },
                Work::Blocks(SMOOTHNESS_BLOCKS),
            )?;
            device.launch(
                &PtychoPairSums {
                    total: smoothness_sum.write(),
                    sums: smoothness_sums.read(),
                    count: SMOOTHNESS_BLOCKS as u32,
                },
                Work::Blocks(1),
            )?;
        }
        // Those of all devices, if there are several.
        let (sums, ranges, most) = match divided {
            Some(of) => (&of.step_sums, &of.ranges, *whole),
            None => (&*step_sums, &self.frames.ranges, self.frames.size),
        };
        device.launch(
            &PtychoStepMean {
                steps: steps.write(),
                solved: solved.write(),
                sums: sums.read(),
                smoothness: smoothness_sum.read(),
                ranges: ranges.read(),
                most: most as u32,
                batches: ranges.len() as u32,
                batch: batch.number,
                parts,
                smooth: (smoothness.weight / f64::from(layout.scan_frames)) as f32,
                damping: DAMPING as f32,
                trim: TRIM as f32,
                part: STEP as f32,
            },
            Work::Blocks(1),
        )
    }

    pub(in crate::engines::cuda) fn advance(
        &mut self,
        step: &Step,
        method: &BatchMethod,
    ) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let momentum = method.momentum();
        let deferred = u32::from(self.deferred.is_some());
        let velocities = self.batches.velocities(momentum);
        let BatchBuffers {
            object,
            probe,
            steps,
            bounds,
            object_velocity,
            probe_velocity,
            ..
        } = &mut *self.batches;
        let elements = layout.object_elements();
        if step.update_object && layout.is_layered() {
            let clip = clip_limits(step.clip_object);
            device.launch(
                &PtychoAdvanceLayers {
                    values: self.buffers.object.write(),
                    velocity: object_velocity.write(),
                    direction: object.read(),
                    steps: steps.read(),
                    elements: elements as u32,
                    velocities: velocities[0],
                    which: 0,
                    momentum: momentum as f32,
                    clip_low: clip[0],
                    clip_high: clip[1],
                },
                Work::Elements(elements),
            )?;
        } else if step.update_object {
            let clip = clip_limits(step.clip_object);
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
                    // Only the object's.
                    pixels: 0,
                    velocities: velocities[0],
                    probe_velocities: velocities[1],
                    updates: OBJECT,
                    deferred,
                    momentum: momentum as f32,
                    clip_low: clip[0],
                    clip_high: clip[1],
                },
                Work::Elements(elements),
            )?;
        }
        if !step.update_probe {
            return Ok(());
        }
        let elements = layout.probe_elements();
        device.launch(
            &PtychoAdvanceLayers {
                values: self.buffers.probe.write(),
                velocity: probe_velocity.write(),
                direction: probe.read(),
                steps: steps.read(),
                elements: elements as u32,
                velocities: velocities[1],
                which: 1,
                momentum: momentum as f32,
                clip_low: 0.0,
                clip_high: -1.0,
            },
            Work::Elements(elements),
        )?;
        if step.probe_support.is_some() {
            device.launch(
                &PtychoScaleLayers {
                    waves: self.buffers.probe.write(),
                    weights: self.buffers.support.read(),
                    gate: self.buffers.open.read(),
                    layers: layout.modes,
                    pixels: layout.pixels(),
                    factor: 1.0,
                },
                Work::Elements(elements),
            )?;
        }
        self.constrain_spectrum(step)?;
        Ok(())
    }

    /// Applies the probe's Fourier support after an update; returns whether there is one.
    pub(in crate::engines::cuda) fn constrain_spectrum(&mut self, step: &Step) -> Result<bool> {
        let constrained = step.update_probe && step.probe_fourier_support.is_some();
        if constrained {
            self.device.zero(&mut self.buffers.gate)?;
            fourier_support(self.device, self.layout, self.buffers, self.probe_fft)?;
        }
        Ok(constrained)
    }
}
