//! A batch of LSQ-ML on the slices of a specimen: each slice has its own direction, all have a
//! common step.

use super::{Incident, add_distance_sums, exit_change, incident, slices_of, step_back};
use crate::engines::cpu::arrays::part_sums::{ObjectPart, ProbePart};
use crate::engines::cpu::batches::batch_engine::mean_steps;
use crate::engines::cpu::batches::batch_engine::sums::{
    add_object_sums, add_probe_sums, advance, divide, inverse_layers,
};
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::model::compare;
use crate::engines::cpu::model::shift::{PointRamps, Scratch, shifted, spectra};
use crate::engines::cpu::model::slices::{Medium, layer, multiply};
use crate::engines::cpu::projections::fourier_projection::FrameErrors;
use crate::engines::cpu::projections::object_update::clipped;
use crate::engines::method::BatchMethod;
use crate::engines::ranks::{PartSums, Parts};
use crate::{EngineError, MAGNITUDE_FLOOR, Step};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// The arrays of this rank's frames of a batch.
struct Batch<T> {
    parts: Parts,
    frames: Vec<u32>,
    ramps: Vec<PointRamps<T>>,
    incident: Incident<T>,
    /// χ at the last slice (frame, mode, row, column).
    chi: Vec<Complex<T>>,
}

/// Updates slices and probe by the batch `frames`.
pub(in crate::engines::cpu) fn update<T: Real>(
    engine: &mut CpuEngine<T>,
    step: &Step,
    method: &BatchMethod,
    frames: &[u32],
    errors: &mut [FrameErrors],
) -> Result<(), EngineError> {
    let (batch, found) = deviations(engine, step, frames);
    for (frame, found) in frames.iter().zip(engine.ranks.gathered(&found)?) {
        errors[*frame as usize] = found;
    }
    let (object, probe, of_gaps) = directions(engine, &batch, step, method)?;
    add_distance_sums(engine, &of_gaps)?;
    let factors = steps(engine, &batch, object.as_deref(), probe.as_deref())?;
    let momentum = method.momentum();
    let CpuEngine {
        object: o,
        probe: p,
        batch_state,
        ..
    } = engine;
    if let Some(direction) = object {
        advance(o, &direction, factors[0], momentum, &mut batch_state.object);
        if let Some(limits) = step.clip_object {
            o.par_iter_mut().for_each(|v| *v = clipped(*v, limits));
        }
    }
    if let Some(direction) = probe {
        advance(p, &direction, factors[1], momentum, &mut batch_state.probe);
        engine.constrain_probe(step);
    }
    Ok(())
}

/// The waves at the slices and χ of this rank's frames of the batch.
fn deviations<T: Real>(
    engine: &CpuEngine<T>,
    step: &Step,
    frames: &[u32],
) -> (Batch<T>, Vec<FrameErrors>) {
    let parts = engine.ranks.parts(frames.len());
    let frames = frames[parts.own_frames()].to_vec();
    let CpuEngine {
        layout,
        fft,
        propagator,
        magnitudes,
        object,
        probe,
        ..
    } = engine;
    let pixels = layout.pixels();
    let waves = layout.modes * pixels;
    let scale2 = fft.scale() * fft.scale();
    let ramps: Vec<PointRamps<T>> = frames
        .iter()
        .map(|frame| {
            PointRamps::new(
                layout,
                *frame as usize,
                layout.fraction(*frame as usize, step.subpixel),
            )
        })
        .collect();
    let probe_spectra = spectra(probe, pixels, fft);
    let incident = incident(engine, step.subpixel, &probe_spectra, &frames, &ramps);
    let last = incident.len() - 1;
    let mut chi = incident[last].clone();
    let errors = (chi.par_chunks_mut(waves).zip(&frames))
        .map_init(
            || Scratch::new(layout, fft),
            |scratch, (chi, frame)| {
                let frame = *frame as usize;
                let corner = layout.corners[frame];
                for (wave, to) in
                    (chi.chunks_exact_mut(pixels)).zip(scratch.model.chunks_exact_mut(pixels))
                {
                    multiply(layout, corner, layer(layout, object, last), wave);
                    propagator.forward(wave, to, [0.0; 2], &mut scratch.fft);
                }
                let magnitudes = &magnitudes[frame * pixels..][..pixels];
                let scale = scale2 * T::of(layout.scale(frame));
                let (model, fourier) = compare(magnitudes, scale, None, scratch);
                for (factor, magnitude) in scratch.factor.iter_mut().zip(magnitudes) {
                    *factor = if *magnitude < 0.0 {
                        T::default()
                    } else {
                        let (target, modelled) = (T::of(f64::from(*magnitude)), factor.sqrt());
                        (target - modelled) / (modelled + T::of(MAGNITUDE_FLOOR)) * scale2
                    };
                }
                for (spectrum, chi) in
                    (scratch.model.chunks_exact(pixels)).zip(chi.chunks_exact_mut(pixels))
                {
                    let to = scratch.spectrum.iter_mut();
                    for ((to, f), factor) in to.zip(spectrum).zip(&scratch.factor) {
                        *to = f.scale(*factor);
                    }
                    let spectrum = &mut scratch.spectrum;
                    propagator.inverse(spectrum, chi, [0.0; 2], &mut scratch.fft);
                }
                let exit = chi.iter().map(|v| v.norm_sqr().wide()).sum();
                FrameErrors {
                    fourier,
                    exit,
                    model,
                }
            },
        )
        .collect();
    let batch = Batch {
        parts,
        frames,
        ramps,
        incident,
        chi,
    };
    (batch, errors)
}

