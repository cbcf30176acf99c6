//! Propagation of exit waves to the detector and back: a Fourier transform for far fields, and
//! Fresnel propagation for near fields.
//!
//! Both are unitary but for the scale 1/√(rows · columns), which [`Propagator::scale`] has and
//! callers apply. Detector waves are transposed, (column, row), and have the frame's pixel (rows/2,
//! columns/2) at (0, 0). Transforms that shift probes by fractions of a pixel, or that limit their
//! spectra, are plain Fourier transforms.
//!
//! A frame whose position has the fraction f has the product of its shifted probe and the object,
//! S_f\[P\]·O: the exit wave, moved by f. The far field's intensities do not depend on that, but
//! the near field's do: the beam stays where it is, and the object moves. There the wave is shifted
//! back by S_−f, of which the propagation is a product in Fourier space.

use super::shift::{Ramps, frequency};
use crate::NearField;
use num_complex::Complex;
use std::f64::consts::TAU;
use warpstride_fft::{FftScratch, Real, TransposedFft2};

/// Propagates waves of one size.
pub(in crate::engines::cpu) struct Propagator<T: Real> {
    fft: TransposedFft2<T>,
    near: Option<Near<T>>,
}

struct Near<T> {
    rows: usize,
    columns: usize,
    /// The transfer function with the shift to (0, 0), times 1/√(rows · columns) (column, row).
    factors: Vec<Complex<T>>,
}

impl<T: Real> Propagator<T> {
    /// Propagates by the transforms of `fft` for `shape` (rows, columns); to the far field without
    /// `near_field`.
    pub(in crate::engines::cpu) fn new(
        fft: TransposedFft2<T>,
        [rows, columns]: [usize; 2],
        near_field: Option<&NearField>,
    ) -> Self {
        let near = near_field.map(|near| {
            let of_rows = near.factors([rows, columns]);
            let scale = 1.0 / ((rows * columns) as f64).sqrt();
            let narrow = |v: Complex<f64>| Complex::new(T::of(v.re * scale), T::of(v.im * scale));
            let mut factors = vec![Complex::default(); of_rows.len()];
            let of_rows: Vec<_> = of_rows.into_iter().map(narrow).collect();
            warpstride_fft::transpose(&of_rows, &mut factors, columns, rows);
            Near {
                rows,
                columns,
                factors,
            }
        });
        Self { fft, near }
    }

    /// Scale 1/√(rows · columns), which makes either direction unitary.
    pub(in crate::engines::cpu) fn scale(&self) -> T {
        self.fft.scale()
    }

    /// Propagates `wave` (row, column), S_f\[P\]·O of a frame with the fraction f of a pixel (rows,
    /// columns), to `at_detector` (column, row), unnormalised; overwrites `wave`.
    pub(in crate::engines::cpu) fn forward(
        &self,
        wave: &mut [Complex<T>],
        at_detector: &mut [Complex<T>],
        fraction: [f64; 2],
        scratch: &mut FftScratch<T>,
    ) {
        self.fft.forward(wave, at_detector, scratch);
        if let Some(near) = &self.near {
            near.apply(at_detector, fraction);
            self.fft.inverse(at_detector, wave, scratch);
            warpstride_fft::transpose(wave, at_detector, near.columns, near.rows);
        }
    }

    /// Like [`Propagator::forward`] for the derivative of a frame's detector wave by its position
    /// along `axis` (0 rows, 1 columns): `wave` is the derivative of S_f\[P\] times O, and `model`
    /// (column, row) the detector wave, unnormalised. In the near field the derivative of S_−f is
    /// added, (2πi k/n) of the detector wave's spectrum.
    pub(in crate::engines::cpu) fn forward_derivative(
        &self,
        wave: &mut [Complex<T>],
        model: &[Complex<T>],
        at_detector: &mut [Complex<T>],
        (fraction, axis): ([f64; 2], usize),
        scratch: &mut FftScratch<T>,
    ) {
        self.fft.forward(wave, at_detector, scratch);
        if let Some(near) = &self.near {
            near.apply(at_detector, fraction);
            let mut spectrum = vec![Complex::default(); model.len()];
            warpstride_fft::transpose(model, wave, near.rows, near.columns);
            self.fft.forward(wave, &mut spectrum, scratch);
            let n = [near.rows, near.columns][axis];
            let by: Vec<T> = (0..n)
                .map(|k| T::of(TAU * frequency(k, n) / model.len() as f64))
                .collect();
            for (i, (to, v)) in at_detector.iter_mut().zip(spectrum).enumerate() {
                let k = [i % near.rows, i / near.rows][axis];
                *to += Complex::new(-v.im, v.re).scale(by[k]);
            }
            self.fft.inverse(at_detector, wave, scratch);
            warpstride_fft::transpose(wave, at_detector, near.columns, near.rows);
        }
    }

