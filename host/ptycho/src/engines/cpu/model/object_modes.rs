//! Makes the modes of the object orthogonal; see [`crate::model::object_modes`].

use crate::engines::cpu::arrays::window::{Layout, mode_power};
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::updates::normalisation::mix;
use crate::model::normalisation::normalisation;
use num_complex::Complex;
use warpstride_fft::Real;

/// Makes them orthogonal, with what else there is on the object; the exit waves of projection
/// engines would no longer fit.
pub(in crate::engines::cpu) fn orthogonalise<T: Real>(engine: &mut CpuEngine<T>) {
    let CpuEngine {
        layout,
        object,
        probe,
        batch_state,
        likelihood,
        ..
    } = engine;
    let fluence = fluence(layout, probe);
    let layers: Vec<&[Complex<T>]> = object.chunks_exact(layout.object_pixels()).collect();
    let inner = |a: &[Complex<T>], b: &[Complex<T>]| -> Complex<f64> {
        let wide = |v: &Complex<T>| Complex::new(v.re.wide(), v.im.wide());
        let pairs = a.iter().zip(b).zip(&fluence);
        pairs.map(|((a, b), w)| wide(a).conj() * wide(b) * *w).sum()
    };
    let gram: Vec<Complex<f64>> = (layers.iter())
        .flat_map(|a| layers.iter().map(move |b| inner(a, b)))
        .collect();
    let Some(found) = normalisation(&gram, None) else {
        return;
    };
    let pixels = layout.object_pixels();
    mix(object, &found.mixture, pixels);
    mix(&mut batch_state.object, &found.mixture, pixels);
    if let Some(last) = &mut likelihood.last {
        mix(&mut last.gradient[0], &found.mixture, pixels);
        mix(&mut last.direction[0], &found.mixture, pixels);
    }
}

/// Σ_j Σ_m |P_m|² on the object (row, column).
fn fluence<T: Real>(layout: &Layout, probe: &[Complex<T>]) -> Vec<f64> {
    let power = mode_power(probe, layout.modes, layout.pixels());
    let width = layout.object_shape[1];
    let mut fluence = vec![0.0; layout.object_pixels()];
    for corner in &layout.corners {
        let [top, left] = corner.map(|v| v as usize);
        for (row, power) in power.chunks_exact(layout.columns).enumerate() {
            let to = &mut fluence[(top + row) * width + left..][..layout.columns];
            to.iter_mut().zip(power).for_each(|(to, p)| *to += p.wide());
        }
    }
    fluence
}
