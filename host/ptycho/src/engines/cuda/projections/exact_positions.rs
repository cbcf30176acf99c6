//! Mirrors cpu/projections/exact_positions.rs: projection engines at exact positions.

use crate::Step;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::batches::batch_engine::{BatchBuffers, find_largest, finish};
use crate::engines::cuda::batches::batch_sums::{Slices, Waves, object_sums, probe_sums};
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::{FrameBuffers, ShiftTo};
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::model::exposure_points::PointView;
use crate::engines::cuda::model::window_product::product;
use crate::engines::updates::Denominator;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    object_finish::PtychoObjectFinish, probe_finish::PtychoProbeFinish,
    slice_sums::PtychoSliceSums, window_residual::PtychoWindowResidual,
};

/// Device memory of one iteration.
pub(in crate::engines::cuda) struct Run<'a, M: Device> {
    pub(in crate::engines::cuda) device: &'a M,
    pub(in crate::engines::cuda) layout: &'a Layout,
    pub(in crate::engines::cuda) buffers: &'a mut Buffers<M>,
    pub(in crate::engines::cuda) frames: &'a mut FrameBuffers<M>,
    pub(in crate::engines::cuda) sums: &'a mut BatchBuffers<M>,
    pub(in crate::engines::cuda) probe_fft: &'a M::Fft,
    pub(in crate::engines::cuda) waves_fft: &'a M::Fft,
    /// The frames at a time, if these are not all frames in their order.
    pub(in crate::engines::cuda) batches: Option<&'a [Batch]>,
}

