//! The beginning and the end of an iteration that updates the variations.

use super::VariationBuffers;
use crate::Step;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::model::variable_probe::{
    Rotation, further_shapes, further_weights, strongest, with_zeros,
};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Direction, ReadBack, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    gram::PtychoGram, mix_layers::PtychoMixLayers, probe_variations::PtychoProbeVariations,
    scale_layers::PtychoScaleLayers,
};

/// The step, its supports in real and in Fourier space, and the open gate.
type Supports<'a, M> = (
    &'a Step,
    &'a <M as Device>::Buffer<f32>,
    &'a <M as Device>::Buffer<f32>,
    &'a <M as Device>::Buffer<u32>,
);

impl<M: Device> VariationBuffers<M> {
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

    /// Takes the further ones, with coefficients 0, so that no frame's probe changes; `values` are
    /// the present coefficients and their changes (frame, k). Waits for the device.
    fn take_further(
        &mut self,
        device: &M,
        layout: &Layout,
        further: &Self,
        values: [&[f64]; 2],
    ) -> Result<()> {
        let wide = |values: &[Complex<f32>]| -> Vec<Complex<f64>> {
            let wide = |v: &Complex<f32>| Complex::new(f64::from(v.re), f64::from(v.im));
            values.iter().map(wide).collect()
        };
        let mut shapes = self.download(device, 0)?;
        let mut changes = self.download(device, 1)?;
        let sums = further.download(device, 0)?;
        let pixels = layout.pixels() as usize;
        // Values that are not finite end the run.
        let Some(found) = further_shapes(&wide(&shapes), &wide(&sums), pixels) else {
            return Ok(());
        };
        let narrow = |v: &Complex<f64>| Complex::new(v.re as f32, v.im as f32);
        shapes.extend(found.iter().map(narrow));
        changes.resize(shapes.len(), Complex::default());
        let (count, more) = (self.count as usize, further.count as usize);
        let mut new = Self::new(device, layout, count + more)?;
        for (buffer, layers) in new.shapes.iter_mut().zip([shapes, changes]) {
            device.upload(buffer, &layers)?;
        }
        for (which, values) in values.into_iter().enumerate() {
            new.set(device, which, &with_zeros(values, count, more))?;
        }
        *self = new;
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

/// Prepares the variations for a step, of which there shall be `count`; the first step that updates
/// them forms them, or those that an earlier result does not have.
pub(in crate::engines::cuda) fn begin<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    step: &Step,
    count: usize,
) -> Result<()> {
    if !step.update_variations {
        return Ok(());
    }
    let formed = |present: usize| {
        let mut new = VariationBuffers::new(device, layout, count - present)?;
        let weights = further_weights(step.seed, layout.frames as usize, [present, count]);
        new.set(device, 0, &weights)?;
        (new.strongest, new.forming) = (1.0, true);
        Result::Ok(new)
    };
    let Some(of) = &mut buffers.variations else {
        buffers.variations = Some(formed(0)?);
        return Ok(());
    };
    let present = of.count as usize;
    of.strongest = strongest(&of.of_frames(device, 0)?, present) as f32;
    if present < count {
        of.further = Some(Box::new(formed(present)?));
    }
    Ok(())
}

/// Applies the supports to the shapes, and makes them orthonormal and ordered by power after a step
/// that has updated them, and adds the mean of the variations to the probe. Waits for the device.
pub(in crate::engines::cuda) fn end<M: Device>(
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
    if let Some(further) = &mut of.further {
        further.constrain(device, layout, supports)?;
    }
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
    of.set(device, 1, &changes)?;
    match of.further.take() {
        Some(further) => of.take_further(device, layout, &further, [&values, &changes]),
        None => Ok(()),
    }
}

/// Multiplies the variations by `factor`, as the probe. Waits for the device.
pub(in crate::engines::cuda) fn scale<M: Device>(
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
