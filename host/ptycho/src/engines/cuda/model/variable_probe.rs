//! Mirrors cpu/model/variable_probe.rs: the variations of the first probe mode.

use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::updates::FLOOR;
use crate::model::variable_probe::{COEFFICIENT_MOMENTUM, DAMPING, PART, SHAPE_MOMENTUM};
use std::mem::swap;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    coefficient_blocks::PtychoCopyCoefficients, probe_variations::PtychoProbeVariations,
    variation_advance::PtychoVariationAdvance, variation_equations::PtychoVariationSteps,
};

mod iteration;
mod state;
mod sums;

pub(in crate::engines::cuda) use iteration::{begin, end, scale};

/// Fractions, scales and order of the frames.
type FrameArrays<'a, M> = (
    &'a <M as Device>::Buffer<[f32; 2]>,
    &'a <M as Device>::Buffer<f32>,
    &'a <M as Device>::Buffer<u32>,
);

/// Weights, the largest of them, and the steps.
type StepArrays<'a, M> = (
    &'a <M as Device>::Buffer<f32>,
    &'a <M as Device>::Buffer<u32>,
    &'a <M as Device>::Buffer<f32>,
);

/// Device memory of the variations; K of them.
pub(in crate::engines::cuda) struct VariationBuffers<M: Device> {
    pub(in crate::engines::cuda) count: u32,
    /// U and their last changes (k, row, column).
    pub(in crate::engines::cuda) shapes: [M::Buffer<Complex32>; 2],
    /// c and their last changes (frame, k), of all frames or of those of a block.
    coefficients: [M::Buffer<f32>; 2],
    /// The others of these, of a block while the engine has those of all frames; empty unless
    /// counts travel in blocks.
    others: [M::Buffer<f32>; 2],
    /// (k, row, column): sums of a batch, and scratch memory.
    pub(in crate::engines::cuda) sums: M::Buffer<Complex32>,
    /// (frame of a batch, K + K²); as large as a batch needs.
    equations: M::Buffer<f32>,
    /// (k, k): products of the shapes.
    gram: M::Buffer<[f64; 2]>,
    /// (k, k).
    mixture: M::Buffer<Complex32>,
    /// One frame, on a whole pixel, with the mean of the coefficients.
    mean: M::Buffer<f32>,
    no_fraction: M::Buffer<[f32; 2]>,
    one: M::Buffer<f32>,
    first: M::Buffer<u32>,
    /// Transforms of the shapes.
    fft: M::Fft,
    /// The largest mean square of a variation's coefficients at the start of the iteration.
    strongest: f32,
    /// Whether this is the iteration in which the shapes are formed.
    forming: bool,
    /// Further ones, beside those of an earlier result, that the present iteration forms.
    further: Option<Box<Self>>,
}

impl<M: Device> VariationBuffers<M> {
    fn new(device: &M, layout: &Layout, count: usize) -> Result<Self> {
        let pixels = layout.pixels() as usize;
        let frames = layout.frames as usize * count;
        let shape = [layout.rows as usize, layout.columns as usize];
        let shapes = || device.alloc("the probe's variations", count * pixels);
        let of_frames = || device.alloc("the variations' coefficients", frames);
        let none = || device.alloc("the coefficients of a block", 0);
        let mut new = Self {
            count: count as u32,
            shapes: [shapes()?, shapes()?],
            coefficients: [of_frames()?, of_frames()?],
            others: [none()?, none()?],
            sums: shapes()?,
            equations: device.alloc("the coefficients' equations", 0)?,
            gram: device.alloc("the variations' products", count * count)?,
            mixture: device.alloc("the variations' mixture", count * count)?,
            mean: device.alloc("the coefficients' mean", count)?,
            no_fraction: device.alloc("no fraction of a pixel", 1)?,
            one: device.alloc("a scale of 1", 1)?,
            first: device.alloc("the first frame", 1)?,
            fft: device.plan_fft(&shape, count)?,
            strongest: 0.0,
            forming: false,
            further: None,
        };
        for values in &mut new.shapes {
            device.zero(values)?;
        }
        for values in &mut new.coefficients {
            device.zero(values)?;
        }
        device.zero(&mut new.no_fraction)?;
        device.zero(&mut new.first)?;
        device.upload(&mut new.one, &[1.0_f32])?;
        Ok(new)
    }

    /// Whether frames have them in the model.
    pub(in crate::engines::cuda) fn in_model(&self) -> bool {
        !self.forming
    }