    /// Propagates `at_detector` (column, row) back to `wave` (row, column), unnormalised, by the
    /// adjoint of [`Propagator::forward`]; overwrites `at_detector`.
    pub(in crate::engines::cpu) fn inverse(
        &self,
        at_detector: &mut [Complex<T>],
        wave: &mut [Complex<T>],
        fraction: [f64; 2],
        scratch: &mut FftScratch<T>,
    ) {
        self.to_spectrum(at_detector, wave, fraction, scratch);
        self.fft.inverse(at_detector, wave, scratch);
    }

    /// Like [`Propagator::inverse`], but writes `wave` once, row after row, which is faster if it
    /// is not in a cache; overwrites `at_detector` and `work`, of the same size.
    pub(in crate::engines::cpu) fn inverse_in_order(
        &self,
        at_detector: &mut [Complex<T>],
        work: &mut [Complex<T>],
        wave: &mut [Complex<T>],
        fraction: [f64; 2],
        scratch: &mut FftScratch<T>,
    ) {
        self.to_spectrum(at_detector, work, fraction, scratch);
        self.fft.inverse_in_order(at_detector, work, wave, scratch);
    }

    /// Replaces a detector wave by the spectrum of the wave at the specimen.
    fn to_spectrum(
        &self,
        at_detector: &mut [Complex<T>],
        work: &mut [Complex<T>],
        fraction: [f64; 2],
        scratch: &mut FftScratch<T>,
    ) {
        if let Some(near) = &self.near {
            warpstride_fft::transpose(at_detector, work, near.rows, near.columns);
            self.fft.forward(work, at_detector, scratch);
            let pairs = at_detector.iter_mut().zip(&near.factors);
            pairs.for_each(|(v, k)| *v *= k.conj());
            if fraction != [0.0; 2] {
                near.ramps(fraction)
                    .for_each(|i, ramp| at_detector[i] *= ramp);
            }
        }
    }
}

impl<T: Real> Near<T> {
    /// The ramps of S_f.
    fn ramps(&self, fraction: [f64; 2]) -> Ramps<T> {
        Ramps::of_shape([self.rows, self.columns], fraction)
    }

    /// From the spectrum of S_f\[P\]·O, or of its derivative, to that of the detector wave: shifts
    /// back and propagates.
    fn apply(&self, spectrum: &mut [Complex<T>], fraction: [f64; 2]) {
        let pairs = spectrum.iter_mut().zip(&self.factors);
        pairs.for_each(|(v, k)| *v *= *k);
        if fraction != [0.0; 2] {
            self.ramps(fraction)
                .for_each(|i, ramp| spectrum[i] *= ramp.conj());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::near_field::Propagator as Wide;

    fn wave(n: usize) -> Vec<Complex<f64>> {
        (0..n)
            .map(|i| Complex::new((i as f64 * 1.3).sin(), (i as f64 * 0.7 + 0.2).cos()))
            .collect()
    }

    #[test]
    fn waves_are_those_of_the_propagation_row_after_row() {
        let near = NearField {
            wavelength: 1e-10,
            distance: 0.03,
            pixel: [1e-6, 0.7e-6],
        };
        for [rows, columns] in [[8, 8], [7, 12], [9, 5], [1, 4]] {
            for (near, fraction) in [
                (Some(near), [0.0; 2]),
                (Some(near), [0.3, -0.45]),
                (None, [0.0; 2]),
                (None, [0.3, -0.45]),
            ] {
                let pixels = rows * columns;
                let fft = TransposedFft2::<f64>::new(rows, columns);
                let mut scratch = fft.scratch();
                let own = Propagator::new(fft, [rows, columns], near.as_ref());
                let mut expected = wave(pixels);
                Wide::new([rows, columns], near.as_ref())
                    .propagate_to_detector(&mut expected, fraction);
                let zero = vec![Complex::default(); pixels];
                let (mut found, mut back, mut work) = (zero.clone(), zero.clone(), zero);
                own.forward(&mut wave(pixels), &mut found, fraction, &mut scratch);
                for (i, v) in found.iter().enumerate() {
                    let expected = expected[i % rows * columns + i / rows];
                    assert!((v * own.scale() - expected).norm() < 1e-13);
                }
                let unit = own.scale() * own.scale();
                let mut copy = found.clone();
                own.inverse(&mut copy, &mut back, fraction, &mut scratch);
                for (a, b) in back.iter().zip(wave(pixels)) {
                    assert!((a * unit - b).norm() < 1e-13);
                }
                back.fill(Complex::default());
                own.inverse_in_order(&mut found, &mut work, &mut back, fraction, &mut scratch);
                for (a, b) in back.iter().zip(wave(pixels)) {
                    assert!((a * unit - b).norm() < 1e-13);
                }
            }
        }
    }
}
