//! Mirrors cpu/likelihood.rs: maximum likelihood by nonlinear conjugate gradient.

use super::memory::buffers::Buffers;
use super::memory::frames::FrameBuffers;
use super::memory::layout::Layout;
use super::model::multislice::DistanceSums;
use super::step_arguments::alpha;
use super::updates::constraints::fourier_support;
use crate::Step;
use crate::engines::likelihood::{LikelihoodMethod, Noise, conjugate, falling};
use crate::engines::updates::{FLOOR, LIT};
use warpstride_cuda::gpu::{Buffer, Device, ReadBack, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    advance_layers::PtychoAdvanceLayers,
    conjugate_direction::PtychoConjugateDirection,
    conjugate_precondition::PtychoConjugatePrecondition,
    gaussian_smoothing::PtychoGaussianSmoothing,
    largest::PtychoLargest,
    likelihood_noise::{AMPLITUDE, GAUSSIAN, POISSON},
    line_point::PtychoLinePoint,
    scale_layers::PtychoScaleLayers,
    smoothness::PtychoSmoothnessSums,
};

mod ahead;
mod fused;
mod gradient;
mod line;
mod memory;
mod squares;
#[cfg(test)]
mod tests;

pub(super) use memory::LikelihoodBuffers;
use memory::{BLOCKS, Pair};
pub(super) use squares::LAUNCHED as SQUARES_OF_SLOPES;

/// Smooths along the axis of this length and stride.
fn smooth<M: Device>(
    device: &M,
    to: &mut M::Buffer<Complex32>,
    from: &M::Buffer<Complex32>,
    kernel: &M::Buffer<f32>,
    length: u32,
    stride: u32,
) -> Result<()> {
    let elements = from.len();
    device.launch(
        &PtychoGaussianSmoothing {
            to: to.write(),
            from: from.read(),
            kernel: kernel.read(),
            elements: elements as u32,
            taps: kernel.len() as u32,
            length,
            stride,
        },
        Work::Elements(elements),
    )
}

/// The number of a noise in kernels.
fn number(noise: Noise) -> u32 {
    match noise {
        Noise::Gaussian => GAUSSIAN,
        Noise::Poisson => POISSON,
        Noise::Amplitude => AMPLITUDE,
    }
}

/// Whether a step updates object and probe.
fn updated(step: &Step) -> [bool; 2] {
    [step.update_object, step.update_probe]
}

/// Whether a step changes object or probe after its search.
fn constrains(step: &Step) -> bool {
    step.clip_object.is_some()
        || step.probe_support.is_some()
        || step.probe_fourier_support.is_some()
}

/// What a search along a direction has found.
struct Found {
    /// ⟨g, z⟩.
    norm: f64,
    beta: f64,
    /// Whether the gradient has become the last one.
    kept: bool,
    /// Whether a step has been taken.
    advanced: bool,
}

/// A run's device memory, for one iteration.
pub(super) struct Run<'a, M: Device> {
    pub(super) device: &'a M,
    pub(super) layout: &'a Layout,
    pub(super) buffers: &'a mut Buffers<M>,
    pub(super) frames: &'a mut FrameBuffers<M>,
    pub(super) own: &'a mut LikelihoodBuffers<M>,
    pub(super) probe_fft: &'a M::Fft,
    /// What the sums of the distances between slices go to; `None` for a thin specimen.
    pub(super) distances: Option<DistanceSums<M>>,
}

