//! Changes of the variations of the first probe mode by a batch; see
//! [`crate::model::variable_probe`].

use super::sums::{Batch, GROUP, for_each_window_value, inverse_layers};
use crate::EngineError;
use crate::engines::cpu::arrays::part_sums::ProbePart;
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::model::shift::{Scratch, add_shifted_back, spectra};
use crate::engines::cpu::model::variations::Variations;
use crate::engines::ranks::PartSums;
use crate::engines::updates::FLOOR;
use crate::model::variable_probe::{COEFFICIENT_MOMENTUM, PART, SHAPE_MOMENTUM, solve};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// What a batch changes.
pub(super) struct VariationChanges<T> {
    /// Steps of the coefficients (frame of the batch, k), whole ones; zeros while the shapes are
    /// formed.
    coefficients: Vec<f64>,
    /// Directions of the shapes (k, row, column).
    shapes: Vec<Complex<T>>,
    /// What it changes of further ones that are formed beside them.
    further: Option<Box<Self>>,
}

/// Re⟨U_k, G_j⟩ of a frame, then Re⟨U_k O, U_l O⟩ (k, l) for k ≤ l.
type FrameEquations = (Vec<f64>, Vec<f64>);

/// Sums of the frames of a batch.
pub(super) struct VariationSums<T> {
    /// Spectra (k, column, row) of Σ_j c_jk G_j and Σ_j |O|² (row, column), without shifts.
    pub(super) total: ProbePart<T>,
    /// Equations of this rank's frames: Re⟨U_k, G_j⟩, then Re⟨U_k O, U_l O⟩ (k, l) for k ≤ l.
    pub(super) equations: Vec<(Vec<f64>, Vec<f64>)>,
}

/// G of the frames of a batch, and what the coefficients' equations need; `equations`: whether they
/// are computed.
pub(super) fn sums<T: Real>(
    engine: &CpuEngine<T>,
    of: &Variations<T>,
    batch: &Batch<T>,
    equations: bool,
) -> Result<Option<VariationSums<T>>, EngineError> {
    let CpuEngine {
        layout,
        fft,
        object,
        ..
    } = engine;
    let pixels = layout.pixels();
    let waves = layout.modes * pixels;
    let count = of.count(pixels);
    let shapes = spectra(&of.shapes, pixels, fft);
    let parseval = 1.0 / pixels as f64;
    let begin = batch.parts.own_frames().start;
    let mut all = PartSums::new(batch.parts.count());
    let mut of_frames = Vec::with_capacity(batch.frames.len());
    for part in batch.parts.own() {
        let of_part = batch.parts.frames(part);
        let own: Vec<usize> = (of_part.start - begin..of_part.end - begin).collect();
        let groups: Vec<(ProbePart<T>, Vec<FrameEquations>)> = own
            .par_chunks(GROUP)
            .map_init(
                || (Scratch::new(layout, fft), vec![Complex::default(); pixels]),
                |(scratch, spectrum), group| {
                    let mut sum = ProbePart {
                        numerators: vec![Complex::default(); count * pixels],
                        weights: vec![T::default(); pixels],
                    };
                    let mut found = Vec::with_capacity(group.len());
                    for n in group {
                        let frame = batch.frames[*n] as usize;
                        let chi = &batch.chi[n * waves..][..pixels];
                        let wave = &mut scratch.wave;
                        let mut fluence = vec![T::default(); pixels];
                        for_each_window_value(layout, layout.corners[frame], object, |i, o| {
                            wave[i] = o.conj() * chi[i];
                            fluence[i] = o.norm_sqr();
                        });
                        let pairs = sum.weights.iter_mut().zip(&fluence);
                        pairs.for_each(|(to, v)| *to += *v);
                        spectrum.fill(Complex::default());
                        add_shifted_back(&batch.ramps[*n], 0, spectrum, fft, scratch);
                        let coefficients = &of.coefficients[frame * count..][..count];
                        let layers = sum.numerators.chunks_exact_mut(pixels);
                        for (c, layer) in coefficients.iter().zip(layers) {
                            let c = T::of(*c);
                            let pairs = layer.iter_mut().zip(&*spectrum);
                            pairs.for_each(|(to, v)| *to += v.scale(c));
                        }
                        if !equations {
                            continue;
                        }
                        let along = shapes.chunks_exact(pixels).map(|shape| {
                            let product = |(u, g): (&Complex<T>, &Complex<T>)| {
                                (u.re * g.re + u.im * g.im).wide()
                            };
                            parseval * shape.iter().zip(&*spectrum).map(product).sum::<f64>()
                        });
                        let along: Vec<f64> = along.collect();
                        let mut matrix = vec![0.0; count * count];
                        for k in 0..count {
                            let a = &of.shapes[k * pixels..][..pixels];
                            for l in k..count {
                                let b = &of.shapes[l * pixels..][..pixels];
                                let product = |((a, b), w): ((&Complex<T>, &Complex<T>), &T)| {
                                    ((a.re * b.re + a.im * b.im) * *w).wide()
                                };
                                let values = a.iter().zip(b).zip(&fluence);
                                matrix[k * count + l] = values.map(product).sum();
                            }
                        }
                        found.push((along, matrix));
                    }
                    (sum, found)
                },
            )
            .collect();
        let mut sum = ProbePart {
            numerators: vec![Complex::default(); count * pixels],
            weights: vec![T::default(); pixels],
        };
        for (own, found) in groups {
            let pairs = sum.numerators.iter_mut().zip(own.numerators);
            pairs.for_each(|(to, v)| *to += v);
            let pairs = sum.weights.iter_mut().zip(own.weights);
            pairs.for_each(|(to, v)| *to += v);
            of_frames.extend(found);
        }
        all.push(part, sum);
    }
    Ok(engine.ranks.total(all)?.map(|total| VariationSums {
        total,
        equations: of_frames,
    }))
}

