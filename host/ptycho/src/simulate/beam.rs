//! The beam of a simulated scan, and how it changes from frame to frame.

use super::SimulateOptions;
use super::constants::{APERTURE, BEAM, generator};
use crate::start;
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;
use rand::RngExt;
use std::f64::consts::{PI, TAU};

/// The beam of a disc-shaped aperture, defocused so that it is `BEAM` wide, with astigmatism, coma
/// and an uneven pupil in proportion to `aberrations`; centred at (n/2, n/2) but for the `change`,
/// unit power.
pub(super) fn beam(n: usize, aberrations: f64, change: BeamChange) -> Array2<Complex<f64>> {
    let radius = 0.5 * APERTURE * n as f64;
    let curvature = BEAM / APERTURE;
    let pupil = Array2::from_shape_fn((n, n), |(r, c)| {
        let (qy, qx) = (r as f64 - (n / 2) as f64, c as f64 - (n / 2) as f64);
        let (y, x) = (qy / radius, qx / radius);
        let q = y.hypot(x);
        // A soft edge, two detector pixels wide for frames of 128 pixels.
        let edge = (0.5 + (1.0 - q) * 32.0).clamp(0.0, 1.0);
        let uneven = 1.0 + aberrations * 0.15 * (3.0 * x - 2.0 * y).sin();
        let [wider_rows, wider_columns] = [
            1.0 + change.defocus + change.astigmatism,
            1.0 + change.defocus - change.astigmatism,
        ];
        let defocus = PI * curvature * (qy * qy * wider_rows + qx * qx * wider_columns) / n as f64;
        let [down, across] = change.shift;
        let tilt = TAU * (qy * down + qx * across) / n as f64;
        let others = aberrations * (0.9 * (x * x - y * y) + 0.7 * x * y + 0.5 * q * q * y);
        Complex::cis(defocus + others - tilt) * edge * uneven
    });
    let mut wave = start::from_centred_spectrum(pupil);
    let power: f64 = wave.iter().map(Complex::norm_sqr).sum();
    wave.mapv_inplace(|v| v / power.sqrt());
    wave
}

/// How a beam differs from the one without changes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct BeamChange {
    /// Shift (rows, columns), pixels.
    pub(super) shift: [f64; 2],
    /// By which part it is wider.
    pub(super) defocus: f64,
    /// By which part it is wider along rows and narrower along columns.
    pub(super) astigmatism: f64,
}

/// First probe modes that differ from frame to frame.
pub(super) struct Drift {
    frame: usize,
    changes: Vec<BeamChange>,
    /// The first mode without changes divided by the beam.
    factor: Complex<f64>,
}

impl Drift {
    /// `None` if all frames have one probe; `width` is the beam's, pixels.
    pub(super) fn new(
        options: &SimulateOptions,
        probe: &Array3<Complex<f64>>,
        width: f64,
    ) -> Option<Self> {
        let drift = options.probe_drift;
        if drift <= 0.0 {
            return None;
        }
        // No frame's generator has this number.
        let mut random = generator(options.seed, u64::MAX);
        let mut share = || drift * (2.0 * random.random::<f64>() - 1.0);
        let changes = (0..options.positions).map(|_| BeamChange {
            shift: [share() * width, share() * width],
            defocus: share(),
            astigmatism: share(),
        });
        let plain = beam(options.frame, 1.0, BeamChange::default());
        let first = probe.index_axis(Axis(0), 0);
        let products = plain.iter().zip(&first).map(|(b, p)| b.conj() * p);
        Some(Self {
            frame: options.frame,
            changes: changes.collect(),
            factor: products.sum(),
        })
    }

    /// The first mode of a frame (row, column).
    pub(super) fn first_mode(&self, frame: usize) -> Array2<Complex<f64>> {
        beam(self.frame, 1.0, self.changes[frame]).mapv(|v| v * self.factor)
    }
}

/// Diameter, pixels, of a uniform disc with the same mean square radius.
pub(super) fn diameter(wave: &Array2<Complex<f64>>) -> f64 {
    let (rows, columns) = wave.dim();
    let (mut sum, mut power) = (0.0, 0.0);
    for ((r, c), v) in wave.indexed_iter() {
        let y = r as f64 - (rows / 2) as f64;
        let x = c as f64 - (columns / 2) as f64;
        sum += v.norm_sqr() * (x * x + y * y);
        power += v.norm_sqr();
    }
    2.0 * (2.0 * sum / power).sqrt()
}
