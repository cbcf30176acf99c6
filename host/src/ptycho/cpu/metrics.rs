//! err_phot and R, from the intensity of P·O.

use super::engine::Window;
use super::fourier_projection::{Scratch, model_spectra};
use crate::fft::{Real, TransposedFft2};

/// Sums of one frame.
#[derive(Clone, Copy, Default)]
pub(super) struct FrameMetrics {
    /// Σ w (I_model − I)²/(I+1) / Σ w.
    pub(super) photon: f64,
    /// Σ w (√I_model − √I)².
    pub(super) residual: f64,
}

/// One frame against its `magnitudes` (column, row), −1 where masked.
pub(super) fn frame_metrics<T: Real>(
    window: &Window<'_, T>,
    magnitudes: &[f32],
    fft: &TransposedFft2<T>,
    scratch: &mut Scratch<T>,
) -> FrameMetrics {
    model_spectra(window, None, [T::of(1.0), T::default()], fft, scratch);
    let (mut photon, mut residual, mut valid) = (0.0, 0.0, 0.0);
    for (model, magnitude) in scratch.intensity.iter().zip(magnitudes) {
        if *magnitude >= 0.0 {
            let (model, magnitude) = (model.wide(), f64::from(*magnitude));
            let counts = magnitude * magnitude;
            photon += (model - counts).powi(2) / (counts + 1.0);
            residual += (model.sqrt() - magnitude).powi(2);
            valid += 1.0;
        }
    }
    let photon = if valid > 0.0 { photon / valid } else { 0.0 };
    FrameMetrics { photon, residual }
}
