//! Mirrors cpu/batches/batch_engine.rs: LSQ-ML, ePIE and rPIE.

use super::batch::Batch;
use super::batch_sums::{Slices, Waves, object_sums, probe_sums};
use crate::Step;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frame_stream::Metrics;
use crate::engines::cuda::memory::frames::{FrameBuffers, ShiftTo};
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::step_arguments::alpha;
use crate::engines::method::{BatchMethod, BatchUpdate};
use crate::engines::update_version::TILE;
use crate::engines::updates::Smoothness;
use crate::engines::updates::{Denominator, FLOOR, LIT, NEIGHBOURS};
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    batch_finish::PtychoBatchFinish, batch_sums::PtychoBatchSums,
    direction_finish::PtychoDirectionFinish, largest::PtychoLargest, pie_pass::OBJECT,
    slice_sums::PtychoSliceSums, smoothness::PtychoSmoothness,
};

mod deferred;
mod divided;
mod memory;
mod regions;
mod run;
mod steps;
mod variations;

use deferred::defers;
pub(in crate::engines::cuda) use memory::BatchBuffers;
use memory::SMOOTHNESS_BLOCKS;
pub(in crate::engines::cuda) use regions::Schedule;
pub(in crate::engines::cuda) use run::{Deferred, Part, Run};

