//! The detector's model on the CPU: G ∗ S + b of a frame, and what it needs beside it; see
//! [`crate::Detector`].

mod projection;
mod sums;
#[cfg(test)]
mod tests;

use super::model_deviation;
use super::model_deviation::FrameModel;
use crate::engines::engine::EngineState;
use crate::model::detector::{Detector, Kernel, root_correction, updated};
use crate::model::detector::{save_background, saved_background};
use crate::session::recipe::BackgroundFit;
use crate::{EngineError, MAGNITUDE_FLOOR, Noise, Step};
use ndarray::Array2;
use num_complex::Complex;
use warpstride_fft::Real;

pub(in crate::engines::cpu) use projection::step_frame;
pub(in crate::engines::cpu) use sums::PixelSums;

/// The detector of an engine. Arrays of pixels are (column, row), zero frequency at (0, 0).
pub(in crate::engines::cpu) struct CpuDetector<T> {
    /// Rows and columns.
    shape: [usize; 2],
    /// Weights along rows' direction and columns' direction, in the order of values; none without
    /// blur.
    kernels: Option<[AxisKernel<T>; 2]>,
    /// Photons.
    background: Vec<T>,
    has_background: bool,
    fit: BackgroundFit,
    from: usize,
    floor: f64,
    blur: [f64; 2],
    /// Sums of the present iteration, if the background is fitted.
    sums: Option<PixelSums>,
}

struct AxisKernel<T> {
    before: usize,
    weights: Vec<T>,
}

impl<T: Real> AxisKernel<T> {
    fn new(of: Kernel) -> Self {
        Self {
            before: of.before,
            weights: of.weights.into_iter().map(T::of).collect(),
        }
    }
}

impl<T: Real> CpuDetector<T> {
    pub(in crate::engines::cpu) fn new(of: &Detector) -> Self {
        let (rows, columns) = of.background.dim();
        let background = of.background.t();
        Self {
            shape: [rows, columns],
            kernels: of.kernels().map(|kernels| kernels.map(AxisKernel::new)),
            background: background.iter().map(|b| T::of(*b)).collect(),
            has_background: of.has_background,
            fit: of.fit,
            from: of.from,
            floor: of.floor,
            blur: of.blur,
            sums: None,
        }
    }

    /// S becomes G ∗ S + b.
    pub(in crate::engines::cpu) fn measure(&self, intensities: &mut [T]) {
        self.blur(intensities);
        if self.has_background {
            for (value, b) in intensities.iter_mut().zip(&self.background) {
                *value += *b;
            }
        }
    }

    /// G ∗ `values`.
    pub(in crate::engines::cpu) fn blur(&self, values: &mut [T]) {
        let Some([along_rows, along_columns]) = &self.kernels else {
            return;
        };
        let [rows, columns] = self.shape;
        // Along rows' direction values are neighbours.
        if along_rows.weights.len() > 1 {
            let reach = along_rows.weights.len() - 1;
            let mut line = vec![T::default(); rows + reach];
            for values in values.chunks_exact_mut(rows) {
                for (i, to) in line.iter_mut().enumerate() {
                    *to = values[(i + rows - along_rows.before) % rows];
                }
                values.fill(T::default());
                for (k, weight) in along_rows.weights.iter().enumerate() {
                    for (to, from) in values.iter_mut().zip(&line[k..]) {
                        *to += *weight * *from;
                    }
                }
            }
        }
        if along_columns.weights.len() > 1 {
            let from = values.to_vec();
            for (column, to) in values.chunks_exact_mut(rows).enumerate() {
                to.fill(T::default());
                for (k, weight) in along_columns.weights.iter().enumerate() {
                    let other = (column + k + columns - along_columns.before) % columns;
                    for (to, from) in to.iter_mut().zip(&from[other * rows..]) {
                        *to += *weight * *from;
                    }
                }
            }
        }
    }

    /// The amplitude with which that of the model is compared: √(I + min(1, b)/4) where there is a
    /// background.
    #[inline]
    pub(in crate::engines::cpu) fn amplitude(&self, pixel: usize, magnitude: f32) -> f64 {
        let magnitude = f64::from(magnitude);
        if !self.has_background {
            return magnitude;
        }
        let correction = root_correction(self.background[pixel].wide());
        (magnitude * magnitude + correction).sqrt()
    }

    /// Photons of the background in a pixel.
    pub(in crate::engines::cpu) fn background_at(&self, pixel: usize) -> T {
        self.background[pixel]
    }