impl<M: Device> Run<'_, M> {
    /// One step; it waits for the device where the host decides.
    pub(super) fn iterate(&mut self, step: &Step, method: &LikelihoodMethod) -> Result<()> {
        // Buffers change places below, and a captured epoch has their addresses.
        self.frames.epochs.clear();
        self.fuse(step, method.noise)?;
        let loss = self.gradient(step, method)?;
        let smoothing = method.smoothing(self.own.count);
        let updated = updated(step);
        let last = self.own.last.take().filter(|last| last.1 == updated);
        let last = last.map(|(norm, _)| norm);
        let Found {
            norm,
            beta,
            kept,
            mut advanced,
        } = if self.own.fused.is_some() && smoothing.is_empty() {
            self.search_ahead((step, method), loss, last)?
        } else {
            let mut products = self.preconditioned(method, &smoothing)?;
            if !smoothing.is_empty() && products[0] <= 0.0 {
                products = self.preconditioned(method, &[])?;
            }
            let beta = last.map_or(0.0, |norm| conjugate(products, norm));
            self.combine(Some(beta))?;
            Found {
                norm: products[0],
                beta,
                kept: false,
                advanced: self.search(method, loss)?,
            }
        };
        if !advanced && beta > 0.0 {
            self.combine(Some(0.0))?;
            advanced = self.search(method, loss)?;
        }
        self.own.count += 1;
        if advanced {
            if !kept {
                self.own.keep_gradient();
            }
            self.own.last = Some((norm, updated));
            self.constrain(step)?;
        }
        Ok(())
    }

    /// Computes z; returns Re⟨g, z⟩, Re⟨g_last, z⟩ and Re⟨g, h⟩.
    fn preconditioned(&mut self, method: &LikelihoodMethod, kernel: &[f64]) -> Result<[f64; 3]> {
        self.smooth_gradient(kernel)?;
        self.precondition(method, !kernel.is_empty())?;
        let mut total = [0.0; 3];
        for sums in self.device.read_back(&self.own.products)?.wait()? {
            total.iter_mut().zip(sums).for_each(|(sum, v)| *sum += v);
        }
        Ok(total)
    }

    /// Writes the object's smoothed gradient to z, if there is a kernel.
    fn smooth_gradient(&mut self, kernel: &[f64]) -> Result<()> {
        if kernel.is_empty() {
            return Ok(());
        }
        let (device, layout) = (self.device, self.layout);
        let LikelihoodBuffers {
            gradient: [gradient, _],
            descent: [descent, _],
            start: [between, _],
            kernel: taps,
            ..
        } = &mut *self.own;
        let narrow: Vec<f32> = kernel.iter().map(|v| *v as f32).collect();
        *taps = device.alloc("the smoothing kernel", narrow.len())?;
        device.upload(taps, &narrow)?;
        let (rows, columns) = (layout.object_rows, layout.object_columns);
        smooth(device, between, gradient, taps, columns, 1)?;
        smooth(device, descent, between, taps, rows, columns)
    }

    /// Computes z from the gradient, or on the object from what is `smoothed`, and the parts of
    /// Re⟨g, z⟩, Re⟨g_last, z⟩ and Re⟨g, h⟩.
    fn precondition(&mut self, method: &LikelihoodMethod, smoothed: bool) -> Result<()> {
        let layout = self.layout;
        let LikelihoodBuffers {
            gradient: [gradient, probe_gradient],
            descent: [descent, probe_descent],
            last_gradient: [last, probe_last],
            direction: [direction, probe_direction],
            weights: [weights, probe_weights],
            largest,
            products,
            share,
            ..
        } = &mut *self.own;
        let blocks = products.len();
        self.device.launch(
            &PtychoConjugatePrecondition {
                sums: products.write(),
                descent: descent.write(),
                probe_descent: probe_descent.write(),
                gradient: gradient.read(),
                probe_gradient: probe_gradient.read(),
                last: last.read(),
                probe_last: probe_last.read(),
                direction: direction.read(),
                probe_direction: probe_direction.read(),
                weights: weights.read(),
                probe_weights: probe_weights.read(),
                largest: largest.read(),
                blocks: blocks as u32,
                share: *share,
                elements: layout.object_elements() as u32,
                object_pixels: layout.object_pixels() as u32,
                modes: layout.modes,
                pixels: layout.pixels(),
                extra: method.extra() as f32,
                floor: FLOOR as f32,
                alpha: alpha(method.denominator()),
                smoothed: u32::from(smoothed),
            },
            Work::Blocks(blocks),
        )
    }

    /// h ← −z + β h; `None`: β follows from the products on the device.
    fn combine(&mut self, beta: Option<f64>) -> Result<()> {
        let LikelihoodBuffers {
            direction: [direction, probe_direction],
            descent: [descent, probe_descent],
            search,
            products,
            share,
            ..
        } = &mut *self.own;
        let blocks = products.len();
        self.device.launch(
            &PtychoConjugateDirection {
                elements: descent.len() as u32,
                probe_elements: probe_descent.len() as u32,
                direction: direction.write(),
                probe_direction: probe_direction.write(),
                search: search.write(),
                descent: descent.read(),
                probe_descent: probe_descent.read(),
                sums: products.read(),
                blocks: blocks as u32,
                share: *share,
                beta: beta.map_or(f32::NAN, |beta| beta as f32),
            },
            Work::Blocks(blocks),
        )
    }

    /// Moves object and probe along the direction so that the objective falls; `false`: no step
    /// does, and they stay.
    fn search(&mut self, method: &LikelihoodMethod, start: f64) -> Result<bool> {
        let noise = method.noise;
        let sums = self.line_sums(noise)?;
        let regulariser = self.regulariser(method)?;
        let first = match self.buffers.slices {
            None => noise.step(&sums, regulariser),
            Some(_) => Noise::quadratic_step(&sums, regulariser),
        };
        let Some(first) = first else {
            return Ok(false);
        };
        self.keep_start()?;
        self.descend(noise, (first, start), regulariser, None)
    }

    /// Keeps object and probe before a step.
    fn keep_start(&mut self) -> Result<()> {
        let [object, probe] = &mut self.own.start;
        self.device.copy(&self.buffers.object, object)?;
        self.device.copy(&self.buffers.probe, probe)
    }

    /// Takes the first of the steps `first`, `first`/2, … at which the objective is below `start`;
    /// `false`: none is, and object and probe are those before. `known` is the likelihood's part at
    /// the first step if that has been taken already.
    fn descend(
        &mut self,
        noise: Noise,
        (first, start): (f64, f64),
        [slope, bent]: [f64; 2],
        mut known: Option<f64>,
    ) -> Result<bool> {
        let objective = |t: f64| {
            let loss = match known.take() {
                Some(loss) => loss,
                None => {
                    self.move_to(t)?;
                    self.loss(noise)?
                }
            };
            Result::Ok(loss + t * (slope + t * bent))
        };
        let taken = falling(first, start, objective)?;
        if taken.is_none() {
            self.restore_start()?;
        }
        Ok(taken.is_some())
    }

    /// Object and probe become those before the step.
    fn restore_start(&mut self) -> Result<()> {
        let [object, probe] = &self.own.start;
        self.device.copy(object, &mut self.buffers.object)?;
        self.device.copy(probe, &mut self.buffers.probe)?;
        self.own.changed();
        Ok(())
    }

    /// Object and probe `t` along the direction from the start.
    fn move_to(&mut self, t: f64) -> Result<()> {
        self.own.changed();
        let Self {
            device,
            buffers,
            own,
            ..
        } = self;
        let LikelihoodBuffers {
            direction: [direction, probe_direction],
            start: [start, probe_start],
            search,
            products,
            smoothness,
            share,
            ..
        } = &mut **own;
        device.launch(
            &PtychoLinePoint {
                elements: start.len() as u32,
                probe_elements: probe_start.len() as u32,
                object: buffers.object.write(),
                probe: buffers.probe.write(),
                start: start.write(),
                probe_start: probe_start.write(),
                search: search.write(),
                direction: direction.read(),
                probe_direction: probe_direction.read(),
                // Nothing is added up.
                sums: products.read(),
                smoothness: smoothness.read(),
                frames: 0,
                blocks: 0,
                share: *share,
                weight: 0.0,
                step: t as f32,
            },
            Work::Blocks(products.len()),
        )
    }

    /// Slope and half the second derivative of the regulariser along the direction.
    fn regulariser(&mut self, method: &LikelihoodMethod) -> Result<[f64; 2]> {
        let Some(weight) = self.smoothness_sums(method)? else {
            return Ok([0.0; 2]);
        };
        let sums = self.device.read_back(&self.own.smoothness)?.wait()?;
        let total = |n: usize| sums.iter().map(|s| f64::from(s[n])).sum::<f64>();
        Ok([-2.0 * weight * total(1), weight * total(0)])
    }

    /// Computes the parts of the regulariser's sums along the direction; returns its weight, if
    /// there is one.
    fn smoothness_sums(&mut self, method: &LikelihoodMethod) -> Result<Option<f64>> {
        let Some(of) = method.regulariser() else {
            return Ok(None);
        };
        let (device, layout) = (self.device, self.layout);
        let own = &mut *self.own;
        device.launch(
            &PtychoSmoothnessSums {
                sums: own.smoothness.write(),
                object: self.buffers.object.read(),
                direction: own.direction[0].read(),
                weights: own.weights[0].read(),
                largest: own.largest.read(),
                blocks: BLOCKS as u32,
                layers: layout.object_layers,
                rows: layout.object_rows,
                columns: layout.object_columns,
                edge: of.edge as f32,
                lit: LIT as f32,
            },
            Work::Blocks(BLOCKS),
        )?;
        Ok(Some(of.weight))
    }

    fn constrain(&mut self, step: &Step) -> Result<()> {
        let (device, layout) = (self.device, self.layout);
        if constrains(step) {
            self.own.changed();
        }
        if let Some(limits) = step.clip_object.filter(|_| step.update_object) {
            let [low, high] = limits.map(|v| v as f32);
            let elements = layout.object_elements();
            device.launch(
                &PtychoAdvanceLayers {
                    values: self.buffers.object.write(),
                    velocity: self.own.start[0].write(),
                    direction: self.own.direction[0].read(),
                    steps: self.own.no_steps.read(),
                    elements: elements as u32,
                    velocities: 0,
                    which: 0,
                    momentum: 0.0,
                    clip_low: low,
                    clip_high: high,
                },
                Work::Elements(elements),
            )?;
        }
        if !step.update_probe {
            return Ok(());
        }
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
                Work::Elements(layout.probe_elements()),
            )?;
        }
        if step.probe_fourier_support.is_some() {
            device.zero(&mut self.buffers.gate)?;
            fourier_support(device, layout, self.buffers, self.probe_fft)?;
        }
        Ok(())
    }

    /// Writes the largest weights.
    fn find_largest(&mut self) -> Result<()> {
        let LikelihoodBuffers {
            largest, weights, ..
        } = &mut *self.own;
        self.device.zero(largest)?;
        let elements = [weights[0].len(), self.layout.pixels() as usize];
        for ((place, values), elements) in (0..).zip(weights).zip(elements) {
            self.device.launch(
                &PtychoLargest {
                    largest: largest.write(),
                    values: values.read(),
                    elements: elements as u32,
                    place,
                },
                Work::Elements(elements),
            )?;
        }
        Ok(())
    }
}