impl<M: Device> Run<'_, M> {
    /// One pass over all frames in the batches `lists`.
    pub(in crate::engines::cuda) fn iterate(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        lists: &[Vec<u32>],
    ) -> Result<()> {
        self.begin(method)?;
        let device = self.device;
        let thin = self.distances.is_none();
        if thin && defers(device, self.layout, step, method, lists.len()) {
            self.begin_deferred()?;
        } else {
            self.deferred = None;
        }
        let mut deferred = self.deferred;
        let Self {
            distances,
            layout,
            buffers,
            frames,
            batches: own,
            probe_fft,
            exchange,
            ..
        } = self;
        let mut part = if buffers.stream.is_some() {
            Part::First
        } else {
            Part::All
        };
        let mut pass = |layout: &Layout,
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
                deferred,
                distances: distances.take(),
                group: 0,
            };
            run.pass(step, method, batches, part)?;
            *distances = run.distances.take();
            part = Part::Later;
            deferred = deferred.map(|before| before.and(batches.len()));
            Ok(())
        };
        frames.each(device, layout, buffers, lists, Metrics::Written, &mut pass)?;
        self.deferred = deferred;
        self.end_deferred(step, method)
    }

    /// Prepares an iteration.
    fn begin(&mut self, method: &BatchMethod) -> Result<()> {
        let device = self.device;
        if method.momentum() > 0.0 {
            // A checkpoint may have one of them.
            let (object, probe) = (self.layout.object_elements(), self.layout.probe_elements());
            if self.batches.object_velocity.is_empty() {
                self.batches.object_velocity = device.alloc("the object's momentum", object)?;
            }
            if self.batches.probe_velocity.is_empty() {
                self.batches.probe_velocity = device.alloc("the probe's momentum", probe)?;
            }
        }
        let steps = match method.update {
            BatchUpdate::Pie {
                object_step,
                probe_step,
                ..
            } => Some([object_step as f32, probe_step as f32]),
            BatchUpdate::LeastSquares { .. } => None,
        };
        if let Some(steps) = steps.filter(|_| self.batches.set_steps != steps) {
            device.upload(&mut self.batches.steps, &steps)?;
        }
        self.batches.set_steps = steps;
        self.frames.scaled = false;
        self.frames.find_variations(self.buffers);
        Ok(())
    }

    /// A pass over `batches`.
    fn pass(
        &mut self,
        step: &Step,
        method: &BatchMethod,
        batches: &[Batch],
        part: Part,
    ) -> Result<()> {
        if let Some(mut distances) = self.distances.take() {
            let done = self.thick_pass(step, method, batches, &mut distances);
            self.distances = Some(distances);
            return done;
        }
        if self.batches.fused.is_some() {
            return self.fused_pass(step, method, batches, part);
        }
        for batch in batches.iter().copied() {
            self.catch_up(step, method, batch)?;
            self.deviations(batch)?;
            if step.update_object && self.layout.is_layered() {
                self.layered_sums_on_object(batch)?;
            } else if step.update_object {
                self.device.zero(&mut self.batches.largest[0])?;
                self.sums_on_object(method, batch)?;
            }
            if step.update_probe {
                self.sums_on_probe(batch)?;
            }
            self.variation_sums(step, batch)?;
            let scale = self.frames.layers_scale(self.layout);
            self.add_devices(step, batch, scale)?;
            self.object_direction(step, method, batch)?;
            self.probe_direction(step, method)?;
            if let BatchUpdate::LeastSquares { smoothness, .. } = method.update {
                self.steps(step, smoothness, batch)?;
            }
            self.advance(step, method)?;
            self.advance_variations(step, batch)?;
        }
        Ok(())
    }

    fn deviations(&mut self, batch: Batch) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let (frames, buffers) = (&mut *self.frames, &mut *self.buffers);
        let same = frames.same_probe();
        if !same {
            frames.transform_probe(device, buffers, self.probe_fft)?;
            frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 0)?;
        }
        frames.model_of(device, layout, buffers, batch, same)?;
        frames.deviation(device, layout, buffers, batch)?;
        frames.back(device, layout, buffers, batch)
    }

    fn object_direction(&mut self, step: &Step, method: &BatchMethod, batch: Batch) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        if !step.update_object {
            return device.zero(&mut self.batches.object);
        }
        let extra = self.add_smoothness(method, batch)?;
        if layout.is_layered() {
            let of = &mut *self.batches;
            let weights = (&of.object_weights, &of.largest[0], extra);
            let layers = (layout.object_layers as usize, layout.object_pixels());
            let denominator = method.object_denominator();
            return finish(device, &mut of.object, weights, layers, denominator);
        }
        let BatchBuffers {
            object,
            object_weights,
            probe,
            probe_weights,
            largest: [largest, _],
            bounds,
            ..
        } = &mut *self.batches;
        let elements = layout.object_elements();
        device.launch(
            &PtychoBatchFinish {
                object: object.write(),
                probe: probe.write(),
                weights: object_weights.read(),
                probe_weights: probe_weights.read(),
                largest: largest.read(),
                bounds: bounds.read(),
                elements: elements as u32,
                columns: layout.object_columns,
                // Only the object's.
                pixels: 0,
                updates: OBJECT,
                extra: extra as f32,
                floor: FLOOR as f32,
                object_alpha: alpha(method.object_denominator()),
                probe_alpha: 0.0,
            },
            Work::Elements(elements),
        )
    }

    /// [`Self::sums_on_object`] for an object of several layers or exposures of several points.
    fn layered_sums_on_object(&mut self, batch: Batch) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        if self.frames.same_probe() {
            // They are of each frame.
            let (frames, buffers) = (&mut *self.frames, &*self.buffers);
            frames.transform_probe(device, buffers, self.probe_fft)?;
            frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 0)?;
        }
        let of = &mut *self.batches;
        let waves = Waves {
            chi: &self.frames.chi,
            first: 0,
            scale: 1.0,
        };
        let from = (&*self.buffers, &*self.frames);
        let to = (&mut of.object, &mut of.object_weights);
        object_sums(device, layout, from, batch, &waves, to, false)?;
        let pixels = layout.object_pixels();
        find_largest(device, &mut of.largest[0], &of.object_weights, pixels)
    }

    /// Numerators, weights and the largest weight of a batch on the object, each frame with a
    /// shifted probe of its own.
    fn sums_on_object(&mut self, method: &BatchMethod, batch: Batch) -> Result<()> {
        let layout = self.layout;
        let BatchBuffers {
            object,
            object_weights,
            probe,
            probe_weights,
            largest: [largest, _],
            bounds,
            ..
        } = &mut *self.batches;
        let (frames, buffers) = (&*self.frames, &*self.buffers);
        let most = frames.size as u32;
        let (probes, of_probe) = match frames.same_probe() {
            true => (1, &buffers.probe),
            false => (most, &frames.probes),
        };
        let tiles = (layout.object_rows as usize).div_ceil(TILE[0])
            * (layout.object_columns as usize).div_ceil(TILE[1]);
        let groups = (layout.pixels() as usize).div_ceil(TILE[1]) * layout.modes as usize;
        self.device.launch(
            &PtychoBatchSums {
                numerators: object.write(),
                weights: object_weights.write(),
                sums: probe.write(),
                probe_weights: probe_weights.write(),
                largest: largest.write(),
                bounds: bounds.write(),
                probe: of_probe.read(),
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
                slices: most,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                updates: OBJECT,
                given: frames.bounds.len() as u32,
                whole: whole(method),
                scale: 1.0,
            },
            Work::Turns(tiles + groups),
        )
    }

    /// Adds the regulariser's part to the object's numerators, if there is one; returns its part of
    /// the weights.
    pub(in crate::engines::cuda) fn add_smoothness(
        &mut self,
        method: &BatchMethod,
        batch: Batch,
    ) -> Result<f64> {
        let Some(Smoothness { weight, edge }) = method.smoothness() else {
            return Ok(0.0);
        };
        let (device, layout) = (self.device, self.layout);
        let weight = weight * f64::from(batch.count) / f64::from(layout.scan_frames);
        let BatchBuffers {
            object,
            object_weights,
            largest: [largest, _],
            fused,
            ..
        } = &mut *self.batches;
        let largest = (fused.as_ref()).map_or(&*largest, |fused| &fused.largest);
        device.launch(
            &PtychoSmoothness {
                numerators: object.write(),
                object: self.buffers.object.read(),
                weights: object_weights.read(),
                largest: largest.read(),
                layers: layout.object_layers,
                rows: layout.object_rows,
                columns: layout.object_columns,
                weight: weight as f32,
                edge: edge as f32,
                lit: LIT as f32,
            },
            Work::Elements(layout.object_elements()),
        )?;
        Ok(NEIGHBOURS * weight)
    }

    /// Numerators and weights of a batch on the probe, before they are shifted back.
    pub(in crate::engines::cuda) fn sums_on_probe(&mut self, batch: Batch) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let divided = self.exchange.is_some();
        let BatchBuffers {
            probe,
            probe_weights,
            slices,
            apart,
            ..
        } = &mut *self.batches;
        self.frames
            .back_projected(device, layout, self.buffers, batch)?;
        let sliced = Slices {
            count: match *apart {
                0 => (*slices).min(batch.count).max(1),
                apart => apart,
            },
            scaled: false,
            add: false,
            apart: *apart > 0,
        };
        let from = (&*self.buffers, &*self.frames);
        let to = (&mut *probe, &mut *probe_weights);
        probe_sums(device, layout, from, batch, &sliced, to)?;
        let (elements, pixels) = (layout.probe_elements(), layout.pixels());
        device.launch(
            &PtychoSliceSums {
                sums: probe.write(),
                weights: probe_weights.write(),
                slices: sliced.count,
                elements: elements as u32,
                pixels,
                apart: u32::from(sliced.apart),
                // The sums of several devices have their factor when they are added.
                scale: if divided {
                    1.0
                } else {
                    self.frames.layers_scale(layout)
                },
            },
            Work::Elements(elements),
        )
    }

    pub(in crate::engines::cuda) fn probe_direction(
        &mut self,
        step: &Step,
        method: &BatchMethod,
    ) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        let BatchBuffers {
            probe,
            probe_weights,
            largest: [_, largest],
            ..
        } = &mut *self.batches;
        if !step.update_probe {
            return device.zero(probe);
        }
        let pixels = layout.pixels() as usize;
        self.frames.layers_from(device, probe, self.probe_fft)?;
        find_largest(device, largest, probe_weights, pixels)?;
        let denominator = method.probe_denominator();
        let weights = (&*probe_weights, &*largest, 0.0);
        let layers = (layout.modes as usize, pixels);
        finish(device, probe, weights, layers, denominator)
    }
}