/// Directions of all slices (slice, row, column) and of the probe, and the sums of each distance
/// for each frame.
type Directions<T> = (
    Option<Vec<Complex<T>>>,
    Option<Vec<Complex<T>>>,
    Vec<Vec<[f64; 2]>>,
);

fn directions<T: Real>(
    engine: &CpuEngine<T>,
    batch: &Batch<T>,
    step: &Step,
    method: &BatchMethod,
) -> Result<Directions<T>, EngineError> {
    let layout = &engine.layout;
    let slices = slices_of(engine);
    let count = slices.count();
    let refines = slices.refines(step.iteration);
    let mut of_gaps = vec![Vec::new(); count - 1];
    let none = || vec![Complex::default(); count * layout.object_pixels()];
    let mut object = step.update_object.then(none);
    let mut weights = vec![T::default(); count * layout.object_pixels()];
    let mut chi = batch.chi.clone();
    for slice in (0..count).rev() {
        if let Some(object) = &mut object {
            let (own, own_weights) = object_sums(engine, batch, slice, &chi)?;
            let first = slice * layout.object_pixels();
            object[first..][..own.len()].copy_from_slice(&own);
            weights[first..][..own_weights.len()].copy_from_slice(&own_weights);
        }
        if slice > 0 {
            let before = &batch.incident[slice - 1];
            let sums = step_back(engine, &batch.frames, before, &mut chi, slice - 1, refines);
            if refines {
                of_gaps[slice - 1] = sums;
            }
        }
    }
    if let Some(object) = &mut object {
        // The largest weight is that of all slices.
        let denominator = method.object_denominator();
        divide(object, &weights, T::default(), 1, denominator);
    }
    let probe = (step.update_probe)
        .then(|| probe_direction(engine, batch, method, &chi))
        .transpose()?;
    if !refines {
        of_gaps.clear();
    }
    Ok((object, probe, of_gaps))
}

/// Σ conj(ψ) χ and Σ|ψ|² on a slice.
fn object_sums<T: Real>(
    engine: &CpuEngine<T>,
    batch: &Batch<T>,
    slice: usize,
    chi: &[Complex<T>],
) -> Result<(Vec<Complex<T>>, Vec<T>), EngineError> {
    let layout = &engine.layout;
    let waves = layout.modes * layout.pixels();
    let begin = batch.parts.own_frames().start;
    let mut sums = PartSums::new(batch.parts.count());
    for part in batch.parts.own() {
        let of_part = batch.parts.frames(part);
        let own = of_part.start - begin..of_part.end - begin;
        let frames = &batch.frames[own.clone()];
        let corners = frames.iter().map(|frame| layout.corners[*frame as usize]);
        let mut sum = ObjectPart::under(layout, corners);
        let values = own.start * waves..own.end * waves;
        let arrays = (&batch.incident[slice][values.clone()], &chi[values]);
        add_object_sums(layout, frames, arrays, &mut sum);
        sums.push(part, sum);
    }
    let none = || ObjectPart::under(layout, std::iter::empty());
    let total = engine.ranks.total(sums)?.unwrap_or_else(none);
    Ok(total.whole(layout.object_shape))
}

