//! The exit-wave update in Fourier space: reflect, project onto the data, combine.
//!
//! The state is Ψ = F ψ. As F is linear, F[(1−c) ψ + c P·O] = (1−c) Ψ + c F[P·O] and
//! Ψ ← (1−a−b) Ψ + a F[P·O] + b Π[…]. This needs one forward transform of P·O and one inverse
//! transform of Ψ, and also yields |F[P·O]|² for err_phot and R.

use super::engine::{Layout, Window};
use crate::fft::{FftScratch, Real, TransposedFft2};
use crate::ptycho::free_pixels::free_magnitude;
use crate::ptycho::{MAGNITUDE_FLOOR, Step};
use num_complex::Complex;

/// Scratch memory of one thread.
pub(super) struct Scratch<T> {
    /// P·O of one mode (row, column).
    wave: Vec<Complex<T>>,
    /// Unnormalised transforms of P·O (mode, column, row).
    pub(super) model: Vec<Complex<T>>,
    /// New Ψ of one mode (column, row), input of the inverse transform.
    spectrum: Vec<Complex<T>>,
    /// Magnitude of the reflected wave, then the factor of its projection (column, row).
    reflected: Vec<T>,
    fft: FftScratch<T>,
}

impl<T: Real> Scratch<T> {
    pub(super) fn new(layout: &Layout, fft: &TransposedFft2<T>) -> Self {
        let pixels = layout.pixels();
        Self {
            wave: vec![Complex::default(); pixels],
            model: vec![Complex::default(); layout.modes * pixels],
            spectrum: vec![Complex::default(); pixels],
            reflected: vec![T::default(); pixels],
            fft: fft.scratch(),
        }
    }
}

/// Errors of one frame.
#[derive(Clone, Copy, Default)]
pub(super) struct FrameErrors {
    /// Σ w (af − √I)² / Σ w of the reflected wave.
    pub(super) fourier: f64,
    /// Σ |Δψ|² over modes and pixels.
    pub(super) exit: f64,
    /// Errors of the model P·O; zero if the step does not ask for them.
    pub(super) model: FrameModel,
}

/// Deviation of the model P·O from the counts of one frame.
#[derive(Clone, Copy, Default)]
pub(super) struct FrameModel {
    /// Σ w (I_model − I)²/(I+1) / Σ w.
    pub(super) photon: f64,
    /// Σ w (√I_model − √I)².
    pub(super) residual: f64,
    /// The same over the free pixels.
    pub(super) free: f64,
}

/// Writes the unnormalised transforms of P·O of all modes to `scratch.model`.
pub(super) fn model_spectra<T: Real>(
    window: &Window<'_, T>,
    fft: &TransposedFft2<T>,
    scratch: &mut Scratch<T>,
) {
    let pixels = window.layout.pixels();
    for mode in 0..window.layout.modes {
        window.for_each_product(mode, |i, product| scratch.wave[i] = product);
        let spectrum = &mut scratch.model[mode * pixels..(mode + 1) * pixels];
        fft.forward(&mut scratch.wave, spectrum, &mut scratch.fft);
    }
}

/// Errors of the model in `scratch.model` compared with `magnitudes` (column, row), negative where
/// masked or free.
pub(super) fn model_errors<T: Real>(
    scratch: &Scratch<T>,
    magnitudes: &[f32],
    scale2: T,
) -> FrameModel {
    let pixels = magnitudes.len();
    let (mut photon, mut residual, mut free, mut valid) = (0.0, 0.0, 0.0, 0.0);
    for (i, magnitude) in magnitudes.iter().enumerate() {
        let hidden = free_magnitude(*magnitude);
        if *magnitude < 0.0 && hidden.is_none() {
            continue;
        }
        let mut model = T::default();
        for spectrum in scratch.model.chunks_exact(pixels) {
            model += spectrum[i].norm_sqr();
        }
        let model = (model * scale2).wide();
        if let Some(hidden) = hidden {
            free += (model.sqrt() - f64::from(hidden)).powi(2);
            continue;
        }
        let magnitude = f64::from(*magnitude);
        let counts = magnitude * magnitude;
        photon += (model - counts).powi(2) / (counts + 1.0);
        residual += (model.sqrt() - magnitude).powi(2);
        valid += 1.0;
    }
    let photon = if valid > 0.0 { photon / valid } else { 0.0 };
    FrameModel {
        photon,
        residual,
        free,
    }
}

