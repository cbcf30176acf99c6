//! Gradients of `ml` on the slices of a specimen, and the objective along a line to second order.

use super::{add_distance_sums, exit_change, incident, slices_of, step_back};
use crate::engines::cpu::arrays::part_sums::{ObjectPart, ProbePart};
use crate::engines::cpu::batches::batch_engine::sums::{
    add_object_sums, add_probe_sums, inverse_layers,
};
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::engine::Pair;
use crate::engines::cpu::likelihood::{Gradient, compared};
use crate::engines::cpu::model::shift::{PointRamps, Scratch, shifted, spectra};
use crate::engines::cpu::model::slices::{Medium, layer, multiply};
use crate::engines::cpu::projections::fourier_projection::FrameErrors;
use crate::engines::likelihood::{LikelihoodMethod, Noise};
use crate::engines::ranks::PartSums;
use crate::{EngineError, Step};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Frames in memory together with one slice; a multiple of the groups in which the probe's sums are
/// added.
const CHUNK: usize = 64;
/// The same with many slices.
const SMALLEST: usize = 8;

/// ξ at the last slice (frame, mode, row, column), and losses and errors of each frame.
type Deviations<T> = (Vec<Complex<T>>, Vec<(f64, FrameErrors)>);

fn deviations<T: Real>(
    engine: &CpuEngine<T>,
    noise: Noise,
    frames: &[u32],
    last: &[Complex<T>],
) -> Deviations<T> {
    let CpuEngine {
        layout,
        fft,
        propagator,
        magnitudes,
        object,
        ..
    } = engine;
    let pixels = layout.pixels();
    let waves = layout.modes * pixels;
    let slice = slices_of(engine).count() - 1;
    let scale2 = fft.scale() * fft.scale();
    let mut xi = last.to_vec();
    let found = (xi.par_chunks_mut(waves).zip(frames))
        .map_init(
            || Scratch::new(layout, fft),
            |scratch, (xi, frame)| {
                let frame = *frame as usize;
                let corner = layout.corners[frame];
                for (wave, to) in
                    (xi.chunks_exact_mut(pixels)).zip(scratch.model.chunks_exact_mut(pixels))
                {
                    multiply(layout, corner, layer(layout, object, slice), wave);
                    propagator.forward(wave, to, [0.0; 2], &mut scratch.fft);
                }
                let found = compared(engine, frame, scratch).losses(noise, scratch);
                let magnitudes = &magnitudes[frame * pixels..][..pixels];
                let scale = T::of(layout.scale(frame)) * scale2;
                for (factor, magnitude) in scratch.factor.iter_mut().zip(magnitudes) {
                    *factor = if *magnitude < 0.0 {
                        T::default()
                    } else {
                        T::of(noise.slope(factor.wide(), f64::from(*magnitude))) * scale
                    };
                }
                for (spectrum, xi) in
                    (scratch.model.chunks_exact(pixels)).zip(xi.chunks_exact_mut(pixels))
                {
                    let to = scratch.spectrum.iter_mut();
                    for ((to, f), factor) in to.zip(spectrum).zip(&scratch.factor) {
                        *to = f.scale(*factor);
                    }
                    propagator.inverse(&mut scratch.spectrum, xi, [0.0; 2], &mut scratch.fft);
                }
                found
            },
        )
        .collect();
    (xi, found)
}

/// Gradients at the current slices and probe, and the errors of each frame. The sums of the
/// distances are added to those of the iteration, with −ξ for χ.
pub(in crate::engines::cpu) fn gradient<T: Real>(
    engine: &mut CpuEngine<T>,
    step: &Step,
    method: &LikelihoodMethod,
) -> Result<(Gradient<T>, Vec<FrameErrors>), EngineError> {
    let (found, errors, of_gaps) = sums(engine, step, method)?;
    add_distance_sums(engine, &of_gaps)?;
    Ok((found, errors))
}

/// A gradient, each frame's errors, and the sums of each distance for each frame.
type Sums<T> = (Gradient<T>, Vec<FrameErrors>, Vec<Vec<[f64; 2]>>);

