//! Loss and gradients of all frames, a few at a time.
//!
//! The object's sums run over the frames of a part in their order, the probe's over groups of them,
//! so no result depends on how many frames are in memory or on the number of threads or ranks.

use crate::engines::cpu::arrays::part_sums::{ObjectPart, ProbePart};
use crate::engines::cpu::arrays::window::Window;
use crate::engines::cpu::batches::batch_engine::sums::{
    add_object_sums, add_probe_sums, inverse_layers,
};
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::engine::Pair;
use crate::engines::cpu::model::detector::{CpuDetector, PixelSums};
use crate::engines::cpu::model::shift::{PointRamps, Scratch};
use crate::engines::cpu::model::variable_probe::FrameProbes;
use crate::engines::cpu::model::{compare, model_spectra};
use crate::engines::cpu::projections::fourier_projection::FrameErrors;
use crate::engines::cpu::updates::smoothness;
use crate::engines::likelihood::{LikelihoodMethod, Noise};
use crate::engines::ranks::PartSums;
use crate::{EngineError, Smoothness, Step};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Frames in memory together; a multiple of the groups in which the probe's sums are added.
const CHUNK: usize = 64;

/// The objective's gradients and weights.
pub(in crate::engines::cpu) struct Gradient<T> {
    /// g_O (layer, row, column) with the regulariser's, and g_P (mode, row, column); 0 where not
    /// updated.
    pub(in crate::engines::cpu) values: Pair<T>,
    /// W = Σ|S\[P\]|² (row, column) on the object.
    pub(in crate::engines::cpu) object_weights: Vec<T>,
    /// V = Σ|O|² (row, column) on the probe.
    pub(in crate::engines::cpu) probe_weights: Vec<T>,
    /// The likelihood's part of the objective.
    pub(in crate::engines::cpu) loss: f64,
    /// What the frames say about the detector's background, if it is updated.
    pub(in crate::engines::cpu) background: Option<PixelSums>,
}

/// Gradients at the current object and probe, and the errors of each frame.
pub(super) fn gradient<T: Real>(
    engine: &CpuEngine<T>,
    step: &Step,
    method: &LikelihoodMethod,
) -> Result<(Gradient<T>, Vec<FrameErrors>), EngineError> {
    let CpuEngine {
        ranks,
        layout,
        fft,
        magnitudes,
        detector,
        object,
        ..
    } = engine;
    let pixels = layout.pixels();
    let of_all = FrameProbes::new(engine);
    let parts = ranks.parts(layout.corners.len());
    let mut of_frames = Vec::with_capacity(parts.own_frames().len());
    let mut object_sums = PartSums::new(parts.count());
    let mut probe_sums = PartSums::new(parts.count());
    let mut background_sums = PartSums::new(parts.count());
    for part in parts.own() {
        let of_part = parts.frames(part);
        let corners = layout.corners[of_part.clone()].iter().copied();
        let mut of_object = ObjectPart::under(
            layout,
            corners.take(if step.update_object { of_part.len() } else { 0 }),
        );
        let mut of_probe = ProbePart::zeros(layout);
        let mut of_background = (detector.as_ref())
            .filter(|detector| detector.updates_in(step))
            .map(|detector| (detector, detector.no_sums()));
        let frames: Vec<u32> = of_part.map(|frame| frame as u32).collect();
        for frames in frames.chunks(CHUNK) {
            let (chunk, found) = deviations(engine, step, method.noise, &of_all, frames);
            let Chunk {
                probes,
                xi,
                measured,
            } = chunk;
            if let Some((detector, sums)) = &mut of_background {
                sums.add_frames(
                    |at| detector.background_at(at),
                    &measured,
                    |n| &magnitudes[frames[n] as usize * pixels..][..pixels],
                );
            }
            of_frames.extend(found);
            if step.update_object {
                add_object_sums(layout, frames, (&probes, &xi), &mut of_object);
            }
            if step.update_probe {
                let ramps: Vec<_> = (frames.iter())
                    .map(|frame| {
                        let frame = *frame as usize;
                        PointRamps::new(layout, frame, layout.fraction(frame, step.subpixel))
                    })
                    .collect();
                let frames = (frames, &ramps[..]);
                add_probe_sums(layout, fft, object, frames, &xi, |_| 1.0, &mut of_probe);
            }
        }
        object_sums.push(part, of_object);
        probe_sums.push(part, of_probe);
        if let Some((_, sums)) = of_background {
            background_sums.push(part, sums);
        }
    }
    let updates = (detector.as_ref()).is_some_and(|detector| detector.updates_in(step));
    let background = match updates {
        true => ranks.total(background_sums)?,
        false => None,
    };
    let none = || ObjectPart::under(layout, std::iter::empty());
    let of_object = ranks.total(object_sums)?.unwrap_or_else(none);
    let (of_object, object_weights) = of_object.whole(layout.object_shape);
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
        values: [of_object, of_probe],
        object_weights,
        probe_weights,
        loss: losses.iter().sum(),
        background,
    };
    let two = T::of(2.0);
    for value in found.values.iter_mut().flatten() {
        *value = value.scale(two);
    }
    if let Some(regulariser) = method.regulariser().filter(|_| step.update_object) {
        let twice = Smoothness {
            weight: -2.0 * regulariser.weight,
            ..regulariser
        };
        let width = layout.object_shape[1];
        let Gradient {
            values: [to, _],
            object_weights: weights,
            ..
        } = &mut found;
        let size = layout.object_pixels();
        for (object, to) in object.chunks_exact(size).zip(to.chunks_exact_mut(size)) {
            smoothness::add_gradient(object, weights, width, twice, to);
        }
    }
    Ok((found, errors))
}

