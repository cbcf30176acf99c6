//! Mirrors cpu/likelihood/gradient.rs: loss and gradients of all frames, a few at a time.

use super::{LikelihoodBuffers, Run, number};
use crate::Step;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::batches::batch_sums::{
    Slices, SumWindows, Waves, object_sums, object_sums_with, probe_sums,
};
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frame_stream::Metrics;
use crate::engines::cuda::memory::frames::{FrameBuffers, ShiftTo, copy_layers};
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::model::multislice::backward;
use crate::engines::likelihood::{LikelihoodMethod, Noise};
use crate::engines::updates::LIT;
use warpstride_cuda::gpu::{Buffer, Device, Direction, ReadBack, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    likelihood_deviation::PtychoLikelihoodDeviation, likelihood_losses::PtychoLikelihoodLosses,
    slice_sums::PtychoSliceSums, smoothness::PtychoSmoothness,
};

/// What is done to the batches of a block of frames.
type BatchesWork<'a, M> = dyn FnMut(&mut Run<'_, M>, &[Batch]) -> Result<()> + 'a;

impl<M: Device> Run<'_, M> {
    /// The sums behind the gradients, weights and the largest of them at the current object and
    /// probe, the frames' losses and errors, with separate launches.
    pub(super) fn separate_gradient(
        &mut self,
        step: &Step,
        method: &LikelihoodMethod,
    ) -> Result<()> {
        self.frames
            .transform_probe(self.device, self.buffers, self.probe_fft)?;
        let mut first = true;
        self.each_batch(Metrics::Written, &mut |run, batch| {
            let (device, layout) = (run.device, run.layout);
            let (frames, buffers) = (&mut *run.frames, &mut *run.buffers);
            frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 0)?;
            frames.model(device, layout, buffers, batch)?;
            run.deviation(batch, method.noise)?;
            run.frames.back(device, layout, run.buffers, batch)?;
            if run.distances.is_some() {
                run.add_to_slices(step, batch, !first)?;
            } else if step.update_object {
                run.add_to_object(batch, !first)?;
            }
            if step.update_probe {
                run.add_to_probe(batch, !first)?;
            }
            first = false;
            Ok(())
        })?;
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
                    layers: layout.object_layers,
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

    /// The likelihood's part of the objective at the current object and probe, with separate
    /// launches.
    pub(super) fn separate_loss(&mut self, noise: Noise) -> Result<f64> {
        self.frames
            .transform_probe(self.device, self.buffers, self.probe_fft)?;
        self.each_batch(Metrics::Unchanged, &mut |run, batch| {
            let (device, layout) = (run.device, run.layout);
            let (frames, buffers) = (&mut *run.frames, &mut *run.buffers);
            frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 0)?;
            frames.model(device, layout, buffers, batch)?;
            if let Some(mut detector) = buffers.detector.take() {
                let (on, how) = ((&mut *buffers, frames), (number(noise), false));
                let losses = &mut run.own.losses;
                let done = detector.likelihood(device, layout, on, batch, losses, how);
                buffers.detector = Some(detector);
                return done;
            }
            device.launch(
                &PtychoLikelihoodLosses {
                    spectra: frames.chi.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    order: frames.order.read(),
                    losses: run.own.losses.write(),
                    frames: layout.frames,
                    first: batch.first,
                    count: batch.count,
                    modes: layout.waves(),
                    pixels: layout.pixels(),
                    scale: layout.scale(),
                    noise: number(noise),
                },
                Work::Blocks(batch.count as usize),
            )
        })?;
        self.total_loss()
    }

    /// The sum of the losses of all frames.
    pub(super) fn total_loss(&mut self) -> Result<f64> {
        if let Some(loss) = self.own.loss_of_blocks.take() {
            return Ok(loss);
        }
        let losses = self.device.read_back(&self.own.losses)?.wait()?;
        Ok(losses.iter().sum())
    }

    /// Does `work` on all frames in their order, a batch after the other, and adds up the losses of
    /// blocks of frames.
    fn each_batch(
        &mut self,
        metrics: Metrics,
        work: &mut dyn FnMut(&mut Run<'_, M>, Batch) -> Result<()>,
    ) -> Result<()> {
        let streamed = self.buffers.stream.is_some();
        let mut losses: Vec<(M::ReadBack<f64>, usize)> = Vec::new();
        self.each_block(metrics, &mut |run, batches| {
            for batch in batches {
                work(run, *batch)?;
            }
            if streamed {
                let of_block = run.device.read_back(&run.own.losses)?;
                losses.push((of_block, run.layout.frames as usize));
            }
            Ok(())
        })?;
        let mut total = 0.0;
        for (of_block, frames) in losses {
            for loss in of_block.wait()?.iter().take(frames) {
                total += loss;
            }
        }
        self.own.loss_of_blocks = streamed.then_some(total);
        Ok(())
    }

    /// Does `work` on the batches of all frames in their order: at once, or on those of one block
    /// after the other, whose frames are numbered from 0.
    pub(super) fn each_block(
        &mut self,
        metrics: Metrics,
        work: &mut BatchesWork<'_, M>,
    ) -> Result<()> {
        let Self {
            device,
            layout,
            buffers,
            frames,
            own,
            probe_fft,
            distances,
        } = self;
        let device = *device;
        let lists = frames.lists(layout);
        let mut on_block = |layout: &Layout,
                            buffers: &mut Buffers<M>,
                            frames: &mut FrameBuffers<M>,
                            batches: &[Batch]| {
            let mut run = Run {
                device,
                layout,
                buffers,
                frames,
                own: &mut **own,
                probe_fft,
                distances: distances.take(),
            };
            let done = work(&mut run, batches);
            *distances = run.distances.take();
            done
        };
        frames.each(device, layout, buffers, &lists, metrics, &mut on_block)
    }

    fn deviation(&mut self, batch: Batch, noise: Noise) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let buffers = &mut *self.buffers;
        if let Some(mut detector) = buffers.detector.take() {
            let (on, how) = ((&mut *buffers, &mut *self.frames), (number(noise), true));
            let losses = &mut self.own.losses;
            let done = detector.likelihood(device, layout, on, batch, losses, how);
            buffers.detector = Some(detector);
            return done;
        }
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
                modes: layout.waves(),
                pixels: layout.pixels(),
                scale: layout.scale(),
                noise: number(noise),
            },
            Work::Blocks(batch.count as usize),
        )
    }

    fn add_to_object(&mut self, batch: Batch, add: bool) -> Result<()> {
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
        object_sums(self.device, self.layout, from, batch, &waves, to, add)
    }

    /// [`Self::add_to_object`] on every slice; χ is at the first one then.
    fn add_to_slices(&mut self, step: &Step, batch: Batch, add: bool) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let Some(distances) = &mut self.distances else {
            return Ok(());
        };
        let LikelihoodBuffers {
            gradient: [numerators, _],
            weights: [weights, _],
            ..
        } = &mut *self.own;
        let mut first = !add;
        let mut on_slice = |_: usize,
                            windows: (&M::Buffer<[u32; 2]>, &M::Buffer<u32>),
                            incident: &M::Buffer<Complex32>,
                            chi: &M::Buffer<Complex32>| {
            if !step.update_object {
                return Ok(());
            }
            let waves = Waves {
                chi,
                first: 0,
                scale: 2.0,
            };
            let add = !std::mem::take(&mut first);
            let sums = (&mut *numerators, &mut *weights);
            {
                let at = SumWindows::of_batch(layout, windows, batch);
                object_sums_with(device, layout, &at, (incident, &waves), sums, add)
            }
        };
        let from = (&*self.buffers, &mut *self.frames);
        // ξ is −χ for the noise of amplitudes.
        backward(
            device,
            layout,
            from,
            batch,
            (distances, -1.0),
            &mut on_slice,
        )
    }

    fn add_to_probe(&mut self, batch: Batch, add: bool) -> Result<()> {
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
            add,
            apart: false,
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
                apart: 0,
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
