//! The step of a projection engine with a detector that blurs or has a background.
//!
//! With the intensity I_r = G ∗ Σ|f|² + b of the reflected waves f, e = Σ w (√I_r − a)²/Σ w (a =
//! √I, or the amplitude corrected for the background), and k as without a detector (1 within the
//! power bound, √(bound/e) beyond it, 0 without one), f ← f · (1 + (1 − k) G ∗ [w (a/√I_r − 1)]),
//! whose factor is never negative, as G is not.

use super::CpuDetector;
use crate::MAGNITUDE_FLOOR;
use crate::engines::cpu::arrays::window::Window;
use crate::engines::cpu::model::model_deviation::FrameModel;
use crate::engines::cpu::model::propagation::Propagator;
use crate::engines::cpu::projections::fourier_projection::{
    FrameErrors, FrameStep, Scratch, kept_deviation, model_spectra,
};
use num_complex::Complex;
use warpstride_fft::Real;

/// One step of one frame, as [`crate::engines::cpu::projections::fourier_projection::step_frame`].
pub(in crate::engines::cpu) fn step_frame<T: Real>(
    window: &Window<'_, T>,
    (state, exit): (&mut [Complex<T>], &mut [Complex<T>]),
    magnitudes: &[f32],
    step: FrameStep,
    (propagator, detector): (&Propagator<T>, &CpuDetector<T>),
    scratch: &mut Scratch<T>,
) -> FrameErrors {
    let pixels = window.layout.pixels();
    let scale2 = propagator.scale() * propagator.scale();
    model_spectra(window, propagator, scratch);
    let mut measured = vec![T::default(); pixels];
    let model = if step.metrics {
        detector
            .compare(&scratch.model, magnitudes, scale2, &mut measured)
            .0
    } else {
        FrameModel::default()
    };
    let coefficients = step.coefficients;
    let [of_state, of_model] = [1.0 - coefficients.c, coefficients.c].map(T::of);
    measured.fill(T::default());
    for (state, model) in (state.chunks_exact(pixels)).zip(scratch.model.chunks_exact(pixels)) {
        for ((sum, psi), a) in measured.iter_mut().zip(state).zip(model) {
            *sum += (psi.scale(of_state) + a.scale(of_model)).norm_sqr() * scale2;
        }
    }
    detector.measure(&mut measured);
    let (mut deviations, mut valid) = (0.0, 0.0);
    for (pixel, (value, magnitude)) in measured.iter_mut().zip(magnitudes).enumerate() {
        if *magnitude < 0.0 {
            *value = T::default();
            continue;
        }
        let (root, target) = (value.wide().sqrt(), detector.amplitude(pixel, *magnitude));
        deviations += (root - target).powi(2);
        valid += 1.0;
        *value = T::of((target - root) / (root + MAGNITUDE_FLOOR));
    }
    let fourier = if valid > 0.0 { deviations / valid } else { 0.0 };
    let kept = kept_deviation(fourier, step.bound);
    detector.blur(&mut measured);
    let changed = T::of(1.0 - kept);
    let [keep, a, b] = [coefficients.keep(), coefficients.a, coefficients.b].map(T::of);
    let mut moved = 0.0;
    for (state, model) in
        (state.chunks_exact_mut(pixels)).zip(scratch.model.chunks_exact_mut(pixels))
    {
        for ((psi, model), change) in state.iter_mut().zip(model).zip(&measured) {
            let reflected = psi.scale(of_state) + model.scale(of_model);
            let factor = b * (T::one() + changed * *change);
            let next = psi.scale(keep) + model.scale(a) + reflected.scale(factor);
            moved += (next - *psi).norm_sqr().wide();
            *psi = next;
            *model = next.scale(scale2);
        }
    }
    scratch.transform_back(window, propagator, exit);
    FrameErrors {
        fourier,
        exit: moved * scale2.wide(),
        model,
    }
}