/// Whether sums on the object are needed beyond the windows of a batch: a regulariser acts on the
/// whole object.
pub(in crate::engines::cuda) fn whole(method: &BatchMethod) -> u32 {
    u32::from(method.smoothness().is_some())
}

pub(in crate::engines::cuda) fn find_largest<M: Device>(
    device: &M,
    largest: &mut M::Buffer<u32>,
    values: &M::Buffer<f32>,
    elements: usize,
) -> Result<()> {
    device.zero(largest)?;
    device.launch(
        &PtychoLargest {
            largest: largest.write(),
            values: values.read(),
            elements: elements as u32,
            place: 0,
        },
        Work::Elements(elements),
    )
}

/// Divides `direction` (layers, pixels) by the denominator of the weights plus `extra`.
pub(in crate::engines::cuda) fn finish<M: Device>(
    device: &M,
    direction: &mut M::Buffer<Complex32>,
    (weights, largest, extra): (&M::Buffer<f32>, &M::Buffer<u32>, f64),
    (layers, pixels): (usize, usize),
    denominator: Denominator,
) -> Result<()> {
    let alpha = match denominator {
        Denominator::Floor => -1.0,
        Denominator::Mixed(alpha) => alpha as f32,
    };
    device.launch(
        &PtychoDirectionFinish {
            direction: direction.write(),
            weights: weights.read(),
            largest: largest.read(),
            layers: layers as u32,
            pixels: pixels as u32,
            extra: extra as f32,
            floor: FLOOR as f32,
            alpha,
        },
        Work::Elements(layers * pixels),
    )
}