    /// The spectra of the shapes, or at whole pixels the shapes themselves, to `to`.
    pub(in crate::engines::cuda) fn transform(
        &self,
        device: &M,
        exact: bool,
        to: &mut M::Buffer<Complex32>,
    ) -> Result<()> {
        if to.len() != self.shapes[0].len() {
            *to = device.alloc("the variations' spectra", self.shapes[0].len())?;
        }
        if exact {
            device.fft_to(&self.fft, &self.shapes[0], to, Direction::Forward)
        } else {
            device.copy(&self.shapes[0], to)
        }
    }

    /// Adds the variations of the frames of a batch to the shifted spectra `to`.
    pub(in crate::engines::cuda) fn add(
        &self,
        device: &M,
        layout: &Layout,
        (fractions, scales, order): FrameArrays<'_, M>,
        batch: Batch,
        (spectra, to): (&M::Buffer<Complex32>, &mut M::Buffer<Complex32>),
        (derivative, scaled, scale): (u32, bool, f32),
    ) -> Result<()> {
        device.launch(
            &PtychoProbeVariations {
                to: to.write(),
                spectra: spectra.read(),
                coefficients: self.coefficients[0].read(),
                fractions: fractions.read(),
                scales: scales.read(),
                order: order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                parts: layout.parts,
                variations: self.count,
                derivative,
                scaled: u32::from(scaled),
                scale,
            },
            Work::Blocks(batch.count as usize * layout.parts as usize),
        )
    }

    /// Gathers the coefficients of a block of frames, or puts them back, and exchanges both.
    pub(in crate::engines::cuda) fn exchange_block(
        &mut self,
        device: &M,
        layout: &Layout,
        order: &M::Buffer<u32>,
        [first, count]: [usize; 2],
        back: bool,
    ) -> Result<()> {
        if back {
            swap(&mut self.coefficients, &mut self.others);
        }
        let values = count * self.count as usize;
        for (of_scan, of_block) in self.coefficients.iter_mut().zip(&mut self.others) {
            if of_block.len() < values {
                *of_block = device.alloc("the coefficients of a block", values)?;
            }
            device.launch(
                &PtychoCopyCoefficients {
                    of_scan: of_scan.write(),
                    of_block: of_block.write(),
                    order: order.read(),
                    frames: layout.frames,
                    first: first as u32,
                    count: count as u32,
                    variations: self.count,
                    back: u32::from(back),
                },
                Work::Elements(values),
            )?;
        }
        if !back {
            swap(&mut self.coefficients, &mut self.others);
        }
        match &mut self.further {
            Some(of) => of.exchange_block(device, layout, order, [first, count], back),
            None => Ok(()),
        }
    }

    /// Changes shapes and coefficients by what [`Self::sum`] has found, with the probe's step in
    /// `steps`.
    pub(in crate::engines::cuda) fn advance(
        &mut self,
        device: &M,
        layout: &Layout,
        order: &M::Buffer<u32>,
        batch: Batch,
        (weights, largest, steps): StepArrays<'_, M>,
    ) -> Result<()> {
        if let Some(of) = &mut self.further {
            of.advance(device, layout, order, batch, (weights, largest, steps))?;
        }
        let pixels = layout.pixels();
        let [shapes, changes] = &mut self.shapes;
        let [coefficients, coefficient_changes] = &mut self.coefficients;
        device.launch(
            &PtychoVariationAdvance {
                shapes: shapes.write(),
                changes: changes.write(),
                sums: self.sums.read(),
                weights: weights.read(),
                largest: largest.read(),
                steps: steps.read(),
                coefficients: coefficients.read(),
                order: order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                variations: self.count,
                pixels,
                strongest: self.strongest,
                floor: FLOOR as f32,
                momentum: SHAPE_MOMENTUM as f32,
                part: PART as f32,
            },
            Work::Elements(self.count as usize * pixels as usize),
        )?;
        if self.forming {
            return Ok(());
        }
        device.launch(
            &PtychoVariationSteps {
                equations: self.equations.write(),
                coefficients: coefficients.write(),
                changes: coefficient_changes.write(),
                order: order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                variations: self.count,
                damping: DAMPING as f32,
                momentum: COEFFICIENT_MOMENTUM as f32,
                part: PART as f32,
            },
            Work::Elements(batch.count as usize),
        )
    }

    /// Does `work` with these variations, and with those that are formed beside them.
    pub(in crate::engines::cuda) fn each(
        &mut self,
        work: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        work(self)?;
        match &mut self.further {
            Some(of) => of.each(work),
            None => Ok(()),
        }
    }
}
