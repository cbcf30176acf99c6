//! The arrays of a batch, and the sums over its frames of which the directions of object and probe
//! are made.

use crate::engines::cpu::arrays::part_sums::{BAND, ObjectPart, ProbePart};
use crate::engines::cpu::arrays::window::Layout;
use crate::engines::cpu::model::shift::{PointRamps, Scratch, add_shifted_back};
use crate::engines::ranks::Parts;
use crate::engines::updates::{Denominator, FLOOR};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::{Real, TransposedFft2};

/// Frames per task of the probe's sums.
pub(super) const GROUP: usize = 8;

/// The arrays of this rank's frames of a batch.
pub(in crate::engines::cpu) struct Batch<T> {
    /// How the batch is divided.
    pub(in crate::engines::cpu) parts: Parts,
    /// Frames of all ranks.
    pub(in crate::engines::cpu) all: Vec<u32>,
    /// Frames of this rank.
    pub(in crate::engines::cpu) frames: Vec<u32>,
    pub(in crate::engines::cpu) ramps: Vec<PointRamps<T>>,
    /// `S[P]` (frame, point, mode, row, column).
    pub(in crate::engines::cpu) probes: Vec<Complex<T>>,
    /// χ (frame, wave, row, column).
    pub(in crate::engines::cpu) chi: Vec<Complex<T>>,
    /// Intensities that the detector measures (frame, column, row), if its background is updated
    /// from them.
    pub(in crate::engines::cpu) measured: Vec<T>,
}

/// ΔO, and the weights that it was divided by.
pub(in crate::engines::cpu) struct ObjectDirection<T> {
    pub(in crate::engines::cpu) direction: Vec<Complex<T>>,
    pub(in crate::engines::cpu) weights: Vec<T>,
}

/// `values += v` with `v ← momentum · v + factor · direction`.
pub(in crate::engines::cpu) fn advance<T: Real>(
    values: &mut [Complex<T>],
    direction: &[Complex<T>],
    factor: f64,
    momentum: f64,
    velocity: &mut Vec<Complex<T>>,
) {
    let (factor, keep) = (T::of(factor), T::of(momentum));
    if momentum == 0.0 {
        for (value, d) in values.iter_mut().zip(direction) {
            *value += d.scale(factor);
        }
        return;
    }
    velocity.resize(values.len(), Complex::default());
    for ((value, v), d) in values.iter_mut().zip(velocity).zip(direction) {
        *v = v.scale(keep) + d.scale(factor);
        *value += *v;
    }
}

/// Adds Σ conj(S\[P\]) χ, for each layer of the object those of its exit waves, and Σ |S\[P\]|² of
/// `frames` to `sums`, whose rectangle has their windows; `probes` are (frame, point, mode, row,
/// column), `chi` (frame, wave, row, column).
pub(in crate::engines::cpu) fn add_object_sums<T: Real>(
    layout: &Layout,
    frames: &[u32],
    (probes, chi): (&[Complex<T>], &[Complex<T>]),
    sums: &mut ObjectPart<T>,
) {
    let (width, origin) = (sums.columns.len(), [sums.rows.start, sums.columns.start]);
    let pixels = layout.pixels();
    let (moved, waves) = (layout.probes(), layout.waves());
    sums.for_each_band(|layer, band, numerators, weights| {
        let first = origin[0] + band * BAND;
        let last = first + weights.len() / width;
        for (n, frame) in frames.iter().enumerate() {
            let [top, left] = layout.corners[*frame as usize].map(|v| v as usize);
            for row in first.max(top)..last.min(top + layout.rows) {
                let start = (row - first) * width + left - origin[1];
                let own = (row - top) * layout.columns;
                let sums = &mut numerators[start..start + layout.columns];
                let weights = &mut weights[start..start + layout.columns];
                for probe in 0..moved {
                    let wave = layout.wave(probe, layer);
                    let chi = &chi[(n * waves + wave) * pixels + own..][..layout.columns];
                    let probe = &probes[(n * moved + probe) * pixels + own..][..layout.columns];
                    for (((sum, weight), p), chi) in
                        sums.iter_mut().zip(&mut *weights).zip(probe).zip(chi)
                    {
                        *sum += p.conj() * chi;
                        *weight += p.norm_sqr();
                    }
                }
            }
        }
    });
}