/// Frames in memory.
struct Chunk<T> {
    /// S\[P\] (frame, point, mode, row, column).
    probes: Vec<Complex<T>>,
    /// ξ = F⁻¹\[c_j D f\] (frame, wave, row, column).
    xi: Vec<Complex<T>>,
    /// Intensities that the detector measures (frame, column, row), if its background is updated
    /// from them.
    measured: Vec<T>,
}

/// S\[P\] and ξ of `frames`; their losses and errors.
fn deviations<T: Real>(
    engine: &CpuEngine<T>,
    step: &Step,
    noise: Noise,
    of_frames: &FrameProbes<'_, T>,
    frames: &[u32],
) -> (Chunk<T>, Vec<(f64, FrameErrors)>) {
    let CpuEngine {
        layout,
        fft,
        propagator,
        ..
    } = engine;
    let pixels = layout.pixels();
    let [moved, waves] = [layout.probes(), layout.waves()].map(|n| n * pixels);
    let scale2 = fft.scale() * fft.scale();
    let mut probes = vec![Complex::default(); frames.len() * moved];
    let mut xi = vec![Complex::default(); frames.len() * waves];
    let updated = (engine.detector.as_ref()).is_some_and(|detector| detector.updates_in(step));
    // One value of a frame, which is not used, if no background is updated.
    let width = if updated { pixels } else { 1 };
    let mut measured = vec![T::default(); frames.len() * width];
    let errors = (probes.par_chunks_mut(moved))
        .zip(xi.par_chunks_mut(waves))
        .zip(measured.par_chunks_mut(width))
        .zip(frames)
        .map_init(
            || Scratch::new(layout, fft),
            |scratch, (((probes, xi), measured), frame)| {
                let mut kept = updated.then_some(measured);
                let frame = *frame as usize;
                let (loss, errors) =
                    model(engine, step, of_frames, frame, probes, scratch).losses(noise, scratch);
                let magnitudes = &engine.magnitudes[frame * pixels..][..pixels];
                let scale = T::of(layout.scale(frame)) * scale2;
                let fraction = layout.fraction(frame, step.subpixel);
                if let Some(kept) = &mut kept {
                    kept.copy_from_slice(&scratch.factor);
                }
                let detector = engine.detector.as_ref();
                let pairs = scratch.factor.iter_mut().zip(magnitudes);
                for (pixel, (factor, magnitude)) in pairs.enumerate() {
                    *factor = if *magnitude < 0.0 {
                        T::default()
                    } else {
                        let root = root(detector, noise, pixel, *magnitude);
                        T::of(noise.slope(factor.wide(), root)) * scale
                    };
                }
                if let Some(detector) = detector {
                    detector.blur(&mut scratch.factor);
                }
                let waves = (scratch.model.chunks_exact(pixels)).zip(xi.chunks_exact_mut(pixels));
                for (wave, (spectrum, xi)) in waves.enumerate() {
                    let to = scratch.spectrum.iter_mut();
                    for ((to, f), factor) in to.zip(spectrum).zip(&scratch.factor) {
                        *to = f.scale(*factor);
                    }
                    let spectrum = &mut scratch.spectrum;
                    let fraction = layout.shift(frame, wave, fraction);
                    propagator.inverse(spectrum, xi, fraction, &mut scratch.fft);
                }
                (loss, errors)
            },
        )
        .collect();
    let chunk = Chunk {
        probes,
        xi,
        measured,
    };
    (chunk, errors)
}

