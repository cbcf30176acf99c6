//! The exit-wave update in Fourier space: reflect, project onto the data, combine.
//!
//! The state is Ψ = F ψ, with F the propagation to the detector, in the far field a Fourier
//! transform. As F is linear, F[(1−c) ψ + c P·O] = (1−c) Ψ + c F[P·O] and Ψ ← (1−a−b) Ψ + a F[P·O] +
//! b Π[…]. This needs one forward transform of P·O and one inverse transform of Ψ, and also yields |F[P·O]|²
//! for err_phot and R.
//!
//! The arrays of one frame stay in the L2 cache during its step: P·O and its spectrum, Ψ, the
//! magnitudes and those of the reflected wave, 3 times 8 and 2 times 4 bytes per pixel in single
//! precision.

use crate::engines::cpu::arrays::simd::{PixelLoop, lanes, vectorised, wide_sum};
use crate::engines::cpu::arrays::window::{Layout, Window};
use crate::engines::cpu::model::model_deviation::FrameModel;
use crate::engines::cpu::model::model_deviation::{
    MODEL_SUMS, ModelSums, frame_model, intensities,
};
use crate::engines::cpu::model::propagation::Propagator;
use crate::{Coefficients, MAGNITUDE_FLOOR, Step};
use num_complex::Complex;
use warpstride_fft::{FftScratch, Real, TransposedFft2};

/// Scratch memory of one thread.
#[derive(Default)]
pub(in crate::engines::cpu) struct Scratch<T> {
    /// P·O of one mode, or work memory of the inverse transform (row, column).
    wave: Vec<Complex<T>>,
    /// Unnormalised transforms of P·O (mode, column, row); then those of the new exit waves, scaled
    /// for the inverse transform.
    pub(in crate::engines::cpu) model: Vec<Complex<T>>,
    /// Magnitude of the reflected wave (column, row).
    reflected: Vec<T>,
    fft: FftScratch<T>,
}

impl<T: Real> Scratch<T> {
    pub(in crate::engines::cpu) fn new(layout: &Layout, fft: &TransposedFft2<T>) -> Self {
        let pixels = layout.pixels();
        Self {
            wave: vec![Complex::default(); pixels],
            model: vec![Complex::default(); layout.waves() * pixels],
            reflected: vec![T::default(); pixels],
            fft: fft.scratch(),
        }
    }

    /// Writes the waves whose scaled spectra are in `self.model` to `exit` (mode, row, column).
    pub(in crate::engines::cpu) fn transform_back(
        &mut self,
        window: &Window<'_, T>,
        propagator: &Propagator<T>,
        exit: &mut [Complex<T>],
    ) {
        let pixels = window.layout.pixels();
        let spectra = self.model.chunks_exact_mut(pixels);
        for (n, (spectrum, exit)) in spectra.zip(exit.chunks_exact_mut(pixels)).enumerate() {
            let (wave, fraction) = (&mut self.wave, window.shift(n));
            propagator.inverse_in_order(spectrum, wave, exit, fraction, &mut self.fft);
        }
    }
}

/// Errors of one frame.
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(in crate::engines::cpu) struct FrameErrors {
    /// Σ w (af − √I)² / Σ w of the reflected wave.
    pub(in crate::engines::cpu) fourier: f64,
    /// Σ |Δψ|² over modes and pixels.
    pub(in crate::engines::cpu) exit: f64,
    /// Errors of the model P·O; zero if the step does not ask for them.
    pub(in crate::engines::cpu) model: FrameModel,
}

