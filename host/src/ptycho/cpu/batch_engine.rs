//! Engines that update object and probe after each mini-batch of frames: LSQ-ML (Odstrčil,
//! Menzel & Guizar-Sicairos 2018), ePIE (Maiden & Rodenburg 2009) and rPIE (Maiden, Johnson & Li
//! 2017).
//!
//! Of every frame of a batch: `ψ = S[P]·O`, `Ψ = F ψ`, `χ = F⁻¹[Ψ (√I/√I_model − 1)]` (0 where masked).
//! Directions of the batch, with `W = Σ|S[P]|²` on the object and V = Σ|O|² on the probe:
//! `ΔO = Σ conj(S[P]) χ / D(W)`, `ΔP = Σ S⁻¹[conj(O) χ] / D(V)`, where D(W) = √(W² + (0.1 max W)²) for
//! LSQ-ML and (1−α) W + α max W for ePIE (α = 1) and rPIE. Both use the old object and probe.

mod steps;
mod variations;

use super::engine::CpuEngine;
use super::fourier_projection::FrameErrors;
use super::model::{PointRamps, Scratch, add_shifted_back, compare, model_spectra};
use super::multislice;
use super::part_sums::{BAND, ObjectPart, ProbePart};
use super::regions::side_by_side;
use super::smoothness;
use super::variable_probe::FrameProbes;
use super::window::{Layout, Window};
use crate::fft::{Real, TransposedFft2};
use crate::ptycho::batches::batches;
use crate::ptycho::method::{BatchMethod, BatchUpdate};
use crate::ptycho::ranks::{PartSums, Parts};
use crate::ptycho::updates::Smoothness;
use crate::ptycho::updates::{Denominator, FLOOR, NEIGHBOURS};
use crate::ptycho::{EngineError, MAGNITUDE_FLOOR, Step};
use num_complex::Complex;
use rayon::prelude::*;
pub(super) use steps::mean_steps;
use steps::steps;

/// Frames per task of the probe's sums.
const GROUP: usize = 8;
/// What the iterations remember.
#[derive(Default)]
pub(super) struct BatchState<T> {
    /// Object and probe momentum; empty before the first iteration with momentum.
    pub(super) object: Vec<Complex<T>>,
    pub(super) probe: Vec<Complex<T>>,
}

/// The arrays of this rank's frames of a batch.
struct Batch<T> {
    /// How the batch is divided.
    parts: Parts,
    /// Frames of all ranks.
    all: Vec<u32>,
    /// Frames of this rank.
    frames: Vec<u32>,
    ramps: Vec<PointRamps<T>>,
    /// `S[P]` (frame, point, mode, row, column).
    probes: Vec<Complex<T>>,
    /// χ (frame, wave, row, column).
    chi: Vec<Complex<T>>,
    /// Intensities that the detector measures (frame, column, row), if its background is updated from them.
    measured: Vec<T>,
}

/// One pass over all frames; returns each frame's errors, of the model before its batch's update.
pub(super) fn iterate<T: Real>(
    engine: &mut CpuEngine<T>,
    step: &Step,
    method: &BatchMethod,
) -> Result<Vec<FrameErrors>, EngineError> {
    let positions = engine.layout.positions(step.subpixel);
    let mut errors = vec![FrameErrors::default(); positions.len()];
    if let Some(regions) = engine.regions.clone().filter(|_| method.regions) {
        side_by_side(engine, step, method, &regions, &mut errors)?;
        engine.update_background();
        return Ok(errors);
    }
    let lists = batches(
        method.order,
        &positions,
        method.size,
        step.seed,
        step.iteration,
    );
    for frames in &lists {
        update(engine, step, method, frames, &mut errors)?;
    }
    engine.update_background();
    Ok(errors)
}

/// Updates object and probe by the batch `frames`.
pub(super) fn update<T: Real>(
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
            o.par_iter_mut()
                .for_each(|v| *v = super::object_update::clipped(*v, limits));
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

/// `values += v` with `v ← momentum · v + factor · direction`.
pub(super) fn advance<T: Real>(
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
        sum.add_frames(detector, measured, |n| {
            &engine.magnitudes[frames[n] as usize * pixels..][..pixels]
        });
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

/// ΔO, and the weights that it was divided by.
struct ObjectDirection<T> {
    direction: Vec<Complex<T>>,
    weights: Vec<T>,
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

/// Adds Σ conj(S\[P\]) χ, for each layer of the object those of its exit waves, and Σ |S\[P\]|² of `frames` to `sums`, whose
/// rectangle has their windows; `probes` are (frame, point, mode, row, column), `chi` (frame, wave, row, column).
pub(super) fn add_object_sums<T: Real>(
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

/// Divides every layer of `numerators` by the denominator of `weights` plus `extra`; 0 where that is 0.
pub(super) fn divide<T: Real>(
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

/// Adds the spectra (mode, column, row) of Σ √c S⁻¹\[conj(O) χ\] and Σ c |O|² (row, column) of the frames, over all layers of the
/// object, to `sums`; c is each frame's `scale`. `chi` is (frame, wave, row, column).
pub(super) fn add_probe_sums<T: Real>(
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
pub(super) fn inverse_layers<T: Real>(
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

/// Calls `take(pixel, O)` for each pixel of the frame with this corner, O a layer (row, column) of the object.
pub(super) fn for_each_window_value<T: Real>(
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
