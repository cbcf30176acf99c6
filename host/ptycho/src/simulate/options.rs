//! Options of a simulation, and their checks.

use super::constants::{DETECTOR_PIXEL, ELECTRON_WAVELENGTH, NEAR, THICKNESS, WAVELENGTH};
use crate::MOST_SLICES;
use crate::data::{PositionError, Propagation, ScanError};
use std::f64::consts::FRAC_1_SQRT_2;
use warpstride_core::text::shortest;

/// Scan pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Fermat spiral: uniform density without a grid.
    Fermat,
    /// Rows and columns.
    Raster,
    /// Concentric rings.
    Round,
}

/// Options of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulateOptions {
    /// Rows and columns of a frame.
    pub frame: usize,
    /// Number of frames.
    pub positions: usize,
    /// Scan pattern.
    pub pattern: Pattern,
    /// Linear overlap of neighbouring positions, 1 − step/(probe diameter).
    pub overlap: f64,
    /// Photons in the probe, that is, per exposure.
    pub photons: f64,
    /// Number of mutually incoherent probe modes.
    pub probe_modes: usize,
    /// Number of mutually incoherent states of the specimen, between which it changes during each
    /// exposure.
    pub object_modes: usize,
    /// Path of the specimen's displacement during each exposure (row, column), object pixels.
    pub fly_shift: [f64; 2],
    /// Points of the path; 0: four for each pixel, at least 8.
    pub fly_points: usize,
    /// By which part of its width the beam changes from frame to frame: its place in rows and in
    /// columns, its defocus and its astigmatism, each by a random share of it, -1 to 1.
    pub probe_drift: f64,
    /// Standard deviation of the recorded from the true positions along each axis, object pixels.
    pub position_error: f64,
    /// Whether counts have Poisson noise; otherwise they are expected values.
    pub noise: bool,
    /// How waves travel to the detector. Distances of near fields follow from the number of pixels
    /// and the distance from the focus.
    pub propagation: Propagation,
    /// Standard deviation of the Gaussian by which the detector blurs intensities, pixels.
    pub blur: f64,
    /// Background of the detector, photons in each pixel of each frame.
    pub background: f64,
    /// Seed of the random number generator.
    pub seed: u64,
    /// Slices of the specimen; of more than one the object pixel is chosen for the distance from
    /// the first to the last.
    pub slices: usize,
    /// Distance between neighbours, m, of several slices.
    pub slice_distance: f64,
    /// Whether the beam is one of 300 kV electrons, for several slices, and not of X-rays at 10
    /// keV.
    pub electrons: bool,
}

impl Default for SimulateOptions {
    fn default() -> Self {
        Self {
            frame: 128,
            positions: 100,
            pattern: Pattern::Fermat,
            overlap: 0.7,
            photons: 1e8,
            probe_modes: 1,
            object_modes: 1,
            fly_shift: [0.0; 2],
            fly_points: 0,
            probe_drift: 0.0,
            position_error: 0.0,
            noise: true,
            propagation: Propagation::FarField,
            blur: 0.0,
            background: 0.0,
            seed: 0,
            slices: 1,
            slice_distance: 20e-6,
            electrons: false,
        }
    }
}

