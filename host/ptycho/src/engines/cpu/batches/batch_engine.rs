//! Engines that update object and probe after each mini-batch of frames: LSQ-ML (Odstrčil,
//! Menzel & Guizar-Sicairos 2018), ePIE (Maiden & Rodenburg 2009) and rPIE (Maiden, Johnson & Li
//! 2017).
//!
//! Of every frame of a batch: `ψ = S[P]·O`, `Ψ = F ψ`, `χ = F⁻¹[Ψ (√I/√I_model − 1)]` (0 where
//! masked). Directions of the batch, with `W = Σ|S[P]|²` on the object and V = Σ|O|² on the probe:
//! `ΔO = Σ conj(S[P]) χ / D(W)`, `ΔP = Σ S⁻¹[conj(O) χ] / D(V)`, where D(W) = √(W² + (0.1 max W)²)
//! for LSQ-ML and (1−α) W + α max W for ePIE (α = 1) and rPIE. Both use the old object and probe.

pub(in crate::engines::cpu) mod iteration;
mod steps;
pub(in crate::engines::cpu) mod sums;
mod variations;

use crate::engines::cpu::arrays::part_sums::{ObjectPart, ProbePart};
use crate::engines::cpu::arrays::window::Window;
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::model::multislice;
use crate::engines::cpu::model::shift::{PointRamps, Scratch};
use crate::engines::cpu::model::variable_probe::FrameProbes;
use crate::engines::cpu::model::{compare, model_spectra};
use crate::engines::cpu::projections::fourier_projection::FrameErrors;
use crate::engines::cpu::updates::smoothness;
use crate::engines::method::{BatchMethod, BatchUpdate};
use crate::engines::ranks::PartSums;
use crate::engines::updates::NEIGHBOURS;
use crate::engines::updates::Smoothness;
use crate::{EngineError, MAGNITUDE_FLOOR, Step};
use num_complex::Complex;
use rayon::prelude::*;
pub(in crate::engines::cpu) use steps::mean_steps;
use steps::steps;
use sums::{
    Batch, ObjectDirection, add_object_sums, add_probe_sums, advance, divide, inverse_layers,
};
use warpstride_fft::Real;

/// Updates object and probe by the batch `frames`.
pub(in crate::engines::cpu) fn update<T: Real>(
    engine: &mut CpuEngine<T>,
    step: &Step,
    method: &BatchMethod,
    frames: &[u32],
    errors: &mut [FrameErrors],
) -> Result<(), EngineError> {
    if engine.slices.is_some() {
        return multislice::update(engine, step, method, frames, errors);
    }
    let of_scan = errors.len() as f64;
    let (batch, found) = deviations(engine, step, frames);
    for (frame, found) in frames.iter().zip(engine.ranks.gathered(&found)?) {
        errors[*frame as usize] = found;
    }
    add_to_background(engine, step, &batch)?;
    // Of the regulariser, a batch has the share of its frames.
    let share = frames.len() as f64 / of_scan;
    let object = step
        .update_object
        .then(|| object_direction(engine, &batch, method, share))
        .transpose()?;
    let probe = step
        .update_probe
        .then(|| probe_direction(engine, &batch, method))
        .transpose()?;
    let factors = match method.update {
        BatchUpdate::LeastSquares { smoothness, .. } => {
            let smooth = Smoothness {
                weight: smoothness.weight / of_scan,
                ..smoothness
            };
            steps(engine, &batch, object.as_ref(), probe.as_deref(), smooth)?
        }
        BatchUpdate::Pie {
            object_step,
            probe_step,
            ..
        } => [object_step, probe_step],
    };
    let varied = match step.update_variations {
        true => variations::changes(engine, &batch)?,
        false => None,
    };
    let momentum = method.momentum();
    let CpuEngine {
        object: o,
        probe: p,
        batch_state,
        ..
    } = engine;
    if let Some(ObjectDirection { direction, .. }) = object {
        advance(o, &direction, factors[0], momentum, &mut batch_state.object);
        if let Some(limits) = step.clip_object {
            o.par_iter_mut().for_each(|v| {
                *v = crate::engines::cpu::projections::object_update::clipped(*v, limits)
            });
        }
    }
    if let Some(direction) = probe {
        advance(p, &direction, factors[1], momentum, &mut batch_state.probe);
        engine.constrain_probe(step);
    }
    if let Some(varied) = varied {
        variations::advance(engine, &varied, frames, factors[1]);
    }
    Ok(())
}

