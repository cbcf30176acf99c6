//! Mirrors cpu/likelihood/gradient.rs: loss and gradients of all frames, a few at a time.

use super::{LikelihoodBuffers, Run, number};
use crate::gpu::{Buffer, Device, Direction, ReadBack, Result};
use crate::ptycho::Step;
use crate::ptycho::cpu::LIT;
use crate::ptycho::cuda::batch_sums::{Slices, Waves, object_sums, probe_sums};
use crate::ptycho::cuda::frames::{Batch, ShiftTo, copy_layers};
use crate::ptycho::likelihood::{LikelihoodMethod, Noise};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    likelihood_deviation::PtychoLikelihoodDeviation, likelihood_losses::PtychoLikelihoodLosses,
    slice_sums::PtychoSliceSums, smoothness::PtychoSmoothness,
};

impl<M: Device> Run<'_, M> {
    /// The sums behind the gradients, weights and the largest of them at the current object and probe, the frames' losses
    /// and errors, with separate launches.
    pub(super) fn separate_gradient(
        &mut self,
        step: &Step,
        method: &LikelihoodMethod,
    ) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        self.frames
            .transform_probe(device, self.buffers, self.probe_fft)?;
        for batch in self.frames.all(device, layout)? {
            let (frames, buffers) = (&mut *self.frames, &mut *self.buffers);
            frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 0)?;
            frames.model(device, layout, buffers, batch)?;
            self.deviation(batch, method.noise)?;
            self.frames.back(device)?;
            if step.update_object {
                self.add_to_object(batch)?;
            }
            if step.update_probe {
                self.add_to_probe(batch)?;
            }
        }
        if step.update_probe {
            self.finish_probe()?;
        }
        self.find_largest()
    }

    /// Adds the regulariser's part to the object's gradient.
    pub(super) fn add_regulariser(&mut self, step: &Step, method: &LikelihoodMethod) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        if let Some(regulariser) = method.regulariser().filter(|_| step.update_object) {
            let own = &mut *self.own;
            device.launch(
                &PtychoSmoothness {
                    numerators: own.gradient[0].write(),
                    object: self.buffers.object.read(),
                    weights: own.weights[0].read(),
                    largest: own.largest.read(),
                    rows: layout.object_rows,
                    columns: layout.object_columns,
                    weight: -2.0 * regulariser.weight as f32,
                    edge: regulariser.edge as f32,
                    lit: LIT as f32,
                },
                Work::Elements(layout.object_elements()),
            )?;
        }
        Ok(())
    }

    /// The likelihood's part of the objective at the current object and probe, with separate launches.
    pub(super) fn separate_loss(&mut self, noise: Noise) -> Result<f64> {
        let (device, layout) = (self.device, self.layout);
        self.frames
            .transform_probe(device, self.buffers, self.probe_fft)?;
        for batch in self.frames.all(device, layout)? {
            let (frames, buffers) = (&mut *self.frames, &mut *self.buffers);
            frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 0)?;
            frames.model(device, layout, buffers, batch)?;
            device.launch(
                &PtychoLikelihoodLosses {
                    spectra: frames.chi.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    order: frames.order.read(),
                    losses: self.own.losses.write(),
                    frames: layout.frames,
                    first: batch.first,
                    count: batch.count,
                    modes: layout.modes,
                    pixels: layout.pixels(),
                    scale: layout.scale(),
                    noise: number(noise),
                },
                Work::Blocks(batch.count as usize),
            )?;
        }
        self.total_loss()
    }

    pub(super) fn total_loss(&mut self) -> Result<f64> {
        let losses = self.device.read_back(&self.own.losses)?.wait()?;
        Ok(losses.iter().sum())
    }

    fn deviation(&mut self, batch: Batch, noise: Noise) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let buffers = &mut *self.buffers;
        device.launch(
            &PtychoLikelihoodDeviation {
                spectra: self.frames.chi.write(),
                magnitudes: buffers.magnitudes.read(),
                scales: buffers.scales.read(),
                order: self.frames.order.read(),
                losses: self.own.losses.write(),
                errors: buffers.errors.write(),
                moved: buffers.moved.write(),
                photon: buffers.photon.write(),
                residual: buffers.residual.write(),
                free: buffers.free.write(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                modes: layout.modes,
                pixels: layout.pixels(),
                scale: layout.scale(),
                noise: number(noise),
            },
            Work::Blocks(batch.count as usize),
        )
    }

    fn add_to_object(&mut self, batch: Batch) -> Result<()> {
        let waves = Waves {
            chi: &self.frames.chi,
            first: 0,
            // ∂/∂(conj z) of a real function is half of its gradient.
            scale: 2.0,
        };
        let LikelihoodBuffers {
            gradient: [numerators, _],
            weights: [weights, _],
            ..
        } = &mut *self.own;
        let from = (&*self.buffers, &*self.frames);
        let to = (numerators, weights);
        let add = batch.first > 0;
        object_sums(self.device, self.layout, from, batch, &waves, to, add)
    }

    fn add_to_probe(&mut self, batch: Batch) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        self.frames
            .back_projected(device, layout, self.buffers, batch)?;
        let LikelihoodBuffers {
            probe_sums: sums,
            weights: [_, weights],
            slices,
            ..
        } = &mut *self.own;
        let slices = Slices {
            count: *slices,
            scaled: false,
            add: batch.first > 0,
        };
        let from = (&*self.buffers, &*self.frames);
        probe_sums(device, layout, from, batch, &slices, (sums, weights))
    }

    /// Adds up the slices of the probe's gradient and transforms it back.
    fn finish_probe(&mut self) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let LikelihoodBuffers {
            gradient: [_, gradient],
            probe_sums,
            weights: [_, weights],
            slices,
            ..
        } = &mut *self.own;
        let elements = layout.probe_elements();
        device.launch(
            &PtychoSliceSums {
                sums: probe_sums.write(),
                weights: weights.write(),
                slices: *slices,
                elements: elements as u32,
                pixels: layout.pixels(),
                scale: 2.0 * self.frames.layers_scale(layout),
            },
            Work::Elements(elements),
        )?;
        if self.frames.exact {
            return device.fft_to(self.probe_fft, probe_sums, gradient, Direction::Inverse);
        }
        copy_layers(device, &self.buffers.open, probe_sums, gradient)
    }
}