/// Why a scan cannot be simulated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SimulateError {
    /// An option is out of range.
    #[error("{option}{}{found}: expected {expected}", if .found.is_empty() { "" } else { " " })]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Value found; empty for an option without one.
        found: String,
        /// Description of the expected values.
        expected: &'static str,
    },
    /// The positions do not define an object.
    #[error(transparent)]
    Positions(#[from] PositionError),
    /// The result is not a valid scan (too few photons for a single count).
    #[error(transparent)]
    Scan(#[from] ScanError),
}

/// Object pixel, m, of the near field of a cone beam whose focus is `z1` m before the specimen: λ
/// z1 = 0.3 n Δ², where the effective distance is z1 but for the magnification.
pub(super) fn near_pixel(z1: f64, n: usize) -> f64 {
    (WAVELENGTH * z1 / (NEAR * n as f64)).sqrt()
}

impl SimulateOptions {
    /// Object pixel, m, of a specimen with slices.
    pub(super) fn thick_pixel(&self) -> f64 {
        let thickness = self.slice_distance * (self.slices - 1) as f64;
        (self.wavelength() * thickness / (THICKNESS * self.frame as f64)).sqrt()
    }

    /// Checks all options.
    ///
    /// # Errors
    /// Returns an error that names the first option out of range.
    pub fn check(&self) -> Result<(), SimulateError> {
        let option = |ok: bool, option, found: String, expected| {
            if ok {
                Ok(())
            } else {
                Err(SimulateError::Option {
                    option,
                    found,
                    expected,
                })
            }
        };
        option(
            (8..=8192).contains(&self.frame),
            "--frame",
            self.frame.to_string(),
            "8 to 8192 pixels",
        )?;
        let count = self.positions;
        option(
            (1..=10_000_000).contains(&count),
            "--positions",
            count.to_string(),
            "1 to 10000000",
        )?;
        option(
            (0.0..=0.99).contains(&self.overlap),
            "--overlap",
            shortest(self.overlap),
            "0 to 0.99",
        )?;
        let photons = self.photons;
        option(
            (1.0..=1e15).contains(&photons),
            "--photons",
            shortest(photons),
            "1 to 1e15",
        )?;
        let modes = self.probe_modes;
        option(
            (1..=64).contains(&modes),
            "--probe-modes",
            modes.to_string(),
            "1 to 64",
        )?;
        let states = self.object_modes;
        option(
            (1..=16).contains(&states),
            "--object-modes",
            states.to_string(),
            "1 to 16",
        )?;
        let longest = self.frame as f64 / 2.0;
        if let Some(wrong) = self
            .fly_shift
            .iter()
            .find(|v| v.is_nan() || v.abs() > longest)
        {
            return Err(SimulateError::Option {
                option: "--fly-shift",
                found: shortest(*wrong),
                expected: "at most half a frame on each axis, in pixels",
            });
        }
        option(
            self.fly_points <= 1024,
            "--fly-points",
            self.fly_points.to_string(),
            "1 to 1024",
        )?;
        option(
            self.fly_points == 0 || self.fly_shift != [0.0; 2],
            "--fly-points",
            self.fly_points.to_string(),
            "a path of each exposure (--fly-shift, such as 0,3) beside it, found none",
        )?;
        let drift = self.probe_drift;
        option(
            (0.0..=0.5).contains(&drift),
            "--probe-drift",
            shortest(drift),
            "0 to 0.5 of the beam's width",
        )?;
        let error = self.position_error;
        option(
            (0.0..=100.0).contains(&error),
            "--position-error",
            shortest(error),
            "0 to 100 pixels",
        )?;
        if let Propagation::NearField {
            focus_to_sample: Some(z1),
        } = self.propagation
        {
            // All frequencies of the frames travel to the detector.
            let pixels = WAVELENGTH * FRAC_1_SQRT_2..0.5 * DETECTOR_PIXEL;
            option(
                z1.is_finite() && z1 > 0.0 && pixels.contains(&near_pixel(z1, self.frame)),
                "--focus-to-sample",
                shortest(z1),
                "a length for which the beam is magnified at least twice on the detector and object pixels are at least the wavelength divided by the root of 2",
            )?;
        }
        self.check_slices()?;
        let moves = self.fly_shift != [0.0; 2];
        for (beside, option, is_on) in [
            (
                "1 with --object-modes",
                "--slices",
                self.slices > 1 && states > 1,
            ),
            ("1 with --fly-shift", "--slices", self.slices > 1 && moves),
            (
                "0 with --object-modes",
                "--probe-drift",
                drift > 0.0 && states > 1,
            ),
            ("0 with --fly-shift", "--probe-drift", drift > 0.0 && moves),
        ] {
            let found = match option {
                "--slices" => self.slices.to_string(),
                _ => shortest(drift),
            };
            if is_on {
                return Err(SimulateError::Option {
                    option,
                    found,
                    expected: beside,
                });
            }
        }
        option(
            (0.0..=100.0).contains(&self.blur),
            "--blur",
            shortest(self.blur),
            "0 to 100 pixels",
        )?;
        option(
            (0.0..=1e9).contains(&self.background),
            "--background",
            shortest(self.background),
            "0 to 1e9 photons in a pixel",
        )?;
        let seed = self.seed;
        option(
            i64::try_from(seed).is_ok(),
            "--seed",
            seed.to_string(),
            "at most 9223372036854775807",
        )
    }

    /// Points of each exposure.
    pub(super) fn points(&self) -> usize {
        let [rows, columns] = self.fly_shift;
        let length = rows.hypot(columns);
        match self.fly_points {
            _ if length == 0.0 => 1,
            0 => ((4.0 * length).ceil() as usize).clamp(8, 1024),
            points => points,
        }
    }

    fn check_slices(&self) -> Result<(), SimulateError> {
        let refused = |option, found: String, expected| {
            Err(SimulateError::Option {
                option,
                found,
                expected,
            })
        };
        let count = self.slices;
        if !(1..=MOST_SLICES).contains(&count) {
            return refused("--slices", count.to_string(), "1 to 64");
        }
        if count == 1 {
            if self.electrons {
                return refused(
                    "--electrons",
                    String::new(),
                    "a thick specimen (--slices of at least 2) beside it, found a thin one",
                );
            }
            return Ok(());
        }
        if self.propagation != Propagation::FarField {
            return refused("--slices", count.to_string(), "1 with --near-field");
        }
        let distance = self.slice_distance;
        // All frequencies of the frames travel from slice to slice.
        let least = self.wavelength() * FRAC_1_SQRT_2;
        if !(distance.is_finite() && (least..1e-5).contains(&self.thick_pixel())) {
            return refused(
                "--slice-distance",
                shortest(distance),
                "a length in m for which object pixels of the root of 2.2 λz/n, z from the first slice to the last, are between the wavelength divided by the root of 2 and 10 µm",
            );
        }
        Ok(())
    }

    pub(super) fn wavelength(&self) -> f64 {
        if self.electrons {
            ELECTRON_WAVELENGTH
        } else {
            WAVELENGTH
        }
    }
}
