//! Object update O ← [c_o O + Σ conj(P) ψ] / [c_o + Σ |P|²], in bands of object rows.

use super::engine::{Layout, mode_power};
use crate::fft::Real;
use num_complex::Complex;
use rayon::prelude::*;

/// Object rows per task: small enough to occupy any number of cores, large enough that looping over
/// the frames has negligible cost.
const BAND: usize = 8;

/// Updates the object; each pixel sums over the frames in order, for any number of threads.
pub(super) fn object_update<T: Real>(
    layout: &Layout,
    object: &mut [Complex<T>],
    probe: &[Complex<T>],
    exit: &[Complex<T>],
    weight: f64,
    clip: Option<[f64; 2]>,
) {
    let [_, width] = layout.object_shape;
    let pixels = layout.pixels();
    let power = mode_power(probe, layout.modes, pixels);
    let weight = T::of(weight);
    object
        .par_chunks_mut(BAND * width)
        .enumerate()
        .for_each(|(band, rows)| {
            let first = band * BAND;
            let count = rows.len() / width;
            let mut numerator = vec![Complex::<T>::default(); rows.len()];
            let mut denominator = vec![T::default(); rows.len()];
            for (frame, corner) in layout.corners.iter().enumerate() {
                let [top, left] = corner.map(|v| v as usize);
                let low = first.max(top);
                let high = (first + count).min(top + layout.rows);
                for row in low..high {
                    let start = (row - first) * width + left;
                    let own = (row - top) * layout.columns;
                    let sums = &mut numerator[start..start + layout.columns];
                    for mode in 0..layout.modes {
                        let psi =
                            &exit[(frame * layout.modes + mode) * pixels + own..][..sums.len()];
                        let p = &probe[mode * pixels + own..][..sums.len()];
                        for ((sum, p), psi) in sums.iter_mut().zip(p).zip(psi) {
                            *sum += p.conj() * psi;
                        }
                    }
                    let powers = &power[own..own + layout.columns];
                    for (sum, p) in denominator[start..start + layout.columns]
                        .iter_mut()
                        .zip(powers)
                    {
                        *sum += *p;
                    }
                }
            }
            for ((o, n), d) in rows.iter_mut().zip(&numerator).zip(&denominator) {
                let total = *d + weight;
                if total > T::default() {
                    *o = (o.scale(weight) + n).unscale(total);
                }
                if let Some(limits) = clip {
                    *o = clipped(*o, limits);
                }
            }
        });
}

/// Clips the modulus of `value` to the limits; zero becomes the lower limit.
pub(crate) fn clipped<T: Real>(value: Complex<T>, [low, high]: [f64; 2]) -> Complex<T> {
    let modulus = value.norm_sqr().sqrt();
    let target = modulus.max(T::of(low)).min(T::of(high));
    if target == modulus {
        value
    } else if modulus > T::default() {
        value.scale(target / modulus)
    } else {
        Complex::new(target, T::default())
    }
}