/// What a batch changes, from object, probe and variations before it.
pub(super) fn changes<T: Real>(
    engine: &CpuEngine<T>,
    batch: &Batch<T>,
) -> Result<Option<VariationChanges<T>>, EngineError> {
    let Some(of) = &engine.variations else {
        return Ok(None);
    };
    changes_of(engine, of, batch)
}

fn changes_of<T: Real>(
    engine: &CpuEngine<T>,
    of: &Variations<T>,
    batch: &Batch<T>,
) -> Result<Option<VariationChanges<T>>, EngineError> {
    let pixels = engine.layout.pixels();
    let count = of.count(pixels);
    let Some(VariationSums { total, equations }) = sums(engine, of, batch, !of.forming)? else {
        return Ok(None);
    };
    let further = match &of.further {
        Some(further) => changes_of(engine, further, batch)?.map(Box::new),
        None => None,
    };
    let solved = equations
        .iter()
        .flat_map(|(right, matrix)| solve(matrix, right));
    let coefficients = engine.ranks.gathered(&solved.collect::<Vec<f64>>())?;
    let ProbePart {
        numerators: mut shapes,
        weights,
    } = total;
    inverse_layers(&mut shapes, pixels, &engine.fft);
    // In the mean over the frames of the batch on all ranks.
    let mean_square = |k: usize| {
        let squares =
            (batch.all.iter()).map(|frame| of.coefficients[*frame as usize * count + k].powi(2));
        squares.sum::<f64>() / batch.all.len().max(1) as f64
    };
    let largest = weights.iter().copied().fold(T::default(), T::max);
    let floor = largest.wide() * of.strongest * FLOOR;
    for (k, layer) in shapes.chunks_exact_mut(pixels).enumerate() {
        let power = mean_square(k);
        for (value, weight) in layer.iter_mut().zip(&weights) {
            let divisor = (weight.wide() * power).hypot(floor);
            *value = if divisor > 0.0 {
                value.unscale(T::of(divisor))
            } else {
                Complex::default()
            };
        }
    }
    Ok(Some(VariationChanges {
        coefficients,
        shapes,
        further,
    }))
}

/// Changes the variations; `probe_step` is the probe's.
pub(super) fn advance<T: Real>(
    engine: &mut CpuEngine<T>,
    changes: &VariationChanges<T>,
    frames: &[u32],
    probe_step: f64,
) {
    let pixels = engine.layout.pixels();
    if let Some(of) = &mut engine.variations {
        advance_of(of, changes, frames, (pixels, probe_step));
    }
}

fn advance_of<T: Real>(
    of: &mut Variations<T>,
    changes: &VariationChanges<T>,
    frames: &[u32],
    (pixels, probe_step): (usize, f64),
) {
    if let (Some(of), Some(changes)) = (&mut of.further, &changes.further) {
        advance_of(of, changes, frames, (pixels, probe_step));
    }
    let count = of.count(pixels);
    let (factor, keep) = (T::of(PART * probe_step), T::of(SHAPE_MOMENTUM));
    let pairs = of.shapes.iter_mut().zip(&mut of.shape_changes);
    for ((value, change), direction) in pairs.zip(&changes.shapes) {
        *change = change.scale(keep) + direction.scale(factor);
        *value += *change;
    }
    for (frame, steps) in frames.iter().zip(changes.coefficients.chunks_exact(count)) {
        let own = *frame as usize * count..(*frame as usize + 1) * count;
        let pairs = (of.coefficients[own.clone()].iter_mut())
            .zip(&mut of.coefficient_changes[own])
            .zip(steps);
        for ((value, change), step) in pairs {
            *change = COEFFICIENT_MOMENTUM * *change + PART * step;
            *value += *change;
        }
    }
}

#[cfg(test)]
mod tests;