/// Divides every layer of `numerators` by the denominator of `weights` plus `extra`; 0 where that
/// is 0.
pub(in crate::engines::cpu) fn divide<T: Real>(
    numerators: &mut [Complex<T>],
    weights: &[T],
    extra: T,
    layers: usize,
    denominator: Denominator,
) {
    let largest = weights.iter().copied().fold(T::default(), T::max) + extra;
    let floor = largest * T::of(FLOOR);
    let of = |w: T| match denominator {
        Denominator::Floor => (w * w + floor * floor).sqrt(),
        Denominator::Mixed(alpha) => w * T::of(1.0 - alpha) + largest * T::of(alpha),
    };
    for layer in numerators
        .chunks_exact_mut(weights.len().max(1))
        .take(layers)
    {
        for (value, weight) in layer.iter_mut().zip(weights) {
            let divisor = of(*weight + extra);
            *value = if divisor > T::default() {
                value.unscale(divisor)
            } else {
                Complex::default()
            };
        }
    }
}

/// Adds the spectra (mode, column, row) of Σ √c S⁻¹\[conj(O) χ\] and Σ c |O|² (row, column) of the
/// frames, over all layers of the object, to `sums`; c is each frame's `scale`. `chi` is (frame,
/// wave, row, column).
pub(in crate::engines::cpu) fn add_probe_sums<T: Real>(
    layout: &Layout,
    fft: &TransposedFft2<T>,
    object: &[Complex<T>],
    (frames, ramps): (&[u32], &[PointRamps<T>]),
    chi: &[Complex<T>],
    scale: impl Fn(usize) -> f64 + Sync,
    total: &mut ProbePart<T>,
) {
    let pixels = layout.pixels();
    let waves = layout.waves() * pixels;
    let partial: Vec<(Vec<Complex<T>>, Vec<T>)> = frames
        .par_chunks(GROUP)
        .zip(chi.par_chunks(GROUP * waves))
        .zip(ramps.par_chunks(GROUP))
        .map_init(
            || Scratch::new(layout, fft),
            |scratch, ((frames, chi), ramps)| {
                let mut sums = vec![Complex::default(); layout.modes * pixels];
                let mut weights = vec![T::default(); pixels];
                for ((frame, chi), ramps) in frames.iter().zip(chi.chunks_exact(waves)).zip(ramps) {
                    let corner = layout.corners[*frame as usize];
                    let c = scale(*frame as usize);
                    let (c, root) = (T::of(c), T::of(c.sqrt()));
                    for layer in 0..layout.object_layers {
                        let object = layout.layer(object, layer);
                        for_each_window_value(layout, corner, object, |i, o| {
                            weights[i] += o.norm_sqr() * c;
                        });
                    }
                    for probe in 0..layout.probes() {
                        let wave = &mut scratch.wave;
                        for layer in 0..layout.object_layers {
                            let chi = &chi[layout.wave(probe, layer) * pixels..][..pixels];
                            let object = layout.layer(object, layer);
                            for_each_window_value(layout, corner, object, |i, o| {
                                let value = (o.conj() * chi[i]).scale(root);
                                wave[i] = if layer == 0 { value } else { wave[i] + value };
                            });
                        }
                        let (point, mode) = (probe / layout.modes, probe % layout.modes);
                        let sum = &mut sums[mode * pixels..][..pixels];
                        add_shifted_back(ramps, point, sum, fft, scratch);
                    }
                }
                (sums, weights)
            },
        )
        .collect();
    for (own, own_weights) in partial {
        let pairs = total.numerators.iter_mut().zip(own);
        pairs.for_each(|(to, v)| *to += v);
        let pairs = total.weights.iter_mut().zip(own_weights);
        pairs.for_each(|(to, v)| *to += v);
    }
}

/// Replaces unnormalised spectra (layer, column, row) by the layers.
pub(in crate::engines::cpu) fn inverse_layers<T: Real>(
    layers: &mut [Complex<T>],
    pixels: usize,
    fft: &TransposedFft2<T>,
) {
    let scale2 = fft.scale() * fft.scale();
    let mut scratch = fft.scratch();
    for layer in layers.chunks_exact_mut(pixels) {
        let mut spectrum: Vec<_> = layer.iter().map(|v| v.scale(scale2)).collect();
        fft.inverse(&mut spectrum, layer, &mut scratch);
    }
}

/// Calls `take(pixel, O)` for each pixel of the frame with this corner, O a layer (row, column) of
/// the object.
pub(in crate::engines::cpu) fn for_each_window_value<T: Real>(
    layout: &Layout,
    corner: [u32; 2],
    object: &[Complex<T>],
    mut take: impl FnMut(usize, Complex<T>),
) {
    let [top, left] = corner.map(|v| v as usize);
    for row in 0..layout.rows {
        let line = &object[(top + row) * layout.object_shape[1] + left..][..layout.columns];
        for (column, o) in line.iter().enumerate() {
            take(row * layout.columns + column, *o);
        }
    }
}
