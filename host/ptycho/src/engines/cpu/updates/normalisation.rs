//! Fixes the scale between object and probe and makes the modes orthogonal; see
//! [`crate::model::normalisation`].

use crate::engines::cpu::engine::BatchState;
use crate::model::normalisation::normalisation;
use num_complex::Complex;
use warpstride_fft::Real;

/// Normalises to the total power that is given with the number of slices, which share the inverse
/// factor, or only mixes modes if it is not given; `momentum` and what else there is on the probe
/// (`others`) along with it. Unless it `mixes`, modes are scaled only. Returns the factor on the
/// probe.
pub(in crate::engines::cpu) fn normalise<T: Real>(
    object: &mut [Complex<T>],
    probe: &mut [Complex<T>],
    momentum: &mut BatchState<T>,
    others: [&mut [Complex<T>]; 2],
    (pixels, mixes): (usize, bool),
    power: Option<(f64, usize)>,
) -> f64 {
    let layers: Vec<&[Complex<T>]> = probe.chunks_exact(pixels.max(1)).collect();
    let wide = |v: Complex<T>| Complex::new(v.re.wide(), v.im.wide());
    let inner = |a: &[Complex<T>], b: &[Complex<T>]| -> Complex<f64> {
        a.iter()
            .zip(b)
            .map(|(a, b)| wide(*a).conj() * wide(*b))
            .sum()
    };
    let gram: Vec<Complex<f64>> = (layers.iter())
        .flat_map(|a| layers.iter().map(move |b| inner(a, b)))
        .collect();
    let slices = power.map_or(1, |(_, slices)| slices);
    let Some(mut found) = normalisation(&gram, power.map(|(power, _)| power)) else {
        return 1.0;
    };
    if !mixes {
        found.only_scale();
    }
    mix(probe, &found.mixture, pixels);
    mix(&mut momentum.probe, &found.mixture, pixels);
    for other in others {
        mix(other, &found.mixture, pixels);
    }
    let factor = T::of(match slices {
        1 => found.object,
        _ => found.object.powf(1.0 / slices as f64),
    });
    object.iter_mut().for_each(|v| *v = v.scale(factor));
    momentum
        .object
        .iter_mut()
        .for_each(|v| *v = v.scale(factor));
    1.0 / found.object
}

/// Replaces layers by sums of them; `mixture` is (new layer, old layer).
pub(in crate::engines::cpu) fn mix<T: Real>(
    layers: &mut [Complex<T>],
    mixture: &[Complex<f64>],
    pixels: usize,
) {
    let before = layers.to_vec();
    let count = layers.len() / pixels.max(1);
    for (to, layer) in layers.chunks_exact_mut(pixels.max(1)).enumerate() {
        layer.fill(Complex::default());
        for from in 0..count {
            let share = mixture[to * count + from];
            let share = Complex::new(T::of(share.re), T::of(share.im));
            for (value, old) in layer.iter_mut().zip(&before[from * pixels..]) {
                *value += old * share;
            }
        }
    }
}
