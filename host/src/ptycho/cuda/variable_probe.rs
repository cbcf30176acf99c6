//! Mirrors cpu/variable_probe.rs: the variations of the first probe mode.

use super::buffers::{Buffers, Layout};
use super::frames::{Batch, FrameBuffers};
use crate::data::VariableProbe;
use crate::gpu::{Buffer, Device, Direction, ReadBack, Result};
use crate::ptycho::cpu::FLOOR;
use crate::ptycho::engine::Values;
use crate::ptycho::variable_probe::{
    COEFFICIENT_MOMENTUM, COEFFICIENTS, DAMPING, PART, Rotation, SHAPE_CHANGES, SHAPE_MOMENTUM,
    SHAPES, random_weights, strongest,
};
use crate::ptycho::{EngineError, EngineState, Step};
use ndarray::{Array2, Array3};
use num_complex::Complex;
use std::mem::swap;
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    coefficient_blocks::PtychoCopyCoefficients,
    gram::PtychoGram,
    mix_layers::PtychoMixLayers,
    probe_variations::PtychoProbeVariations,
    scale_layers::PtychoScaleLayers,
    variation_advance::PtychoVariationAdvance,
    variation_equations::{PtychoVariationEquations, PtychoVariationSteps},
    variation_sums::{PtychoVariationSums, TOGETHER},
};

/// Fractions, scales and order of the frames.
type FrameArrays<'a, M> = (
    &'a <M as Device>::Buffer<[f32; 2]>,
    &'a <M as Device>::Buffer<f32>,
    &'a <M as Device>::Buffer<u32>,
);

/// The object, and corners and fractions of the frames.
type WindowArrays<'a, M> = (
    &'a <M as Device>::Buffer<Complex32>,
    &'a <M as Device>::Buffer<[u32; 2]>,
    &'a <M as Device>::Buffer<[f32; 2]>,
);

/// Weights, the largest of them, and the steps.
type StepArrays<'a, M> = (
    &'a <M as Device>::Buffer<f32>,
    &'a <M as Device>::Buffer<u32>,
    &'a <M as Device>::Buffer<f32>,
);

/// The step, its supports in real and in Fourier space, and the open gate.
type Supports<'a, M> = (
    &'a Step,
    &'a <M as Device>::Buffer<f32>,
    &'a <M as Device>::Buffer<f32>,
    &'a <M as Device>::Buffer<u32>,
);

/// Device memory of the variations; K of them.
pub(super) struct VariationBuffers<M: Device> {
    count: u32,
    /// U and their last changes (k, row, column).
    shapes: [M::Buffer<Complex32>; 2],
    /// c and their last changes (frame, k), of all frames or of those of a block.
    coefficients: [M::Buffer<f32>; 2],
    /// The others of these, of a block while the engine has those of all frames; empty unless counts travel in blocks.
    others: [M::Buffer<f32>; 2],
    /// (k, row, column): sums of a batch, and scratch memory.
    sums: M::Buffer<Complex32>,
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

    /// Those of an earlier result.
    pub(super) fn of(device: &M, layout: &Layout, variable: &VariableProbe) -> Result<Self> {
        let mut new = Self::new(device, layout, variable.count())?;
        let narrow = |v: &Complex<f64>| Complex::new(v.re as f32, v.im as f32);
        let shapes: Vec<Complex<f32>> = variable.shapes.iter().map(narrow).collect();
        device.upload(&mut new.shapes[0], &shapes)?;
        let values: Vec<f32> = variable.coefficients.iter().map(|c| *c as f32).collect();
        device.upload(&mut new.coefficients[0], &values)?;
        Ok(new)
    }

    /// Whether frames have them in the model.
    pub(super) fn in_model(&self) -> bool {
        !self.forming
    }

    fn of_frames(&self, device: &M, which: usize) -> Result<Vec<f64>> {
        let values = device.read_back(&self.coefficients[which])?.wait()?;
        Ok(values.iter().map(|c| f64::from(*c)).collect())
    }

