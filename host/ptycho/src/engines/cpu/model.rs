//! The forward model of one frame: the probe shifted to the frame's position, the exit waves, their
//! spectra, and how they deviate from the counts.
//!
//! A frame at a position with the integer corner r and the fraction f has the exit waves ψ_m =
//! S_f[P_m] · O(window at r), where S_f shifts by f pixels with a phase ramp in Fourier space and
//! is unitary, so its adjoint is the shift by −f. They are moved by f; the propagation to a near
//! field shifts them back.

pub(super) mod detector;
pub(super) mod model_deviation;
pub(super) mod multislice;
pub(super) mod object_modes;
pub(super) mod propagation;
pub(super) mod shift;
pub(super) mod slices;
pub(super) mod variable_probe;
pub(super) mod variations;

use super::arrays::window::Window;
use super::engine::CpuEngine;
use crate::EngineError;
use detector::CpuDetector;
use model_deviation::FrameModel;
use propagation::Propagator;
use rayon::prelude::*;
use shift::{PointRamps, Scratch};
use variable_probe::FrameProbes;
use warpstride_fft::Real;

/// Writes the unnormalised detector waves of the exit waves of a frame with the shifted probe in
/// `window` to `scratch.model`.
pub(super) fn model_spectra<T: Real>(
    window: &Window<'_, T>,
    propagator: &Propagator<T>,
    scratch: &mut Scratch<T>,
) {
    let pixels = window.layout.pixels();
    for wave in 0..window.layout.waves() {
        window.product(wave, &mut scratch.wave);
        let spectrum = &mut scratch.model[wave * pixels..(wave + 1) * pixels];
        let fraction = window.shift(wave);
        propagator.forward(&mut scratch.wave, spectrum, fraction, &mut scratch.fft);
    }
}

/// Writes the model intensities `scale` · Σ|f|² of `scratch.model`, as the `detector` measures
/// them, to `scratch.factor`, and returns the deviations from `magnitudes` (column, row) and Σ w
/// (√I_model − √I)²/Σ w.
pub(super) fn compare<T: Real>(
    magnitudes: &[f32],
    scale: T,
    detector: Option<&CpuDetector<T>>,
    scratch: &mut Scratch<T>,
) -> (FrameModel, f64) {
    let Scratch { model, factor, .. } = scratch;
    match detector {
        None => model_deviation::compare(model, magnitudes, scale, factor),
        Some(detector) => detector.compare(model, magnitudes, scale, factor),
    }
}

/// Deviations of the current object and probe from the counts of every frame.
pub(super) fn all_errors<T: Real>(
    engine: &CpuEngine<T>,
    subpixel: bool,
) -> Result<Vec<FrameModel>, EngineError> {
    let CpuEngine {
        ranks,
        layout,
        fft,
        propagator,
        magnitudes,
        detector,
        object,
        probe,
        slices,
        ..
    } = engine;
    let pixels = layout.pixels();
    let scale2 = fft.scale() * fft.scale();
    let of_frames = FrameProbes::new(engine);
    let own = ranks.parts(layout.corners.len()).own_frames();
    let errors: Vec<FrameModel> = magnitudes[own.start * pixels..own.end * pixels]
        .par_chunks(pixels)
        .enumerate()
        .map_init(
            || (Scratch::new(layout, fft), layout.moved(probe)),
            |(scratch, moved), (n, magnitudes)| {
                let frame = own.start + n;
                let ramps =
                    subpixel.then(|| PointRamps::new(layout, frame, layout.fractions[frame]));
                of_frames.write(frame, ramps.as_ref(), moved, fft, scratch);
                let window = Window {
                    layout,
                    frame,
                    corner: layout.corners[frame],
                    fraction: layout.fraction(frame, subpixel),
                    probe: moved,
                    object,
                };
                match slices {
                    None => model_spectra(&window, propagator, scratch),
                    Some(slices) => slices.model_spectra(&window, fft, propagator, scratch),
                }
                let scale = scale2 * T::of(layout.scale(frame));
                compare(magnitudes, scale, detector.as_ref(), scratch).0
            },
        )
        .collect();
    Ok(ranks.gathered(&errors)?)
}
