//! Mirrors cpu/model/object_modes.rs: makes the modes of the object orthogonal. The host computes
//! their Gram matrix.

use crate::engines::cuda::batches::batch_engine::BatchBuffers;
use crate::engines::cuda::likelihood::LikelihoodBuffers;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::updates::normalisation::mix;
use crate::model::normalisation::normalisation;
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_cuda::gpu::{Buffer, Device, Result};

/// Makes them orthogonal, with what else there is on the object; `corners` are those of all frames.
/// Waits for the device.
pub(in crate::engines::cuda) fn orthogonalise<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    (momentum, search): (
        Option<&mut BatchBuffers<M>>,
        Option<&mut LikelihoodBuffers<M>>,
    ),
    corners: &[[u32; 2]],
) -> Result<()> {
    let mut object = vec![Complex::<f32>::default(); layout.object_elements()];
    let mut probe = vec![Complex::<f32>::default(); layout.probe_elements()];
    device.download(&buffers.object, &mut object)?;
    device.download(&buffers.probe, &mut probe)?;
    let fluence = fluence(layout, &probe, corners);
    let layers: Vec<&[Complex<f32>]> = object.chunks_exact(layout.object_pixels()).collect();
    let pairs: Vec<(usize, usize)> = (0..layers.len())
        .flat_map(|a| (0..layers.len()).map(move |b| (a, b)))
        .collect();
    let wide = |v: Complex<f32>| Complex::new(f64::from(v.re), f64::from(v.im));
    let inner = |(a, b): (usize, usize)| -> Complex<f64> {
        let values = layers[a].iter().zip(layers[b]).zip(&fluence);
        values
            .map(|((a, b), w)| wide(*a).conj() * wide(*b) * *w)
            .sum()
    };
    let gram: Vec<Complex<f64>> = pairs.into_par_iter().map(inner).collect();
    let Some(found) = normalisation(&gram, None) else {
        return Ok(());
    };
    let narrow = |v: &Complex<f64>| Complex::new(v.re as f32, v.im as f32);
    let shares: Vec<Complex<f32>> = found.mixture.iter().map(narrow).collect();
    device.upload(&mut buffers.object_mixture, &shares)?;
    let shape = [layout.object_layers, layout.object_pixels() as u32];
    let Buffers {
        object,
        object_work,
        object_mixture: mixture,
        ..
    } = buffers;
    mix(device, object, object_work, mixture, shape)?;
    if let Some(momentum) = momentum
        && !momentum.object_velocity.is_empty()
    {
        mix(
            device,
            &mut momentum.object_velocity,
            object_work,
            mixture,
            shape,
        )?;
    }
    if let Some(of_search) = search.and_then(|search| search.on_object()) {
        for values in of_search {
            mix(device, values, object_work, mixture, shape)?;
        }
    }
    Ok(())
}

/// Σ_j Σ_m |P_m|² on the object (row, column).
fn fluence(layout: &Layout, probe: &[Complex<f32>], corners: &[[u32; 2]]) -> Vec<f64> {
    let mut power = vec![0.0_f32; layout.pixels() as usize];
    for mode in probe.chunks_exact(power.len().max(1)) {
        let pairs = power.iter_mut().zip(mode);
        pairs.for_each(|(to, p)| *to += p.norm_sqr());
    }
    let [columns, width] = [layout.columns, layout.object_columns].map(|n| n as usize);
    let mut fluence = vec![0.0; layout.object_pixels()];
    for corner in corners {
        let [top, left] = corner.map(|v| v as usize);
        for (row, power) in power.chunks_exact(columns).enumerate() {
            let to = &mut fluence[(top + row) * width + left..][..columns];
            let pairs = to.iter_mut().zip(power);
            pairs.for_each(|(to, p)| *to += f64::from(*p));
        }
    }
    fluence
}