fn sums<T: Real>(
    engine: &CpuEngine<T>,
    step: &Step,
    method: &LikelihoodMethod,
) -> Result<Sums<T>, EngineError> {
    let CpuEngine {
        ranks,
        layout,
        fft,
        object,
        probe,
        ..
    } = engine;
    let slices = slices_of(engine);
    let count = slices.count();
    let refines = slices.refines(step.iteration);
    let pixels = layout.pixels();
    let first = layer(layout, object, 0);
    let probe_spectra = spectra(probe, pixels, fft);
    let parts = ranks.parts(layout.corners.len());
    let mut of_frames = Vec::with_capacity(parts.own_frames().len());
    let mut of_gaps = vec![Vec::new(); if refines { count - 1 } else { 0 }];
    let mut object_sums: Vec<_> = (0..count).map(|_| PartSums::new(parts.count())).collect();
    let mut probe_sums = PartSums::new(parts.count());
    let chunk = (CHUNK / count).next_multiple_of(SMALLEST).max(SMALLEST);
    for part in parts.own() {
        let of_part = parts.frames(part);
        let taken = if step.update_object { of_part.len() } else { 0 };
        let corners = || layout.corners[of_part.clone()].iter().copied().take(taken);
        let mut of_object: Vec<_> = (0..count)
            .map(|_| ObjectPart::under(layout, corners()))
            .collect();
        let mut of_probe = ProbePart::zeros(layout);
        let frames: Vec<u32> = of_part.clone().map(|frame| frame as u32).collect();
        for frames in frames.chunks(chunk) {
            let fraction = |frame: &u32| layout.fraction(*frame as usize, step.subpixel);
            let ramps: Vec<PointRamps<T>> = (frames.iter())
                .map(|frame| PointRamps::new(layout, *frame as usize, fraction(frame)))
                .collect();
            let incident = incident(engine, step.subpixel, &probe_spectra, frames, &ramps);
            let (mut xi, found) = deviations(engine, method.noise, frames, &incident[count - 1]);
            of_frames.extend(found);
            for slice in (0..count).rev() {
                if step.update_object {
                    let arrays = (&incident[slice][..], &xi[..]);
                    add_object_sums(layout, frames, arrays, &mut of_object[slice]);
                }
                if slice > 0 {
                    let before = &incident[slice - 1];
                    let own = step_back(engine, frames, before, &mut xi, slice - 1, refines);
                    if refines {
                        of_gaps[slice - 1].extend(own.into_iter().map(|[a, b]| [-a, b]));
                    }
                }
            }
            if step.update_probe {
                let frames = (frames, &ramps[..]);
                add_probe_sums(layout, fft, first, frames, &xi, |_| 1.0, &mut of_probe);
            }
        }
        for (sums, own) in object_sums.iter_mut().zip(of_object) {
            sums.push(part, own);
        }
        probe_sums.push(part, of_probe);
    }
    let mut of_object = Vec::with_capacity(count * layout.object_pixels());
    let mut object_weights = Vec::with_capacity(count * layout.object_pixels());
    for sums in object_sums {
        let none = || ObjectPart::under(layout, std::iter::empty());
        let own = ranks.total(sums)?.unwrap_or_else(none);
        let (own, weights) = own.whole(layout.object_shape);
        of_object.extend(own);
        object_weights.extend(weights);
    }
    let of_probe = ranks.total(probe_sums)?;
    let ProbePart {
        numerators: mut of_probe,
        weights: probe_weights,
    } = of_probe.unwrap_or_else(|| ProbePart::zeros(layout));
    let (losses, errors): (Vec<f64>, Vec<FrameErrors>) = of_frames.into_iter().unzip();
    let losses = ranks.gathered(&losses)?;
    let errors = ranks.gathered(&errors)?;
    inverse_layers(&mut of_probe, pixels, fft);
    let mut found = Gradient {
        background: None,
        values: [of_object, of_probe],
        object_weights,
        probe_weights,
        loss: losses.iter().sum(),
    };
    let two = T::of(2.0);
    for value in found.values.iter_mut().flatten() {
        *value = value.scale(two);
    }
    Ok((found, errors, of_gaps))
}