/// ΔP (mode, row, column), from χ at the first slice.
fn probe_direction<T: Real>(
    engine: &CpuEngine<T>,
    batch: &Batch<T>,
    method: &BatchMethod,
    chi: &[Complex<T>],
) -> Result<Vec<Complex<T>>, EngineError> {
    let CpuEngine {
        layout,
        fft,
        object,
        ..
    } = engine;
    let pixels = layout.pixels();
    let waves = layout.modes * pixels;
    let first = layer(layout, object, 0);
    let begin = batch.parts.own_frames().start;
    let mut sums = PartSums::new(batch.parts.count());
    for part in batch.parts.own() {
        let of_part = batch.parts.frames(part);
        let own = of_part.start - begin..of_part.end - begin;
        let mut sum = ProbePart::zeros(layout);
        let frames = (&batch.frames[own.clone()], &batch.ramps[own.clone()]);
        let chi = &chi[own.start * waves..own.end * waves];
        add_probe_sums(layout, fft, first, frames, chi, |_| 1.0, &mut sum);
        sums.push(part, sum);
    }
    let total = engine.ranks.total(sums)?;
    let ProbePart {
        numerators: mut direction,
        weights,
    } = total.unwrap_or_else(|| ProbePart::zeros(layout));
    inverse_layers(&mut direction, pixels, fft);
    let denominator = method.probe_denominator();
    let none = T::default();
    divide(&mut direction, &weights, none, layout.modes, denominator);
    Ok(direction)
}

/// Steps along the directions of all slices together and of the probe: means over the batch of
/// those that are optimal for each frame, which minimise |χ − α_O a − α_P b|² with the first-order
/// changes a and b of the exit wave.
fn steps<T: Real>(
    engine: &CpuEngine<T>,
    batch: &Batch<T>,
    object: Option<&[Complex<T>]>,
    probe: Option<&[Complex<T>]>,
) -> Result<[f64; 2], EngineError> {
    let CpuEngine { layout, fft, .. } = engine;
    let pixels = layout.pixels();
    let waves = layout.modes * pixels;
    let probe_spectra = probe.map(|p| spectra(p, pixels, fft));
    let systems: Vec<[f64; 5]> = (0..batch.frames.len())
        .into_par_iter()
        .map_init(
            || {
                let zeros = || vec![Complex::default(); waves];
                (Scratch::new(layout, fft), zeros(), zeros())
            },
            |(scratch, of_object, of_probe), n| {
                let corner = layout.corners[batch.frames[n] as usize];
                of_object.fill(Complex::default());
                match &probe_spectra {
                    Some(spectra) => shifted(spectra, &batch.ramps[n], of_probe, fft, scratch),
                    None => of_probe.fill(Complex::default()),
                }
                let mut sums = [0.0; 5];
                for mode in 0..layout.modes {
                    let at = mode * pixels..(mode + 1) * pixels;
                    let incident = |slice: usize| {
                        &batch.incident[slice][n * waves + mode * pixels..][..pixels]
                    };
                    let (a, b) = (&mut of_object[at.clone()], &mut of_probe[at]);
                    let mut medium = Medium {
                        fft,
                        spectrum: &mut scratch.spectrum,
                        scratch: &mut scratch.fft,
                    };
                    if object.is_some() {
                        exit_change(engine, corner, incident, object, a, &mut medium);
                    }
                    if probe.is_some() {
                        exit_change(engine, corner, incident, None, b, &mut medium);
                    }
                    let chi = &batch.chi[n * waves + mode * pixels..][..pixels];
                    let mut own = [T::default(); 5];
                    for ((a, b), chi) in a.iter().zip(&*b).zip(chi) {
                        own[0] += a.norm_sqr();
                        own[1] += a.re * b.re + a.im * b.im;
                        own[2] += b.norm_sqr();
                        own[3] += a.re * chi.re + a.im * chi.im;
                        own[4] += b.re * chi.re + b.im * chi.im;
                    }
                    sums.iter_mut().zip(own).for_each(|(s, v)| *s += v.wide());
                }
                sums
            },
        )
        .collect();
    Ok(mean_steps(&engine.ranks.gathered(&systems)?))
}