/// What the loss compares with the model intensity.
#[inline]
pub(super) fn root<T: Real>(
    detector: Option<&CpuDetector<T>>,
    noise: Noise,
    pixel: usize,
    magnitude: f32,
) -> f64 {
    detector.map_or_else(
        || f64::from(magnitude),
        |detector| detector.root(noise, pixel, magnitude),
    )
}

/// What a frame's model is compared with.
pub(in crate::engines::cpu) struct Compared<'a, T> {
    magnitudes: &'a [f32],
    detector: Option<&'a CpuDetector<T>>,
    scale: f64,
    errors: FrameErrors,
}

impl<T: Real> Compared<'_, T> {
    /// The frame's loss, from the intensities in `scratch.factor`, and its errors.
    pub(in crate::engines::cpu) fn losses(
        self,
        noise: Noise,
        scratch: &Scratch<T>,
    ) -> (f64, FrameErrors) {
        let mut loss = 0.0;
        let pairs = scratch.factor.iter().zip(self.magnitudes);
        for (pixel, (intensity, magnitude)) in pairs.enumerate() {
            if *magnitude >= 0.0 {
                let root = root(self.detector, noise, pixel, *magnitude);
                loss += noise.loss(intensity.wide(), root);
            }
        }
        // |χ|² of the wave that would have the measured magnitudes.
        let exit = self.errors.model.residual / self.scale;
        let errors = FrameErrors {
            exit,
            ..self.errors
        };
        (loss, errors)
    }
}

/// Writes S\[P\] of a frame to `probes`, its spectra f to `scratch.model`, and I_m to
/// `scratch.factor`.
fn model<'a, T: Real>(
    engine: &'a CpuEngine<T>,
    step: &Step,
    of_frames: &FrameProbes<'_, T>,
    frame: usize,
    probes: &mut [Complex<T>],
    scratch: &mut Scratch<T>,
) -> Compared<'a, T> {
    let CpuEngine {
        layout,
        fft,
        propagator,
        ..
    } = engine;
    let ramps = (step.subpixel).then(|| PointRamps::new(layout, frame, layout.fractions[frame]));
    of_frames.write(frame, ramps.as_ref(), probes, fft, scratch);
    let window = Window {
        layout,
        frame,
        corner: layout.corners[frame],
        fraction: layout.fraction(frame, step.subpixel),
        probe: probes,
        object: &engine.object,
    };
    match &engine.slices {
        None => model_spectra(&window, propagator, scratch),
        Some(slices) => slices.model_spectra(&window, fft, propagator, scratch),
    }
    compared(engine, frame, scratch)
}

/// Compares the model of a frame, in `scratch.model`, with its counts; writes I_m to
/// `scratch.factor`.
pub(in crate::engines::cpu) fn compared<'a, T: Real>(
    engine: &'a CpuEngine<T>,
    frame: usize,
    scratch: &mut Scratch<T>,
) -> Compared<'a, T> {
    let CpuEngine {
        layout,
        fft,
        detector,
        ..
    } = engine;
    let pixels = layout.pixels();
    let magnitudes = &engine.magnitudes[frame * pixels..][..pixels];
    let scale = layout.scale(frame);
    let (model, fourier) = compare(
        magnitudes,
        fft.scale() * fft.scale() * T::of(scale),
        detector.as_ref(),
        scratch,
    );
    Compared {
        magnitudes,
        detector: detector.as_ref(),
        scale,
        errors: FrameErrors {
            fourier,
            exit: 0.0,
            model,
        },
    }
}

/// The likelihood's part of the objective at the current object and probe.
pub(in crate::engines::cpu) fn loss<T: Real>(
    engine: &CpuEngine<T>,
    step: &Step,
    noise: Noise,
) -> Result<f64, EngineError> {
    let CpuEngine {
        ranks,
        layout,
        fft,
        probe,
        ..
    } = engine;
    let of_frames = FrameProbes::new(engine);
    let own = ranks.parts(layout.corners.len()).own_frames();
    let losses: Vec<f64> = own
        .into_par_iter()
        .map_init(
            || (Scratch::new(layout, fft), layout.moved(probe)),
            |(scratch, probes), frame| {
                model(engine, step, &of_frames, frame, probes, scratch)
                    .losses(noise, scratch)
                    .0
            },
        )
        .collect();
    Ok(ranks.gathered(&losses)?.iter().sum())
}