/// Sums of [`Noise::linear_terms`] over the pixels of all frames, along `direction`.
pub(in crate::engines::cpu) fn line_sums<T: Real>(
    engine: &CpuEngine<T>,
    step: &Step,
    noise: Noise,
    direction: &Pair<T>,
) -> Result<[f64; 9], EngineError> {
    let CpuEngine {
        ranks,
        layout,
        fft,
        propagator,
        magnitudes,
        object,
        probe,
        ..
    } = engine;
    let slices = slices_of(engine);
    let pixels = layout.pixels();
    let waves = layout.modes * pixels;
    let of_probe = spectra(probe, pixels, fft);
    let of_change = spectra(&direction[1], pixels, fft);
    let zeros = || vec![Complex::default(); waves];
    let new = || {
        let incident: Vec<_> = (0..slices.count()).map(|_| zeros()).collect();
        (
            Scratch::new(layout, fft),
            incident,
            zeros(),
            vec![[T::default(); 3]; pixels],
        )
    };
    let own = ranks.parts(layout.corners.len()).own_frames();
    let frames: Vec<[f64; 4]> = own
        .into_par_iter()
        .map_init(new, |(scratch, incident, change, along), frame| {
            let corner = layout.corners[frame];
            if step.subpixel {
                let ramps = PointRamps::new(layout, frame, layout.fractions[frame]);
                shifted(&of_probe, &ramps, &mut incident[0], fft, scratch);
                shifted(&of_change, &ramps, change, fft, scratch);
            } else {
                incident[0].copy_from_slice(probe);
                change.copy_from_slice(&direction[1]);
            }
            along.fill([T::default(); 3]);
            for mode in 0..layout.modes {
                let at = mode * pixels..(mode + 1) * pixels;
                let Scratch {
                    wave,
                    spectrum,
                    model,
                    fft: own,
                    ..
                } = &mut *scratch;
                for slice in 0..slices.count() {
                    wave.copy_from_slice(&incident[slice][at.clone()]);
                    multiply(layout, corner, layer(layout, object, slice), wave);
                    if slice + 1 < slices.count() {
                        let medium = &mut Medium {
                            fft,
                            spectrum: &mut *spectrum,
                            scratch: &mut *own,
                        };
                        slices.forward(wave, slice, medium);
                        incident[slice + 1][at.clone()].copy_from_slice(wave);
                    }
                }
                propagator.forward(wave, &mut model[..pixels], [0.0; 2], own);
                let medium = &mut Medium {
                    fft,
                    spectrum: &mut *spectrum,
                    scratch: &mut *own,
                };
                let change = &mut change[at.clone()];
                let incident = |slice: usize| &incident[slice][at.clone()];
                let of_object = Some(&direction[0][..]);
                exit_change(engine, corner, incident, of_object, change, medium);
                propagator.forward(change, spectrum, [0.0; 2], own);
                for ((along, f), a) in along.iter_mut().zip(&model[..pixels]).zip(&*spectrum) {
                    along[0] += f.norm_sqr();
                    along[1] += (f.re * a.re + f.im * a.im) * T::of(2.0);
                    along[2] += a.norm_sqr();
                }
            }
            let scale = (T::of(layout.scale(frame)) * fft.scale() * fft.scale()).wide();
            let magnitudes = &magnitudes[frame * pixels..][..pixels];
            let mut sums = [0.0; 4];
            for (along, magnitude) in along.iter().zip(magnitudes) {
                if *magnitude >= 0.0 {
                    let along = along.map(|v| v.wide() * scale);
                    let terms = noise.linear_terms(along, f64::from(*magnitude));
                    sums.iter_mut().zip(terms).for_each(|(sum, v)| *sum += v);
                }
            }
            sums
        })
        .collect();
    let mut total = [0.0; 9];
    for sums in ranks.gathered(&frames)? {
        total.iter_mut().zip(sums).for_each(|(sum, v)| *sum += v);
    }
    Ok(total)
}