    /// Writes the measured intensities G ∗ `scale` Σ|f|² + b of `spectra` (mode, column, row) to
    /// `intensities`, and returns the deviations from `magnitudes` and Σ w (√I_model − √I)²/Σ w.
    pub(in crate::engines::cpu) fn compare(
        &self,
        spectra: &[Complex<T>],
        magnitudes: &[f32],
        scale: T,
        intensities: &mut [T],
    ) -> (FrameModel, f64) {
        model_deviation::write_intensities(spectra, scale, intensities);
        self.measure(intensities);
        model_deviation::compare_measured(intensities, magnitudes)
    }

    /// Replaces measured intensities of the model by `scale` times the factors w (a/√I_model − 1)
    /// on the waves f, for engines by mini-batches. The factors of the gradient are blurred, G ∗ [w
    /// (a/√I_model − 1)]; those without it are preconditioned by G⁻¹, which G allows, as its
    /// Fourier transform is positive but for rounding, and take fewer iterations.
    pub(in crate::engines::cpu) fn factors(
        &self,
        magnitudes: &[f32],
        scale: T,
        measured: &mut [T],
    ) {
        for (pixel, (value, magnitude)) in measured.iter_mut().zip(magnitudes).enumerate() {
            *value = if *magnitude < 0.0 {
                T::default()
            } else {
                let target = T::of(self.amplitude(pixel, *magnitude));
                let modelled = value.sqrt();
                (target - modelled) / (modelled + T::of(MAGNITUDE_FLOOR)) * scale
            };
        }
    }

    /// What the loss of a `noise` compares with the model: the root of the counts, of amplitudes
    /// corrected for the background.
    #[inline]
    pub(in crate::engines::cpu) fn root(&self, noise: Noise, pixel: usize, magnitude: f32) -> f64 {
        match noise {
            Noise::Amplitude => self.amplitude(pixel, magnitude),
            Noise::Gaussian | Noise::Poisson => f64::from(magnitude),
        }
    }

    /// Whether the iteration updates the background.
    pub(in crate::engines::cpu) fn updates_in(&self, step: &Step) -> bool {
        self.fit != BackgroundFit::Off && !step.is_projection() && step.iteration >= self.from
    }

    /// Adds sums of frames to those of the iteration.
    pub(in crate::engines::cpu) fn add(&mut self, found: PixelSums) {
        match &mut self.sums {
            Some(sums) => sums.add(&found),
            sums => *sums = Some(found),
        }
    }

    /// No sums of frames yet.
    pub(in crate::engines::cpu) fn no_sums(&self) -> PixelSums {
        PixelSums::zeros(self.background.len(), self.floor)
    }

    /// Updates the background from the sums of the iteration, if there are any.
    pub(in crate::engines::cpu) fn update(&mut self) {
        let Some(sums) = self.sums.take() else {
            return;
        };
        let shape = self.shape;
        let (present, sums) = (self.in_rows(), transposed(&sums.of_pixels, shape));
        let next = updated(
            self.fit,
            shape,
            present.as_slice().unwrap_or_default(),
            &sums,
        );
        self.set(&next);
    }

    /// Sets the background (row, column).
    fn set(&mut self, background: &[f64]) {
        let [rows, columns] = self.shape;
        for column in 0..columns {
            for row in 0..rows {
                self.background[column * rows + row] = T::of(background[row * columns + column]);
            }
        }
    }

    /// The background (row, column), zero frequency at (0, 0).
    pub(in crate::engines::cpu) fn in_rows(&self) -> Array2<f64> {
        let [rows, columns] = self.shape;
        Array2::from_shape_fn((rows, columns), |(row, column)| {
            self.background[column * rows + row].wide()
        })
    }

    /// Standard deviations of the blur (row direction, column direction), pixels.
    pub(in crate::engines::cpu) fn sigmas(&self) -> [f64; 2] {
        self.blur
    }

    /// Whether there is a background.
    pub(in crate::engines::cpu) fn has_background(&self) -> bool {
        self.has_background
    }

    /// Adds the background to `state`.
    pub(in crate::engines::cpu) fn save(&self, state: &mut EngineState) {
        if self.fit != BackgroundFit::Off {
            save_background(&self.in_rows(), state);
        }
    }

    /// Takes the background of `state`, if it has one.
    pub(in crate::engines::cpu) fn restore(
        &mut self,
        state: &EngineState,
    ) -> Result<(), EngineError> {
        if let Some(background) = saved_background(state, self.background.len())? {
            self.set(&background);
        }
        self.sums = None;
        Ok(())
    }
}

/// (column, row) as (row, column).
fn transposed<V: Copy>(values: &[V], [rows, columns]: [usize; 2]) -> Vec<V> {
    (0..rows * columns)
        .map(|i| values[i % columns * rows + i / columns])
        .collect()
}