/// Writes the unnormalised transforms of P·O of all modes to `scratch.model`.
pub(in crate::engines::cpu) fn model_spectra<T: Real>(
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

/// What a step does to a frame.
#[derive(Clone, Copy)]
pub(in crate::engines::cpu) struct FrameStep {
    pub(in crate::engines::cpu) coefficients: Coefficients,
    /// Power bound, counts; 0 if off.
    pub(in crate::engines::cpu) bound: f64,
    /// Whether the errors of the model are wanted.
    pub(in crate::engines::cpu) metrics: bool,
}

impl FrameStep {
    pub(in crate::engines::cpu) fn new(step: &Step) -> Self {
        Self {
            coefficients: step.coefficients,
            bound: step.bound,
            metrics: step.metrics.start,
        }
    }
}

/// One step of one frame. `state` is Ψ, unnormalised transforms (mode, column, row); ψ (mode, row,
/// column) is written to `exit`; `magnitudes` is (column, row), negative where masked or
/// free.
pub(in crate::engines::cpu) fn step_frame<T: Real>(
    window: &Window<'_, T>,
    (state, exit): (&mut [Complex<T>], &mut [Complex<T>]),
    magnitudes: &[f32],
    step: FrameStep,
    propagator: &Propagator<T>,
    scratch: &mut Scratch<T>,
) -> FrameErrors {
    let scale2 = propagator.scale() * propagator.scale();
    model_spectra(window, propagator, scratch);
    let coefficients = step.coefficients;
    let reflect = [1.0 - coefficients.c, coefficients.c].map(T::of);
    let [deviation, model @ ..] = vectorised(Reflect {
        state,
        model: &scratch.model,
        magnitudes,
        reflect,
        scale2,
        metrics: step.metrics,
        reflected: &mut scratch.reflected,
    });
    let valid = model[MODEL_SUMS - 1];
    let fourier = if valid > 0.0 { deviation / valid } else { 0.0 };
    let kept = kept_deviation(fourier, step.bound);
    let [moved] = vectorised(Combine {
        state,
        model: &mut scratch.model,
        magnitudes,
        reflected: &scratch.reflected,
        kept: (kept != 1.0).then_some(T::of(kept)),
        weights: [coefficients.keep(), coefficients.a, coefficients.b].map(T::of),
        reflect,
        scale2,
    });
    scratch.transform_back(window, propagator, exit);
    // By Parseval's theorem the unnormalised transform has rows·columns times the power.
    FrameErrors {
        fourier,
        exit: moved * scale2.wide(),
        model: frame_model(model),
    }
}

/// Fraction of the deviation that the projection keeps: 1 within the bound, √(bound/err) beyond it,
/// 0 without a bound.
pub(in crate::engines::cpu) fn kept_deviation(fourier: f64, bound: f64) -> f64 {
    if bound <= 0.0 {
        0.0
    } else if fourier <= bound {
        1.0
    } else {
        (bound / fourier).sqrt()
    }
}

/// Magnitudes of the reflected wave, their deviation Σ w (af − √I)², and the sums of the model.
struct Reflect<'a, T> {
    state: &'a [Complex<T>],
    model: &'a [Complex<T>],
    magnitudes: &'a [f32],
    /// Weights of Ψ and of the model.
    reflect: [T; 2],
    /// Square of the unitary scale.
    scale2: T,
    /// Whether the sums of the model are wanted; otherwise only the pixels are counted.
    metrics: bool,
    reflected: &'a mut [T],
}