/// One step of one frame. `state` is Ψ, unnormalised transforms (mode, column, row); ψ (mode, row,
/// column) is written to `exit`; `magnitudes` is (column, row), negative where masked or
/// free.
pub(super) fn step_frame<T: Real>(
    window: &Window<'_, T>,
    (state, exit): (&mut [Complex<T>], &mut [Complex<T>]),
    magnitudes: &[f32],
    step: &Step,
    fft: &TransposedFft2<T>,
    scratch: &mut Scratch<T>,
) -> FrameErrors {
    let pixels = window.layout.pixels();
    let scale2 = fft.scale() * fft.scale();
    model_spectra(window, fft, scratch);
    let model = if step.metrics.start {
        model_errors(scratch, magnitudes, scale2)
    } else {
        FrameModel::default()
    };

    let coefficients = step.coefficients;
    let reflect = [T::of(1.0 - coefficients.c), T::of(coefficients.c)];
    let (mut sum, mut valid) = (0.0, 0.0);
    for (i, magnitude) in magnitudes.iter().enumerate() {
        let mut intensity = T::default();
        for mode in 0..window.layout.modes {
            let at = mode * pixels + i;
            let f = state[at].scale(reflect[0]) + scratch.model[at].scale(reflect[1]);
            intensity += f.norm_sqr();
        }
        let modelled = (intensity * scale2).sqrt();
        scratch.reflected[i] = modelled;
        if *magnitude >= 0.0 {
            let deviation = (modelled - T::of(f64::from(*magnitude))).wide();
            sum += deviation * deviation;
            valid += 1.0;
        }
    }
    let fourier = if valid > 0.0 { sum / valid } else { 0.0 };

    // From here on `reflected` holds the factor of the projection for each pixel.
    let kept = kept_deviation(fourier, step.bound);
    let kept_factor = T::of(kept);
    for (value, magnitude) in scratch.reflected.iter_mut().zip(magnitudes) {
        *value = if *magnitude < 0.0 || kept == 1.0 {
            T::of(1.0)
        } else {
            let (target, modelled) = (T::of(f64::from(*magnitude)), *value);
            (target + (modelled - target) * kept_factor) / (modelled + T::of(MAGNITUDE_FLOOR))
        };
    }

    let keep = T::of(coefficients.keep());
    let (a, b) = (T::of(coefficients.a), T::of(coefficients.b));
    let mut moved = 0.0;
    for mode in 0..window.layout.modes {
        let range = mode * pixels..(mode + 1) * pixels;
        let mut sum = 0.0;
        let model = &scratch.model[range.clone()];
        for (((psi, model), factor), spectrum) in state[range.clone()]
            .iter_mut()
            .zip(model)
            .zip(&scratch.reflected)
            .zip(&mut scratch.spectrum)
        {
            let reflected = psi.scale(reflect[0]) + model.scale(reflect[1]);
            let next = psi.scale(keep) + model.scale(a) + reflected.scale(b * *factor);
            sum += (next - *psi).norm_sqr().wide();
            *psi = next;
            *spectrum = next.scale(scale2);
        }
        moved += sum;
        fft.inverse(&mut scratch.spectrum, &mut exit[range], &mut scratch.fft);
    }
    // By Parseval's theorem the unnormalised transform has rows·columns times the power.
    FrameErrors {
        fourier,
        exit: moved * scale2.wide(),
        model,
    }
}

/// Fraction of the deviation that the projection keeps: 1 within the bound, √(bound/err) beyond it,
/// 0 without a bound.
fn kept_deviation(fourier: f64, bound: f64) -> f64 {
    if bound <= 0.0 {
        0.0
    } else if fourier <= bound {
        1.0
    } else {
        (bound / fourier).sqrt()
    }
}