    fn set(&mut self, device: &M, which: usize, values: &[f64]) -> Result<()> {
        let narrow: Vec<f32> = values.iter().map(|c| *c as f32).collect();
        device.upload(&mut self.coefficients[which], &narrow)
    }

    fn download(&self, device: &M, which: usize) -> Result<Vec<Complex<f32>>> {
        let mut values = vec![Complex::default(); self.shapes[which].len()];
        device.download(&self.shapes[which], &mut values)?;
        Ok(values)
    }

    /// As plain data.
    pub(super) fn data(&self, device: &M, layout: &Layout) -> Result<VariableProbe> {
        let count = self.count as usize;
        let [rows, columns] = [layout.rows as usize, layout.columns as usize];
        let shapes = self.download(device, 0)?;
        let coefficients = self.of_frames(device, 0)?;
        Ok(VariableProbe {
            shapes: Array3::from_shape_fn((count, rows, columns), |(k, r, c)| {
                let v = shapes[(k * rows + r) * columns + c];
                Complex::new(f64::from(v.re), f64::from(v.im))
            }),
            coefficients: Array2::from_shape_fn((layout.frames as usize, count), |(frame, k)| {
                coefficients[frame * count + k]
            }),
        })
    }

    /// Adds what the next step depends on to `state`.
    pub(super) fn save(&self, device: &M, state: &mut EngineState) -> Result<()> {
        let (values, changes) = (self.of_frames(device, 0)?, self.of_frames(device, 1)?);
        let pairs = values.iter().zip(&changes);
        let pairs = pairs.map(|(c, change)| Complex::new(*c, *change)).collect();
        let arrays = [
            (SHAPES, Values::F32(self.download(device, 0)?)),
            (SHAPE_CHANGES, Values::F32(self.download(device, 1)?)),
            (COEFFICIENTS, Values::F64(pairs)),
        ];
        let named = arrays.map(|(name, values)| (name.to_owned(), values));
        state.added.extend(named);
        Ok(())
    }

    /// The variations of a saved state with `count` of them; `None` if it has none.
    pub(super) fn restored(
        device: &M,
        layout: &Layout,
        state: &EngineState,
        count: usize,
    ) -> std::result::Result<Option<Self>, EngineError> {
        let Some(coefficients) = state.added.get(COEFFICIENTS) else {
            return Ok(None);
        };
        let elements = count * layout.pixels() as usize;
        let frames = layout.frames as usize * count;
        let pairs: &[Complex<f64>] = coefficients.as_slice("list of coefficients", frames)?;
        let none = Values::F32(Vec::new());
        let mut new = Self::new(device, layout, count)?;
        for (which, name) in [SHAPES, SHAPE_CHANGES].into_iter().enumerate() {
            let saved = state.added.get(name).unwrap_or(&none);
            let values: &[Complex<f32>] = saved.as_slice("set of shapes", elements)?;
            device.upload(&mut new.shapes[which], values)?;
        }
        let [values, changes] = [|v: &Complex<f64>| v.re, |v: &Complex<f64>| v.im]
            .map(|of| pairs.iter().map(of).collect::<Vec<f64>>());
        new.set(device, 0, &values)?;
        new.set(device, 1, &changes)?;
        Ok(Some(new))
    }