/// Adds what the frames of a batch say about the detector's background.
fn add_to_background<T: Real>(
    engine: &mut CpuEngine<T>,
    step: &Step,
    batch: &Batch<T>,
) -> Result<(), EngineError> {
    let Some(detector) = (engine.detector.as_ref()).filter(|detector| detector.updates_in(step))
    else {
        return Ok(());
    };
    let pixels = engine.layout.pixels();
    let begin = batch.parts.own_frames().start;
    let mut sums = PartSums::new(batch.parts.count());
    for part in batch.parts.own() {
        let of_part = batch.parts.frames(part);
        let own = of_part.start - begin..of_part.end - begin;
        let frames = &batch.frames[own.clone()];
        let mut sum = detector.no_sums();
        let measured = &batch.measured[own.start * pixels..own.end * pixels];
        sum.add_frames(
            |at| detector.background_at(at),
            measured,
            |n| &engine.magnitudes[frames[n] as usize * pixels..][..pixels],
        );
        sums.push(part, sum);
    }
    let total = engine.ranks.total(sums)?;
    if let (Some(total), Some(detector)) = (total, &mut engine.detector) {
        detector.add(total);
    }
    Ok(())
}

/// `S[P]` and χ of this rank's frames of the batch `frames`.
fn deviations<T: Real>(
    engine: &CpuEngine<T>,
    step: &Step,
    frames: &[u32],
) -> (Batch<T>, Vec<FrameErrors>) {
    let parts = engine.ranks.parts(frames.len());
    let all = frames.to_vec();
    let frames = frames[parts.own_frames()].to_vec();
    let CpuEngine {
        layout,
        fft,
        propagator,
        magnitudes,
        detector,
        object,
        ..
    } = engine;
    let pixels = layout.pixels();
    let [moved, waves] = [layout.probes(), layout.waves()].map(|n| n * pixels);
    let updated = (detector.as_ref()).is_some_and(|detector| detector.updates_in(step));
    // One value of a frame, which is not used, if no background is updated.
    let kept = if updated { pixels } else { 1 };
    let mut measured = vec![T::default(); frames.len() * kept];
    let scale2 = fft.scale() * fft.scale();
    let ramps: Vec<PointRamps<T>> = (frames.iter().map(|frame| *frame as usize))
        .map(|frame| PointRamps::new(layout, frame, layout.fraction(frame, step.subpixel)))
        .collect();
    let of_frames = FrameProbes::new(engine);
    let mut probes = vec![Complex::default(); frames.len() * moved];
    let mut chi = vec![Complex::default(); frames.len() * waves];
    let errors = probes
        .par_chunks_mut(moved)
        .zip(chi.par_chunks_mut(waves))
        .zip(measured.par_chunks_mut(kept))
        .zip(&frames)
        .zip(&ramps)
        .map_init(
            || Scratch::new(layout, fft),
            |scratch, ((((probes, chi), measured), frame), ramps)| {
                let frame = *frame as usize;
                let ramps = step.subpixel.then_some(ramps);
                of_frames.write(frame, ramps, probes, fft, scratch);
                let window = Window {
                    layout,
                    frame,
                    corner: layout.corners[frame],
                    fraction: layout.fraction(frame, step.subpixel),
                    probe: probes,
                    object,
                };
                let magnitudes = &magnitudes[frame * pixels..][..pixels];
                model_spectra(&window, propagator, scratch);
                let scale = scale2 * T::of(layout.scale(frame));
                let (model, fourier) = compare(magnitudes, scale, detector.as_ref(), scratch);
                if updated {
                    measured.copy_from_slice(&scratch.factor);
                }
                match detector {
                    Some(detector) => detector.factors(magnitudes, scale2, &mut scratch.factor),
                    None => {
                        for (factor, magnitude) in scratch.factor.iter_mut().zip(magnitudes) {
                            *factor = if *magnitude < 0.0 {
                                T::default()
                            } else {
                                let target = T::of(f64::from(*magnitude));
                                let modelled = factor.sqrt();
                                (target - modelled) / (modelled + T::of(MAGNITUDE_FLOOR)) * scale2
                            };
                        }
                    }
                }
                for (wave, chi) in chi.chunks_exact_mut(pixels).enumerate() {
                    let spectrum = &scratch.model[wave * pixels..][..pixels];
                    for ((to, f), factor) in scratch
                        .spectrum
                        .iter_mut()
                        .zip(spectrum)
                        .zip(&scratch.factor)
                    {
                        *to = f.scale(*factor);
                    }
                    let (spectrum, fraction) = (&mut scratch.spectrum, window.shift(wave));
                    propagator.inverse(spectrum, chi, fraction, &mut scratch.fft);
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
        all,
        frames,
        ramps,
        probes,
        chi,
        measured,
    };
    (batch, errors)
}

/// ΔO of a batch that has `share` of the frames.
fn object_direction<T: Real>(
    engine: &CpuEngine<T>,
    batch: &Batch<T>,
    method: &BatchMethod,
    share: f64,
) -> Result<ObjectDirection<T>, EngineError> {
    let layout = &engine.layout;
    let width = layout.object_shape[1];
    let [moved, waves] = [layout.probes(), layout.waves()].map(|n| n * layout.pixels());
    let begin = batch.parts.own_frames().start;
    let mut sums = PartSums::new(batch.parts.count());
    for part in batch.parts.own() {
        let of_part = batch.parts.frames(part);
        let own = of_part.start - begin..of_part.end - begin;
        let frames = &batch.frames[own.clone()];
        let corners = frames.iter().map(|frame| layout.corners[*frame as usize]);
        let mut sum = ObjectPart::under(layout, corners);
        let arrays = (
            &batch.probes[own.start * moved..own.end * moved],
            &batch.chi[own.start * waves..own.end * waves],
        );
        add_object_sums(layout, frames, arrays, &mut sum);
        sums.push(part, sum);
    }
    let none = || ObjectPart::under(layout, std::iter::empty());
    let total = engine.ranks.total(sums)?.unwrap_or_else(none);
    let (mut numerators, weights) = total.whole(layout.object_shape);
    let mut extra = T::default();
    if let Some(regulariser) = method.smoothness() {
        let weight = regulariser.weight * share;
        extra = T::of(NEIGHBOURS * weight);
        let own = Smoothness {
            weight,
            ..regulariser
        };
        let size = layout.object_pixels();
        let layers = engine.object.chunks_exact(size);
        for (object, numerators) in layers.zip(numerators.chunks_exact_mut(size)) {
            smoothness::add_gradient(object, &weights, width, own, numerators);
        }
    }
    divide(
        &mut numerators,
        &weights,
        extra,
        layout.object_layers,
        method.object_denominator(),
    );
    Ok(ObjectDirection {
        direction: numerators,
        weights,
    })
}

/// ΔP (mode, row, column).
fn probe_direction<T: Real>(
    engine: &CpuEngine<T>,
    batch: &Batch<T>,
    method: &BatchMethod,
) -> Result<Vec<Complex<T>>, EngineError> {
    let CpuEngine {
        layout,
        fft,
        object,
        ..
    } = engine;
    let pixels = layout.pixels();
    let waves = layout.waves() * pixels;
    let begin = batch.parts.own_frames().start;
    let mut sums = PartSums::new(batch.parts.count());
    for part in batch.parts.own() {
        let of_part = batch.parts.frames(part);
        let own = of_part.start - begin..of_part.end - begin;
        let mut sum = ProbePart::zeros(layout);
        let frames = (&batch.frames[own.clone()], &batch.ramps[own.clone()]);
        let chi = &batch.chi[own.start * waves..own.end * waves];
        add_probe_sums(layout, fft, object, frames, chi, |_| 1.0, &mut sum);
        sums.push(part, sum);
    }
    let total = engine.ranks.total(sums)?;
    let ProbePart {
        numerators: mut direction,
        weights,
    } = total.unwrap_or_else(|| ProbePart::zeros(layout));
    inverse_layers(&mut direction, pixels, fft);
    divide(
        &mut direction,
        &weights,
        T::default(),
        layout.modes,
        method.probe_denominator(),
    );
    Ok(direction)
}
