//! One engine step on the exit waves: reflect, transform, project on the data, transform back,
//! combine.

use super::engine::{Layout, Window};
use crate::fft::{FftScratch, Real, TransposedFft2};
use crate::ptycho::{Coefficients, MAGNITUDE_FLOOR};
use num_complex::Complex;

/// Buffers of one thread.
pub(super) struct Scratch<T> {
    /// (row, column)
    wave: Vec<Complex<T>>,
    /// (mode, column, row)
    spectra: Vec<Complex<T>>,
    /// (column, row)
    pub(super) intensity: Vec<T>,
    fft: FftScratch<T>,
}

impl<T: Real> Scratch<T> {
    pub(super) fn new(layout: &Layout, fft: &TransposedFft2<T>) -> Self {
        Self {
            wave: vec![Complex::default(); layout.pixels()],
            spectra: vec![Complex::default(); layout.modes * layout.pixels()],
            intensity: vec![T::default(); layout.pixels()],
            fft: fft.scratch(),
        }
    }
}

/// Figures of one frame.
#[derive(Clone, Copy, Default)]
pub(super) struct FrameErrors {
    /// Σ w (af − √I)² / Σ w.
    pub(super) fourier: f64,
    /// Σ |Δψ|² over modes and pixels.
    pub(super) exit: f64,
}

/// Transforms c_po·P·O + c_psi·ψ of every mode into `scratch.spectra`, and Σ|·|² over the modes,
/// unitary, into `scratch.intensity`, (column, row).
pub(super) fn model_spectra<T: Real>(
    window: &Window<'_, T>,
    exit: Option<&[Complex<T>]>,
    [c_po, c_psi]: [T; 2],
    fft: &TransposedFft2<T>,
    scratch: &mut Scratch<T>,
) {
    let pixels = window.layout.pixels();
    let scale2 = fft.scale() * fft.scale();
    scratch.intensity.fill(T::default());
    for mode in 0..window.layout.modes {
        window.for_each_product(mode, |i, product| {
            scratch.wave[i] = match exit {
                Some(psi) => product.scale(c_po) + psi[mode * pixels + i].scale(c_psi),
                None => product.scale(c_po),
            };
        });
        let spectrum = &mut scratch.spectra[mode * pixels..(mode + 1) * pixels];
        fft.forward(&mut scratch.wave, spectrum, &mut scratch.fft);
        for (sum, f) in scratch.intensity.iter_mut().zip(spectrum.iter()) {
            *sum += f.norm_sqr() * scale2;
        }
    }
}

/// ψ ← (1−a−b) ψ + a P·O + b F⁻¹ Π F[(1−c) ψ + c P·O] for one frame. `exit`: (mode, row, column);
/// `magnitudes`: (column, row), −1 where masked.
pub(super) fn project_frame<T: Real>(
    window: &Window<'_, T>,
    exit: &mut [Complex<T>],
    magnitudes: &[f32],
    coefficients: Coefficients,
    bound: f64,
    fft: &TransposedFft2<T>,
    scratch: &mut Scratch<T>,
) -> FrameErrors {
    let pixels = window.layout.pixels();
    let c = coefficients.c;
    model_spectra(window, Some(exit), [T::of(c), T::of(1.0 - c)], fft, scratch);

    let (mut sum, mut valid) = (0.0, 0.0);
    for (value, magnitude) in scratch.intensity.iter_mut().zip(magnitudes) {
        let modelled = value.sqrt();
        *value = modelled;
        if *magnitude >= 0.0 {
            let deviation = (modelled - T::of(f64::from(*magnitude))).wide();
            sum += deviation * deviation;
            valid += 1.0;
        }
    }
    let fourier = if valid > 0.0 { sum / valid } else { 0.0 };
    let approach = approach(fourier, bound);

    // From here `intensity` holds the factor for each pixel of the spectrum, both scales included.
    let scale2 = fft.scale() * fft.scale();
    let keep = T::of(approach);
    for (value, magnitude) in scratch.intensity.iter_mut().zip(magnitudes) {
        *value = if *magnitude < 0.0 || approach == 1.0 {
            scale2
        } else {
            let target = T::of(f64::from(*magnitude));
            let modelled = *value;
            (target + (modelled - target) * keep) / (modelled + T::of(MAGNITUDE_FLOOR)) * scale2
        };
    }

    let keep_psi = T::of(coefficients.keep());
    let (a, b) = (T::of(coefficients.a), T::of(coefficients.b));
    let mut moved = 0.0;
    for mode in 0..window.layout.modes {
        let spectrum = &mut scratch.spectra[mode * pixels..(mode + 1) * pixels];
        for (f, factor) in spectrum.iter_mut().zip(&scratch.intensity) {
            *f = f.scale(*factor);
        }
        fft.inverse(spectrum, &mut scratch.wave, &mut scratch.fft);
        let psi = &mut exit[mode * pixels..(mode + 1) * pixels];
        let wave = &scratch.wave;
        let mut sum = 0.0;
        window.for_each_product(mode, |i, product| {
            let next = psi[i].scale(keep_psi) + product.scale(a) + wave[i].scale(b);
            sum += (next - psi[i]).norm_sqr().wide();
            psi[i] = next;
        });
        moved += sum;
    }
    FrameErrors { fourier, exit: moved }
}

/// How much of a deviation is kept: 1 within the bound, √(bound/err) beyond, 0 without a bound.
pub(super) fn approach(fourier: f64, bound: f64) -> f64 {
    if bound <= 0.0 {
        0.0
    } else if fourier <= bound {
        1.0
    } else {
        (bound / fourier).sqrt()
    }
}