    /// The spectra of the shapes, or at whole pixels the shapes themselves, to `to`.
    pub(super) fn transform(
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
    pub(super) fn add(
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
    pub(super) fn exchange_block(
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
        Ok(())
    }

    /// The sums of a batch on the shapes, and the equations of its frames, from the spectra of conj(O)·χ in the work waves.
    pub(super) fn sum(
        &mut self,
        device: &M,
        layout: &Layout,
        (object, corners, fractions): WindowArrays<'_, M>,
        frames: &FrameBuffers<M>,
        batch: Batch,
    ) -> Result<()> {
        let pixels = layout.pixels() as usize;
        let scale = frames.layers_scale(layout);
        let groups = self.count.div_ceil(TOGETHER) as usize;
        device.launch(
            &PtychoVariationSums {
                sums: self.sums.write(),
                spectra: frames.work.read(),
                coefficients: self.coefficients[0].read(),
                fractions: fractions.read(),
                order: frames.order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                variations: self.count,
                scale,
            },
            Work::Elements(groups * pixels),
        )?;
        if frames.exact {
            device.fft(&self.fft, &mut self.sums, Direction::Inverse)?;
        }
        if self.forming {
            return Ok(());
        }
        let needed = batch.count as usize * (self.count * (self.count + 1)) as usize;
        if self.equations.len() < needed {
            self.equations = device.alloc("the coefficients' equations", needed)?;
        }
        device.launch(
            &PtychoVariationEquations {
                equations: self.equations.write(),
                spectra: frames.work.read(),
                shape_spectra: frames.shape_spectra.read(),
                shapes: self.shapes[0].read(),
                object: object.read(),
                corners: corners.read(),
                fractions: fractions.read(),
                order: frames.order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                variations: self.count,
                scale,
            },
            Work::Blocks(batch.count as usize),
        )
    }

    /// Changes shapes and coefficients by what [`Self::sum`] has found, with the probe's step in `steps`.
    pub(super) fn advance(
        &mut self,
        device: &M,
        layout: &Layout,
        order: &M::Buffer<u32>,
        batch: Batch,
        (weights, largest, steps): StepArrays<'_, M>,
    ) -> Result<()> {
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

    /// The shapes and their changes, memory for as many layers, and their number.
    pub(super) fn shapes_and_work(
        &mut self,
    ) -> (
        &mut [M::Buffer<Complex32>; 2],
        &mut M::Buffer<Complex32>,
        u32,
    ) {
        (&mut self.shapes, &mut self.sums, self.count)
    }

    /// Multiplies the shapes by the supports of a step.
    fn constrain(
        &mut self,
        device: &M,
        layout: &Layout,
        (step, real, fourier, open): Supports<'_, M>,
    ) -> Result<()> {
        let (layers, pixels) = (self.count, layout.pixels());
        let all = Work::Elements(layers as usize * pixels as usize);
        let scaled = |waves: &mut M::Buffer<Complex32>, weights: &M::Buffer<f32>, factor| {
            let launch = PtychoScaleLayers {
                waves: waves.write(),
                weights: weights.read(),
                gate: open.read(),
                layers,
                pixels,
                factor,
            };
            device.launch(&launch, all)
        };
        let [shapes, _] = &mut self.shapes;
        if step.probe_support.is_some() {
            scaled(shapes, real, 1.0)?;
        }
        if step.probe_fourier_support.is_some() {
            device.fft_to(&self.fft, shapes, &mut self.sums, Direction::Forward)?;
            scaled(&mut self.sums, fourier, layout.scale())?;
            device.fft(&self.fft, &mut self.sums, Direction::Inverse)?;
            device.copy(&self.sums, shapes)?;
        }
        Ok(())
    }

    /// Replaces shapes and their changes by sums of them.
    fn mix(&mut self, device: &M, pixels: u32) -> Result<()> {
        for layers in &mut self.shapes {
            device.launch(
                &PtychoMixLayers {
                    to: self.sums.write(),
                    from: layers.read(),
                    mixture: self.mixture.read(),
                    layers: self.count,
                    pixels,
                },
                Work::Elements(self.count as usize * pixels as usize),
            )?;
            device.copy(&self.sums, layers)?;
        }
        Ok(())
    }
}

/// Prepares the variations for a step, of which there shall be `count`; the first step that updates them forms them.
pub(super) fn begin<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    step: &Step,
    count: usize,
) -> Result<()> {
    if !step.update_variations {
        return Ok(());
    }
    if let Some(of) = &mut buffers.variations {
        of.strongest = strongest(&of.of_frames(device, 0)?, count) as f32;
        return Ok(());
    }
    let mut new = VariationBuffers::new(device, layout, count)?;
    let weights = random_weights(step.seed, layout.frames as usize, count);
    new.set(device, 0, &weights)?;
    (new.strongest, new.forming) = (1.0, true);
    buffers.variations = Some(new);
    Ok(())
}

/// Applies the supports to the shapes, and makes them orthonormal and ordered by power after a step that has updated them, and adds the mean of the variations to
/// the probe. Waits for the device.
pub(super) fn end<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    step: &Step,
) -> Result<()> {
    let Some(mut of) = buffers.variations.take() else {
        return Ok(());
    };
    let done = match step.update_variations {
        true => end_with(device, layout, buffers, &mut of, step),
        false => Ok(()),
    };
    buffers.variations = Some(of);
    done
}

fn end_with<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    of: &mut VariationBuffers<M>,
    step: &Step,
) -> Result<()> {
    let supports = (
        step,
        &buffers.support,
        &buffers.fourier_support,
        &buffers.open,
    );
    of.constrain(device, layout, supports)?;
    let (count, pixels) = (of.count as usize, layout.pixels());
    let modes = layout.modes;
    device.launch(
        &PtychoGram {
            gram: of.gram.write(),
            values: of.shapes[0].read(),
            layers: of.count,
            pixels,
        },
        Work::Blocks(count * count),
    )?;
    device.launch(
        &PtychoGram {
            gram: buffers.gram.write(),
            values: buffers.probe.read(),
            layers: modes,
            pixels,
        },
        Work::Blocks(modes as usize * modes as usize),
    )?;
    let gram = device.read_back(&of.gram)?;
    let power = device.read_back(&buffers.gram)?;
    let mut values = of.of_frames(device, 0)?;
    let mut changes = of.of_frames(device, 1)?;
    let gram: Vec<f64> = gram.wait()?.iter().map(|pair| pair[0]).collect();
    let power = power.wait()?.first().map_or(0.0, |pair| pair[0]);
    let weights = (!of.forming).then_some(&values[..]);
    let Some(found) = Rotation::new(&gram, weights) else {
        // Values that are not finite end the run.
        return Ok(());
    };
    let shares = found.shapes.iter().map(|v| Complex::new(*v as f32, 0.0));
    device.upload(&mut of.mixture, &shares.collect::<Vec<_>>())?;
    if of.forming {
        values.fill(0.0);
        changes.fill(0.0);
        device.zero(&mut of.shapes[1])?;
        of.forming = false;
    } else {
        let mean: Vec<f32> = found.mean.iter().map(|c| *c as f32).collect();
        device.upload(&mut of.mean, &mean)?;
        device.launch(
            &PtychoProbeVariations {
                to: buffers.probe.write(),
                spectra: of.shapes[0].read(),
                coefficients: of.mean.read(),
                fractions: of.no_fraction.read(),
                scales: of.one.read(),
                order: of.first.read(),
                frames: 1,
                first: 0,
                count: 1,
                modes,
                rows: layout.rows,
                columns: layout.columns,
                parts: layout.parts,
                variations: of.count,
                derivative: 0,
                scaled: 0,
                scale: 1.0,
            },
            Work::Blocks(layout.parts as usize),
        )?;
        found.coefficients(&mut values, &mut changes, power);
    }
    of.mix(device, pixels)?;
    of.set(device, 0, &values)?;
    of.set(device, 1, &changes)
}

/// Multiplies the variations by `factor`, as the probe. Waits for the device.
pub(super) fn scale<M: Device>(
    device: &M,
    of: &mut VariationBuffers<M>,
    factor: f64,
) -> Result<()> {
    for which in 0..2 {
        let values = of.of_frames(device, which)?;
        let scaled: Vec<f64> = values.iter().map(|c| c * factor).collect();
        of.set(device, which, &scaled)?;
    }
    Ok(())
}