impl<M: Device> Run<'_, M> {
    /// Writes the unnormalised detector waves of `√c S[P]·O` of every frame to the exit waves.
    pub(in crate::engines::cuda) fn model_spectra(&mut self) -> Result<()> {
        for batch in self.chunks()? {
            self.probes(batch)?;
            // The other buffers are read.
            let mut waves = std::mem::replace(
                &mut self.buffers.waves,
                self.device.alloc("no exit waves", 0)?,
            );
            let points = self.frames.points.as_ref();
            let order = (&self.frames.order, batch);
            let at = PointView::new(self.layout, self.buffers, points, order);
            let (to, from) = ((&mut waves, batch.first), (&self.frames.probes, Some(0)));
            let object = &self.buffers.object;
            let done = product(self.device, self.layout, &at, to, from, object, false);
            self.buffers.waves = waves;
            done?;
        }
        self.frames
            .set_all_points(self.device, self.layout, self.buffers)?;
        let Buffers {
            propagator,
            waves,
            fractions,
            ..
        } = &mut *self.buffers;
        let between = self.frames.between_all(self.layout, fractions);
        let (device, fft) = (self.device, self.waves_fft);
        propagator.propagate(device, fft, waves, Some(between), Direction::Forward)
    }

    /// The frames in their order; computes the probe's spectra.
    fn chunks(&mut self) -> Result<Vec<Batch>> {
        self.frames.scaled = true;
        self.frames
            .transform_probe(self.device, self.buffers, self.probe_fft)?;
        match self.batches {
            Some(batches) => Ok(batches.to_vec()),
            None => self.frames.all(self.device, self.layout),
        }
    }

    fn probes(&mut self, batch: Batch) -> Result<()> {
        let to = ShiftTo::Probes;
        self.frames
            .shift(self.device, self.layout, self.buffers, batch, to, 0)
    }

    /// Updates the object from rows · columns · ψ in the exit waves; does nothing if the gate is
    /// closed.
    pub(in crate::engines::cuda) fn object_update(&mut self, step: &Step) -> Result<()> {
        self.add_to_object(true)?;
        self.finish_object(step)
    }

    /// Adds the frames to the object's sums; `first`: no others were added before.
    pub(in crate::engines::cuda) fn add_to_object(&mut self, first: bool) -> Result<()> {
        for batch in self.chunks()? {
            self.probes(batch)?;
            let waves = Waves {
                chi: &self.buffers.waves,
                first: batch.first,
                scale: self.layout.scale(),
            };
            let BatchBuffers {
                object,
                object_weights,
                ..
            } = &mut *self.sums;
            let from = (&*self.buffers, &*self.frames);
            let to = (object, object_weights);
            let add = !first || batch.first > 0;
            object_sums(self.device, self.layout, from, batch, &waves, to, add)?;
        }
        Ok(())
    }

    /// Updates the object from its sums over all frames.
    pub(in crate::engines::cuda) fn finish_object(&mut self, step: &Step) -> Result<()> {
        let clip = step
            .clip_object
            .map_or([0.0, -1.0], |l| l.map(|v| v as f32));
        self.device.launch(
            &PtychoObjectFinish {
                object: self.buffers.object.write(),
                numerator: self.sums.object.read(),
                denominator: self.sums.object_weights.read(),
                gate: self.buffers.gate.read(),
                pixels: self.layout.object_elements() as u32,
                plane: self.layout.object_pixels() as u32,
                weight: step.object_weight as f32,
                clip_low: clip[0],
                clip_high: clip[1],
            },
            Work::Elements(self.layout.object_elements()),
        )
    }

    /// Updates the probe, including the real-space support; does nothing if the gate is closed.
    pub(in crate::engines::cuda) fn probe_update(&mut self, step: &Step) -> Result<()> {
        self.add_to_probe(true)?;
        self.finish_probe(step)
    }

    /// Adds the frames to the probe's sums; `first`: no others were added before.
    pub(in crate::engines::cuda) fn add_to_probe(&mut self, first: bool) -> Result<()> {
        let layout = self.layout;
        let slices = self.sums.slices;
        for batch in self.chunks()? {
            self.probes(batch)?;
            let points = self.frames.points.as_ref();
            let order = (&self.frames.order, batch);
            let at = PointView::new(layout, self.buffers, points, order);
            self.device.launch(
                &PtychoWindowResidual {
                    to: self.frames.work.write(),
                    psi: self.buffers.waves.read(),
                    probes: self.frames.probes.read(),
                    object: self.buffers.object.read(),
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
                    parts: layout.parts,
                    psi_first: batch.first * at.points,
                    layers: layout.object_layers,
                    scale: layout.scale(),
                },
                Work::Blocks(at.count as usize * layout.parts as usize),
            )?;
            let FrameBuffers {
                work,
                fft,
                moved_fft,
                ..
            } = &mut *self.frames;
            let fft = moved_fft.as_ref().unwrap_or(fft);
            self.device.fft(fft, work, Direction::Forward)?;
            let sliced = Slices {
                count: slices,
                scaled: true,
                add: !first || batch.first > 0,
                apart: false,
            };
            let BatchBuffers {
                probe,
                probe_weights,
                ..
            } = &mut *self.sums;
            let from = (&*self.buffers, &*self.frames);
            let to = (probe, probe_weights);
            probe_sums(self.device, layout, from, batch, &sliced, to)?;
        }
        Ok(())
    }

    /// Updates the probe from its sums over all frames, including the real-space support.
    pub(in crate::engines::cuda) fn finish_probe(&mut self, step: &Step) -> Result<()> {
        let layout = self.layout;
        let slices = self.sums.slices;
        let elements = layout.probe_elements();
        self.device.launch(
            &PtychoSliceSums {
                sums: self.sums.probe.write(),
                weights: self.sums.probe_weights.write(),
                slices,
                elements: elements as u32,
                pixels: layout.pixels(),
                apart: 0,
                scale: layout.scale(),
            },
            Work::Elements(elements),
        )?;
        let probe = &mut self.sums.probe;
        self.device.fft(self.probe_fft, probe, Direction::Inverse)?;
        let pixels = layout.pixels() as usize;
        let (weights, largest) = (&self.sums.probe_weights, &mut self.sums.largest[1]);
        find_largest(self.device, largest, weights, pixels)?;
        let weights = (weights, &*largest, step.probe_weight);
        let layers = (layout.modes as usize, pixels);
        finish(self.device, probe, weights, layers, Denominator::Floor)?;
        // The directions are divided already.
        self.device.zero(&mut self.sums.probe_weights)?;
        self.device.launch(
            &PtychoProbeFinish {
                probe: self.buffers.probe.write(),
                numerators: self.sums.probe.read(),
                denominators: self.sums.probe_weights.read(),
                support: self.buffers.support.read(),
                gate: self.buffers.gate.read(),
                modes: layout.modes,
                pixels: layout.pixels(),
                slices: 1,
                weight: 1.0,
                incremental: 1,
                devices: 1,
            },
            Work::Elements(elements),
        )
    }
}