impl<T: Real> PixelLoop<{ 1 + MODEL_SUMS }> for Reflect<'_, T> {
    #[inline(always)]
    fn pixels<const N: usize>(&mut self, start: usize, end: usize) -> [f64; 1 + MODEL_SUMS] {
        let pixels = self.magnitudes.len();
        let modes = self.model.len() / pixels;
        let [of_state, of_model] = self.reflect;
        let mut deviations = [T::zero(); N];
        let mut sums = ModelSums::<T, N>::new();
        for at in (start..end).step_by(N) {
            let magnitudes = lanes::<_, N>(self.magnitudes, at);
            if self.metrics {
                let modelled = intensities::<T, N>(self.model, [modes, pixels], at, self.scale2);
                sums.add(&modelled, &magnitudes);
            } else {
                sums.count(&magnitudes);
            }
            let mut reflected = [T::zero(); N];
            for mode in 0..modes {
                let in_mode = mode * pixels + at;
                let state = lanes::<_, N>(self.state, in_mode);
                let model = lanes::<_, N>(self.model, in_mode);
                for lane in 0..N {
                    let f = state[lane].scale(of_state) + model[lane].scale(of_model);
                    reflected[lane] += f.norm_sqr();
                }
            }
            for lane in 0..N {
                reflected[lane] = (reflected[lane] * self.scale2).sqrt();
                let deviation = reflected[lane] - T::of(f64::from(magnitudes[lane]));
                deviations[lane] += if magnitudes[lane] >= 0.0 {
                    deviation * deviation
                } else {
                    T::zero()
                };
            }
            self.reflected[at..at + N].copy_from_slice(&reflected);
        }
        let [photon, residual, free, valid] = sums.total();
        [wide_sum(&deviations), photon, residual, free, valid]
    }
}

impl<T: Real> pulp::NullaryFnOnce for Reflect<'_, T> {
    type Output = [f64; 1 + MODEL_SUMS];

    #[inline(always)]
    fn call(mut self) -> Self::Output {
        self.all(self.magnitudes.len())
    }
}

/// Ψ ← (1−a−b) Ψ + a A + b g [(1−c) Ψ + c A]; returns Σ|ΔΨ|².
struct Combine<'a, T> {
    state: &'a mut [Complex<T>],
    /// A; receives the new Ψ, scaled for the inverse transform.
    model: &'a mut [Complex<T>],
    magnitudes: &'a [f32],
    reflected: &'a [T],
    /// Fraction of the deviation that the projection keeps; `None`: all of it, so g = 1.
    kept: Option<T>,
    /// 1−a−b, a and b.
    weights: [T; 3],
    /// Weights of Ψ and of the model.
    reflect: [T; 2],
    scale2: T,
}

impl<T: Real> PixelLoop<1> for Combine<'_, T> {
    #[inline(always)]
    fn pixels<const N: usize>(&mut self, start: usize, end: usize) -> [f64; 1] {
        let pixels = self.magnitudes.len();
        let modes = self.model.len() / pixels;
        let [keep, a, b] = self.weights;
        let [of_state, of_model] = self.reflect;
        let mut moved = [T::zero(); N];
        for at in (start..end).step_by(N) {
            let mut factors = [b; N];
            if let Some(kept) = self.kept {
                let magnitudes = lanes::<_, N>(self.magnitudes, at);
                let reflected = lanes::<_, N>(self.reflected, at);
                for lane in 0..N {
                    let target = T::of(f64::from(magnitudes[lane]));
                    let projected = target + (reflected[lane] - target) * kept;
                    let g = projected / (reflected[lane] + T::of(MAGNITUDE_FLOOR));
                    factors[lane] = if magnitudes[lane] < 0.0 { b } else { b * g };
                }
            }
            for mode in 0..modes {
                let in_mode = mode * pixels + at;
                let state = &mut self.state[in_mode..in_mode + N];
                let model = &mut self.model[in_mode..in_mode + N];
                for lane in 0..N {
                    let (psi, of_object) = (state[lane], model[lane]);
                    let reflected = psi.scale(of_state) + of_object.scale(of_model);
                    let next =
                        psi.scale(keep) + of_object.scale(a) + reflected.scale(factors[lane]);
                    moved[lane] += (next - psi).norm_sqr();
                    state[lane] = next;
                    model[lane] = next.scale(self.scale2);
                }
            }
        }
        [wide_sum(&moved)]
    }
}

impl<T: Real> pulp::NullaryFnOnce for Combine<'_, T> {
    type Output = [f64; 1];

    #[inline(always)]
    fn call(mut self) -> Self::Output {
        self.all(self.magnitudes.len())
    }
}

#[cfg(test)]
mod tests;
