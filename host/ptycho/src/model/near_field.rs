//! Fresnel propagation of exit waves to a detector in the near field.
//!
//! The detector wave is D ψ = F⁻¹[K · F ψ] with the unitary discrete Fourier transform F and the
//! transfer function of free space
//!
//! ```text
//! K(f) = exp(2πi (z/λ) (√(1 − (λf)²) − 1)),  0 where λ|f| > 1
//! ```
//!
//! (angular spectrum without the plane wave's own phase: J. Goodman, Introduction to Fourier
//! Optics, section 3.10), z the effective distance and f the frequencies of the object's pixels.
//! Magnitudes have the frame's pixel (rows/2, columns/2) at (0, 0), as in the far field; the
//! factors below therefore have the phase ramp of that cyclic shift too.

mod misfit;

pub use misfit::NearFieldMisfit;
pub(crate) use misfit::small_steps;

use super::roll::roll;
use crate::data::Geometry;
use ndarray::Array2;
use num_complex::Complex;
use std::f64::consts::TAU;
use warpstride_fft::Fft2;

/// What the propagation to the near field depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearField {
    /// Wavelength, m.
    pub wavelength: f64,
    /// Effective distance z, m.
    pub distance: f64,
    /// Object pixel (row, column), m.
    pub pixel: [f64; 2],
}

impl NearField {
    /// That of a scan; `None` in the far field.
    #[must_use]
    pub fn of(geometry: &Geometry) -> Option<Self> {
        geometry.is_near_field().then(|| Self {
            wavelength: geometry.wavelength,
            distance: geometry.effective_distance(),
            // The pixel does not depend on the size of the frames.
            pixel: geometry.object_pixel(1, 1),
        })
    }

    /// The transfer function K of an array of `rows` × `columns` (row, column), zero frequency at
    /// (0, 0).
    #[must_use]
    pub fn transfer(&self, rows: usize, columns: usize) -> Array2<Complex<f64>> {
        let turns = self.distance / self.wavelength;
        let square = |k: usize, n: usize, pixel: f64| {
            let signed = k.min(n - k) as f64;
            (self.wavelength * signed / (n as f64 * pixel)).powi(2)
        };
        Array2::from_shape_fn((rows, columns), |(row, column)| {
            let sine = square(row, rows, self.pixel[0]) + square(column, columns, self.pixel[1]);
            if sine > 1.0 {
                return Complex::default();
            }
            // √(1 − s) − 1 without cancellation.
            Complex::cis(-TAU * turns * sine / (1.0 + (1.0 - sine).sqrt()))
        })
    }

    /// K (row, column) times the phase ramp that moves pixel (rows/2, columns/2) of the detector
    /// wave to (0, 0).
    pub(crate) fn factors(&self, [rows, columns]: [usize; 2]) -> Vec<Complex<f64>> {
        let ramp = |n: usize| -> Vec<Complex<f64>> {
            // The phase in turns, reduced exactly in integers.
            (0..n)
                .map(|k| Complex::cis(TAU * (k * (n / 2) % n) as f64 / n as f64))
                .collect()
        };
        let (down, across) = (ramp(rows), ramp(columns));
        let transfer = self.transfer(rows, columns);
        let factor =
            |((row, column), k): ((usize, usize), &Complex<f64>)| k * down[row] * across[column];
        transfer.indexed_iter().map(factor).collect()
    }

    /// The wave at the specimen (row, column) whose detector wave is `frame`, with the detector's
    /// pixels in their places.
    pub(crate) fn at_specimen(&self, frame: &Array2<Complex<f64>>) -> Array2<Complex<f64>> {
        let (rows, columns) = frame.dim();
        let mut wave = roll(frame, rows - rows / 2, columns - columns / 2);
        let mut propagator = Propagator::new([rows, columns], Some(self));
        if let Some(values) = wave.as_slice_mut() {
            propagator.propagate_to_specimen(values);
        }
        wave
    }
}

/// The unitary transform of waves (row, column) to the detector and back, in double precision; the
/// detector's pixel (rows/2, columns/2) is at (0, 0).
pub(crate) struct Propagator {
    shape: [usize; 2],
    fft: Fft2<f64>,
    /// K with the shift (row, column); `None` in the far field.
    factors: Option<Vec<Complex<f64>>>,
}

impl Propagator {
    /// Plans for waves of `shape` (rows, columns), to the far field without `near_field`.
    pub(crate) fn new(shape: [usize; 2], near_field: Option<&NearField>) -> Self {
        Self {
            shape,
            fft: Fft2::new(shape[0], shape[1]),
            factors: near_field.map(|near| near.factors(shape)),
        }
    }

    /// Propagates a wave to the detector, in place. In the near field it is first shifted back by
    /// `fraction` (rows, columns), pixels: that of the frame whose probe is shifted by as much,
    /// otherwise 0.
    pub(crate) fn propagate_to_detector(&mut self, wave: &mut [Complex<f64>], fraction: [f64; 2]) {
        self.fft.forward(wave);
        if let Some(factors) = &self.factors {
            wave.iter_mut().zip(factors).for_each(|(v, k)| *v *= k);
            if fraction != [0.0; 2] {
                let [rows, columns] = self.shape;
                let [down, across] = [ramp(rows, -fraction[0]), ramp(columns, -fraction[1])];
                for (i, v) in wave.iter_mut().enumerate() {
                    *v *= down[i / columns] * across[i % columns];
                }
            }
            self.fft.inverse(wave);
        }
    }

    /// Propagates a wave from the detector to the specimen, in place.
    pub(crate) fn propagate_to_specimen(&mut self, wave: &mut [Complex<f64>]) {
        if let Some(factors) = &self.factors {
            self.fft.forward(wave);
            (wave.iter_mut().zip(factors)).for_each(|(v, k)| *v *= k.conj());
        }
        self.fft.inverse(wave);
    }
}

/// exp(−2πi k·shift/n) for the signed frequencies k of `n` values, zero frequency first; n/2 counts
/// as −n/2.
pub(crate) fn ramp(n: usize, shift: f64) -> Vec<Complex<f64>> {
    let signed = |k: usize| {
        if 2 * k < n {
            k as f64
        } else {
            k as f64 - n as f64
        }
    };
    (0..n)
        .map(|k| Complex::cis(-TAU * signed(k) * shift / n as f64))
        .collect()
}

#[cfg(test)]
mod engines;
#[cfg(test)]
mod fractions;
#[cfg(test)]
mod tests;
