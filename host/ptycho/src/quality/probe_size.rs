//! Size of a probe.

use ndarray::{Array2, Array3};
use num_complex::Complex;
use serde::Serialize;
use std::f64::consts::PI;
use std::fmt;
use warpstride_core::text::length;

/// Size of the intensity of all modes of a probe together, Σ|P|².
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProbeSize {
    /// Full width at half maximum, m: the diameter of the disc with the area over which the
    /// intensity is at least half its maximum. Exact for a Gaussian and for a uniform disc, up to
    /// the pixels.
    pub fwhm: f64,
    /// Standard deviation of the intensity about its centre of mass (row, column), m. Weak light
    /// far from the centre counts more than in the width at half maximum.
    pub rms: [f64; 2],
}

impl ProbeSize {
    /// The size of `probe` (mode, row, column) with pixels `pixel` (row, column), m; `None` if it
    /// has no power or values that are not finite.
    #[must_use]
    pub fn new(probe: &Array3<Complex<f64>>, pixel: [f64; 2]) -> Option<Self> {
        let (_, rows, columns) = probe.dim();
        let mut intensity = Array2::<f64>::zeros((rows, columns));
        for mode in probe.outer_iter() {
            intensity.zip_mut_with(&mode, |sum, v| *sum += v.norm_sqr());
        }
        let brightest = intensity.iter().copied().fold(0.0, f64::max);
        let power = intensity.sum();
        if !(brightest > 0.0 && power.is_finite()) {
            return None;
        }
        let bright = intensity.iter().filter(|v| **v >= brightest / 2.0).count();
        let area = bright as f64 * pixel[0] * pixel[1];
        let mean = |of: &dyn Fn([f64; 2]) -> f64| {
            let sum: f64 = intensity
                .indexed_iter()
                .map(|((row, column), v)| v * of([row as f64, column as f64]))
                .sum();
            sum / power
        };
        let centre = [mean(&|at| at[0]), mean(&|at| at[1])];
        let rms = [0, 1].map(|axis| {
            let variance = mean(&|at| (at[axis] - centre[axis]).powi(2));
            pixel[axis] * variance.sqrt()
        });
        Some(Self {
            fwhm: 2.0 * (area / PI).sqrt(),
            rms,
        })
    }
}

/// `525 nm FWHM, RMS 241 nm x 238 nm (rows x columns)`.
impl fmt::Display for ProbeSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [rows, columns] = self.rms.map(|rms| length(rms, 3));
        let fwhm = length(self.fwhm, 3);
        write!(f, "{fwhm} FWHM, RMS {rows} x {columns} (rows x columns)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// |P|² of a Gaussian amplitude exp(−r²/4σ²) has the standard deviation σ and the full width at half
    /// maximum √(8 ln 2) σ.
    #[test]
    fn a_gaussian_has_its_analytic_widths() {
        let (sigma, pixel) = (12.0, [3e-8, 2e-8]);
        let probe = Array3::from_shape_fn((2, 100, 140), |(mode, row, column)| {
            // Metres in units of the coarser pixel; the second mode has the same shape.
            let y = row as f64 - 48.3;
            let x = (column as f64 - 71.0) * 2.0 / 3.0;
            let amplitude = (-(y * y + x * x) / (4.0 * sigma * sigma)).exp();
            Complex::from_polar(if mode == 0 { 5.0 } else { 2.0 } * amplitude, x)
        });
        let size = ProbeSize::new(&probe, pixel).unwrap();
        let expected = sigma * 3e-8;
        for rms in size.rms {
            assert!((rms / expected - 1.0).abs() < 1e-3, "{size:?}");
        }
        let fwhm = (8.0 * std::f64::consts::LN_2).sqrt() * expected;
        assert!((size.fwhm / fwhm - 1.0).abs() < 0.01, "{size:?}");
    }

    #[test]
    fn a_disc_is_as_wide_as_its_diameter() {
        let probe = Array3::from_shape_fn((1, 64, 64), |(_, r, c)| {
            let lit = (r as f64 - 30.0).hypot(c as f64 - 33.0) <= 20.0;
            Complex::new(0.0, f64::from(lit))
        });
        let size = ProbeSize::new(&probe, [1e-8; 2]).unwrap();
        assert!((size.fwhm / 4e-7 - 1.0).abs() < 0.01, "{size:?}");
        // The variance of a disc along one axis is a quarter of its radius squared.
        assert!((size.rms[0] / 1e-7 - 1.0).abs() < 0.01, "{size:?}");
    }

    #[test]
    fn a_probe_without_power_has_no_size() {
        assert_eq!(ProbeSize::new(&Array3::zeros((1, 4, 4)), [1.0; 2]), None);
        let nan = Array3::from_elem((1, 4, 4), Complex::new(f64::NAN, 0.0));
        assert_eq!(ProbeSize::new(&nan, [1.0; 2]), None);
        let one = Array3::from_shape_fn((1, 4, 4), |(_, r, c)| {
            Complex::from(f64::from(r == 1 && c == 2))
        });
        assert_eq!(ProbeSize::new(&one, [1.0; 2]).unwrap().rms, [0.0; 2]);
    }
}
