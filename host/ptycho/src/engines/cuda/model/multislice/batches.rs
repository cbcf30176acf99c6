//! Mirrors cpu/model/multislice/batches.rs: a pass of LSQ-ML over the batches of a thick specimen.

use super::changes::{backward, exit_sums, linear_changes};
use super::{DistanceSums, ThickWaves, at_slice};
use crate::Step;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::batches::batch_engine;
use crate::engines::cuda::batches::batch_engine::{BatchBuffers, find_largest, finish};
use crate::engines::cuda::batches::batch_sums::{SumWindows, Waves, object_sums_with};
use crate::engines::cuda::batches::fused_batches::PARTS;
use crate::engines::cuda::memory::frames::{FrameBuffers, ShiftTo};
use crate::engines::cuda::model::window_product::product;
use crate::engines::method::BatchMethod;
use crate::engines::updates::Smoothness;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_device::Complex32;

impl<M: Device> batch_engine::Run<'_, M> {
    /// A pass of LSQ-ML over `batches`.
    pub(in crate::engines::cuda) fn thick_pass(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        batches: &[Batch],
        distances: &mut DistanceSums<M>,
    ) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let bounds = [[0, 0, layout.object_rows, layout.object_columns]];
        device.upload(&mut self.batches.bounds, &bounds)?;
        for batch in batches.iter().copied() {
            let (frames, buffers) = (&mut *self.frames, &mut *self.buffers);
            frames.transform_probe(device, buffers, self.probe_fft)?;
            frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 0)?;
            frames.model(device, layout, buffers, batch)?;
            frames.deviation(device, layout, buffers, batch)?;
            frames.back(device, layout, buffers, batch)?;
            if let Some(thick) = &mut frames.thick {
                device.copy(&frames.chi, &mut thick.exit)?;
            }
            self.thick_sums(step, batch, distances)?;
            if step.update_probe {
                self.sums_on_probe(batch)?;
            }
            self.thick_direction(step, method)?;
            self.probe_direction(step, method)?;
            self.thick_steps(step, batch)?;
            self.advance(step, method)?;
        }
        Ok(())
    }

    /// Numerators and weights of all slices.
    fn thick_sums(
        &mut self,
        step: &Step,
        batch: Batch,
        distances: &mut DistanceSums<M>,
    ) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let BatchBuffers {
            object,
            object_weights,
            ..
        } = &mut *self.batches;
        let mut first = true;
        let updates = step.update_object;
        let mut on_slice = |_: usize,
                            (corners, order): (&M::Buffer<[u32; 2]>, &M::Buffer<u32>),
                            incident: &M::Buffer<Complex32>,
                            chi: &M::Buffer<Complex32>| {
            if !updates {
                return Ok(());
            }
            let waves = Waves {
                chi,
                first: 0,
                scale: 1.0,
            };
            let add = !std::mem::take(&mut first);
            let windows = (corners, order);
            let sums = (&mut *object, &mut *object_weights);
            {
                let at = SumWindows::of_batch(layout, windows, batch);
                object_sums_with(device, layout, &at, (incident, &waves), sums, add)
            }
        };
        let from = (&*self.buffers, &mut *self.frames);
        backward(device, layout, from, batch, (distances, 1.0), &mut on_slice)
    }

    fn thick_direction(&mut self, step: &Step, method: &BatchMethod) -> Result<()> {
        let (device, elements) = (self.device, self.layout.object_elements());
        let BatchBuffers {
            object,
            object_weights,
            largest: [_, largest],
            ..
        } = &mut *self.batches;
        if !step.update_object {
            return device.zero(object);
        }
        find_largest(device, largest, object_weights, elements)?;
        let weights = (&*object_weights, &*largest, 0.0);
        let denominator = method.object_denominator();
        finish(device, object, weights, (1, elements), denominator)
    }

    /// The steps that are optimal in the mean of the batch, of all slices together and of the
    /// probe.
    fn thick_steps(&mut self, step: &Step, batch: Batch) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        if step.update_probe {
            let open = &self.buffers.open;
            let (frames, probe) = (&mut *self.frames, &self.batches.probe);
            frames.transform_layers(device, open, probe, self.probe_fft)?;
            frames.shift(device, layout, self.buffers, batch, ShiftTo::Work, 0)?;
        }
        let (buffers, direction) = (&*self.buffers, &self.batches.object);
        let FrameBuffers {
            order,
            probes,
            chi,
            work,
            fft,
            thick: Some(thick),
            ..
        } = &mut *self.frames
        else {
            return Ok(());
        };
        let Some(slices) = &buffers.slices else {
            return Ok(());
        };
        let ThickWaves {
            incident,
            exit,
            changes: [of_object, of_probe],
            ..
        } = thick;
        if step.update_probe {
            for slice in 0..slices.count() {
                product(
                    device,
                    layout,
                    &at_slice(layout, buffers, &slices.corners[slice], (order, batch)),
                    (of_probe, 0),
                    (work, Some(0)),
                    &buffers.object,
                    false,
                )?;
                if slice + 1 < slices.count() {
                    slices.forward(device, fft, of_probe, slice)?;
                    std::mem::swap(work, of_probe);
                }
            }
        } else {
            device.zero(of_probe)?;
        }
        if step.update_object {
            device.zero(of_object)?;
            let from = (buffers, &*order, &*fft);
            let waves = [&mut *work, &mut *chi, &mut *of_object];
            let at = Some((&*probes, &incident[..]));
            linear_changes(device, layout, from, batch, direction, waves, at)?;
        } else {
            device.zero(chi)?;
        }
        let from = (buffers, &*order);
        let waves = [&*chi, &*of_probe, &*exit];
        exit_sums(
            device,
            layout,
            from,
            batch,
            waves,
            &mut self.batches.step_sums,
        )?;
        let none = Smoothness {
            weight: 0.0,
            edge: 0.0,
        };
        self.step_mean(step, none, batch, PARTS)
    }
}
