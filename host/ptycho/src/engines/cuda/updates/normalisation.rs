//! Mirrors cpu/updates/normalisation.rs: fixes the scale between object and probe, makes modes
//! orthogonal.

use crate::engines::cuda::batches::batch_engine::BatchBuffers;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::model::multislice::SliceBuffers;
use crate::engines::cuda::model::variable_probe;
use crate::model::normalisation::normalisation;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, ReadBack, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    gram::PtychoGram, mix_layers::PtychoMixLayers, scale_to_power::PtychoScaleToPower,
};

/// Normalises to the total power `power`, or only mixes modes if that is not given; the momentum
/// and what else there is on the probe (`others`) along with it. Waits for the device, unless there
/// is one mode, a power, and nothing else on the probe. A probe with variations is only scaled,
/// with them.
pub(in crate::engines::cuda) fn normalise<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    momentum: Option<&mut BatchBuffers<M>>,
    others: Option<[&mut M::Buffer<Complex32>; 2]>,
    power: Option<f64>,
) -> Result<()> {
    let (modes, pixels) = (layout.modes, layout.pixels());
    let pairs = modes as usize * modes as usize;
    device.launch(
        &PtychoGram {
            gram: buffers.gram.write(),
            values: buffers.probe.read(),
            layers: modes,
            pixels,
        },
        Work::Blocks(pairs),
    )?;
    let slices = buffers.slices.as_ref().map_or(1, SliceBuffers::count);
    let varies = buffers.variations.is_some();
    if let (1, Some(power), None, 1, false) = (modes, power, &others, slices, varies) {
        return scale_to_power(device, layout, buffers, momentum, power);
    }
    let gram: Vec<[f64; 2]> = device.read_back(&buffers.gram)?.wait()?;
    let gram: Vec<Complex<f64>> = gram.iter().map(|[re, im]| Complex::new(*re, *im)).collect();
    let Some(mut found) = normalisation(&gram, power) else {
        return Ok(());
    };
    if let Some(of) = &mut buffers.variations {
        found.only_scale();
        variable_probe::scale(device, of, 1.0 / found.object)?;
    }
    let narrow = |v: &Complex<f64>| Complex::new(v.re as f32, v.im as f32);
    let shares: Vec<Complex<f32>> = found.mixture.iter().map(narrow).collect();
    device.upload(&mut buffers.mixture, &shares)?;
    let of_object = match (power, slices) {
        (Some(_), 2..) => found.object.powf(1.0 / slices as f64),
        _ => found.object,
    };
    let of_object = [Complex::new(of_object as f32, 0.0)];
    device.upload(&mut buffers.object_factor, &of_object)?;
    let object = layout.object_elements() as u32;
    let Buffers {
        object: o,
        object_work,
        probe,
        probe_before,
        mixture,
        object_factor: factor,
        ..
    } = buffers;
    let (mixture, factor) = (&*mixture, &*factor);
    mix(device, probe, probe_before, mixture, [modes, pixels])?;
    mix(device, o, object_work, factor, [1, object])?;
    for other in others.into_iter().flatten() {
        mix(device, other, probe_before, mixture, [modes, pixels])?;
    }
    if let Some(momentum) = momentum {
        let of_probe = &mut momentum.probe_velocity;
        if !of_probe.is_empty() {
            mix(device, of_probe, probe_before, mixture, [modes, pixels])?;
        }
        let of_object = &mut momentum.object_velocity;
        if !of_object.is_empty() {
            mix(device, of_object, object_work, factor, [1, object])?;
        }
    }
    Ok(())
}

/// As [`normalise`] for one mode, whose power is in the Gram matrix on the device.
fn scale_to_power<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    momentum: Option<&mut BatchBuffers<M>>,
    power: f64,
) -> Result<()> {
    let (elements, pixels) = (layout.object_elements(), layout.pixels());
    let mut none = [
        device.alloc("no momentum", 0)?,
        device.alloc("no momentum", 0)?,
    ];
    let [of_object, of_probe] = match momentum {
        Some(of) => [&mut of.object_velocity, &mut of.probe_velocity],
        None => none.each_mut(),
    };
    device.launch(
        &PtychoScaleToPower {
            velocities: of_object.len() as u32,
            probe_velocities: of_probe.len() as u32,
            object: buffers.object.write(),
            probe: buffers.probe.write(),
            object_velocity: of_object.write(),
            probe_velocity: of_probe.write(),
            gram: buffers.gram.read(),
            elements: elements as u32,
            pixels,
            power,
        },
        Work::Elements(elements + pixels as usize),
    )
}

/// Replaces `layers` by sums of them.
pub(in crate::engines::cuda) fn mix<M: Device>(
    device: &M,
    values: &mut M::Buffer<Complex32>,
    work: &mut M::Buffer<Complex32>,
    mixture: &M::Buffer<Complex32>,
    [layers, pixels]: [u32; 2],
) -> Result<()> {
    device.launch(
        &PtychoMixLayers {
            to: work.write(),
            from: values.read(),
            mixture: mixture.read(),
            layers,
            pixels,
        },
        Work::Elements(layers as usize * pixels as usize),
    )?;
    device.copy(work, values)
}
