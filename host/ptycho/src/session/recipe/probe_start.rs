//! Options of the start probe and of what a run starts from besides it.

use super::RecipeError;
use crate::session::quantities;
use serde::{Deserialize, Serialize};
use std::path::Path;
use warpstride_core::text::shortest;

/// Source of the start probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeSource {
    /// The file's illumination, if it has one, otherwise the mean pattern with a defocus found by
    /// trial.
    Auto,
    /// The file's illumination.
    File,
    /// √(mean of all frames), back-transformed.
    MeanPattern,
    /// An aperture in front of an ideal lens, focused and then propagated by `defocus`.
    Aperture,
    /// The focus of a Fresnel zone plate, propagated by `defocus`.
    ZonePlate,
    /// The waist of a Gaussian beam, propagated by `defocus`.
    Gaussian,
    /// The probe of an electron microscope: an aperture of a semi-angle behind a lens with
    /// aberrations.
    Aberrations,
}

impl ProbeSource {
    /// The name in a recipe.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::File => "file",
            Self::MeanPattern => "mean-pattern",
            Self::Aperture => "aperture",
            Self::ZonePlate => "zone-plate",
            Self::Gaussian => "gaussian",
            Self::Aberrations => "aberrations",
        }
    }
}

/// Shape of an aperture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApertureShape {
    /// A disc.
    #[default]
    Circle,
    /// A rectangle along the detector's axes, such as that of a pair of mirrors.
    Rectangle,
}

impl ApertureShape {
    fn is_circle(&self) -> bool {
        *self == Self::Circle
    }
}

/// The start probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProbeStart {
    /// Source of the probe.
    pub source: ProbeSource,
    /// For `aperture`: diameter of the lit disc on the detector, or width of the lit rectangle, as
    /// a fraction of the frame's width.
    pub aperture: f64,
    /// For `aperture`, `mean-pattern`, `zone-plate`, `gaussian` and `aberrations`: distance from
    /// the focus to the specimen, m; positive if the specimen is downstream of the focus. For
    /// `zone-plate` and `gaussian` it is that of the physical wave, for the others that of the
    /// model's wave, d z/(z + d) with z from specimen to detector.
    ///
    /// In electron microscopy positive values are overfocus and negative ones underfocus: it is the
    /// coefficient C₁ (C₁,₀) and the negative of the defocus Δf that is positive for underfocus
    /// (Kirkland; contrast transfer functions).
    #[serde(with = "quantities::optics")]
    pub defocus: f64,
    /// Initial fraction of the probe's power in each extra mode; all extra modes together start
    /// with at most half of the power.
    pub mode_power: f64,
    /// For `aperture`: its shape.
    #[serde(skip_serializing_if = "ApertureShape::is_circle")]
    pub shape: ApertureShape,
    /// For a rectangular aperture: height of the lit rectangle as a fraction of the frame's height;
    /// as `aperture` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aperture_height: Option<f64>,
    /// For `aperture`: extent of the unlit part in its middle, of the same shape, as a fraction of
    /// the aperture's extent.
    #[serde(skip_serializing_if = "is_zero")]
    pub central_stop: f64,
    /// For `zone-plate`: outer diameter, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diameter: Option<f64>,
    /// For `zone-plate`: width of the outermost zone, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outermost_zone: Option<f64>,
    /// For `zone-plate`: diameter of the central stop, m.
    #[serde(skip_serializing_if = "is_zero")]
    pub stop_diameter: f64,
    /// For `gaussian`: radius of the waist at which the intensity is 1/e² of its maximum, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waist_radius: Option<f64>,
    /// For `aberrations`: semi-angle of convergence, rad.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "quantities::some_angle"
    )]
    pub semi_angle: Option<f64>,
    /// For `aberrations`: third-order spherical aberration C₃ (C_S), m.
    #[serde(skip_serializing_if = "is_zero", with = "quantities::optics")]
    pub c3: f64,
    /// For `aberrations`: two-fold astigmatism A₁ (C₁,₂), m: along `astigmatism_angle` it adds to
    /// the defocus, across it is subtracted.
    #[serde(skip_serializing_if = "is_zero", with = "quantities::optics")]
    pub astigmatism: f64,
    /// For `aberrations`: direction of the astigmatism, rad, counterclockwise from the columns'
    /// direction (to the right in pictures).
    #[serde(skip_serializing_if = "is_zero", with = "quantities::angle")]
    pub astigmatism_angle: f64,
    /// For `aberrations`: axial coma C₂,₁ (3 B₂), m.
    #[serde(skip_serializing_if = "is_zero", with = "quantities::optics")]
    pub coma: f64,
    /// For `aberrations`: direction of the coma, rad, counterclockwise from the columns' direction.
    #[serde(skip_serializing_if = "is_zero", with = "quantities::angle")]
    pub coma_angle: f64,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Default for ProbeStart {
    fn default() -> Self {
        Self {
            source: ProbeSource::Auto,
            aperture: 0.5,
            defocus: 0.0,
            mode_power: 0.05,
            shape: ApertureShape::Circle,
            aperture_height: None,
            central_stop: 0.0,
            diameter: None,
            outermost_zone: None,
            stop_diameter: 0.0,
            waist_radius: None,
            semi_angle: None,
            c3: 0.0,
            astigmatism: 0.0,
            astigmatism_angle: 0.0,
            coma: 0.0,
            coma_angle: 0.0,
        }
    }
}

/// Largest length of a part of the optics, m.
const LARGEST_OPTICS: f64 = 1.0;

/// A whole turn, rad, and what rounding adds.
const TURN: f64 = std::f64::consts::TAU * (1.0 + 1e-12);

/// Largest semi-angle of convergence, rad.
const LARGEST_SEMI_ANGLE: f64 = 0.5;

impl ProbeStart {
    /// Checks all values.
    ///
    /// # Errors
    /// Returns an error that names the first option out of range, or that is missing.
    pub(super) fn check(&self) -> Result<(), RecipeError> {
        let within = |ok: bool, option: &str, expected: &str, found: f64| {
            let error = || RecipeError::new(format!("probe.{option}"), expected, shortest(found));
            ok.then_some(()).ok_or_else(error)
        };
        let share = |of: f64| of > 0.0 && of <= 1.0;
        within(
            share(self.aperture),
            "aperture",
            "more than 0, at most 1",
            self.aperture,
        )?;
        if let Some(height) = self.aperture_height {
            let expected = "more than 0, at most 1";
            within(share(height), "aperture_height", expected, height)?;
        }
        within(
            (-10.0..=10.0).contains(&self.defocus),
            "defocus",
            "-10 to 10 (metres)",
            self.defocus,
        )?;
        within(
            self.mode_power > 0.0 && self.mode_power <= 0.5,
            "mode_power",
            "more than 0, at most 0.5",
            self.mode_power,
        )?;
        within(
            (0.0..1.0).contains(&self.central_stop),
            "central_stop",
            "0 to below 1 (share of the aperture's extent)",
            self.central_stop,
        )?;
        let positive = "more than 0, at most 1 (metres)";
        for (option, given) in [
            ("diameter", self.diameter),
            ("outermost_zone", self.outermost_zone),
            ("waist_radius", self.waist_radius),
        ] {
            if let Some(value) = given {
                let ok = value > 0.0 && value <= LARGEST_OPTICS;
                within(ok, option, positive, value)?;
            }
        }
        if let Some(angle) = self.semi_angle {
            let ok = angle > 0.0 && angle <= LARGEST_SEMI_ANGLE;
            let expected = "more than 0, at most 0.5 rad; in milliradians with the unit: 17mrad";
            within(ok, "semi_angle", expected, angle)?;
        }
        for (option, value) in [
            ("c3", self.c3),
            ("astigmatism", self.astigmatism),
            ("coma", self.coma),
        ] {
            let ok = (-LARGEST_OPTICS..=LARGEST_OPTICS).contains(&value);
            within(ok, option, "-1 to 1 (metres)", value)?;
        }
        for (option, value) in [
            ("astigmatism_angle", self.astigmatism_angle),
            ("coma_angle", self.coma_angle),
        ] {
            let ok = (-TURN..=TURN).contains(&value);
            within(ok, option, "-360deg to 360deg", value)?;
        }
        let missing = |option: &str, expected: &str| {
            Err(RecipeError::new(
                format!("probe.{option}"),
                expected,
                "none",
            ))
        };
        if self.source == ProbeSource::Gaussian && self.waist_radius.is_none() {
            let expected = "the 1/e^2 radius of the waist in metres, such as 200e-9, for source = \"gaussian\"";
            return missing("waist_radius", expected);
        }
        if self.source == ProbeSource::Aberrations && self.semi_angle.is_none() {
            let expected = "the semi-angle of convergence with its unit, such as 17mrad, for source = \"aberrations\"";
            return missing("semi_angle", expected);
        }
        if self.source == ProbeSource::ZonePlate {
            match (self.diameter, self.outermost_zone) {
                (None, _) => {
                    let expected =
                        "the outer diameter in metres, such as 100e-6, for source = \"zone-plate\"";
                    return missing("diameter", expected);
                }
                (_, None) => {
                    let expected = "the width of the outermost zone in metres, such as 50e-9, for source = \"zone-plate\"";
                    return missing("outermost_zone", expected);
                }
                (Some(diameter), Some(zone)) => within(
                    zone <= diameter / 4.0,
                    "outermost_zone",
                    "at most a quarter of probe.diameter",
                    zone,
                )?,
            }
        }
        let largest = match (self.source, self.diameter) {
            (ProbeSource::ZonePlate, Some(diameter)) => diameter,
            _ => LARGEST_OPTICS,
        };
        within(
            (0.0..largest).contains(&self.stop_diameter),
            "stop_diameter",
            "0 to below probe.diameter (metres)",
            self.stop_diameter,
        )
    }
}

/// What a run starts from, besides the probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StartOptions {
    /// File with the result of an earlier run, from which object, probe (if its source is `auto`),
    /// positions and intensity scales are taken. It may have frames of another size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// File with the start object: a complex image (row, column), `FILE.npy`, or `FILE` or
    /// `FILE:/DATASET` of HDF5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Pixel (row, column) of the start object, m, if it is not that of the reconstruction; takes
    /// the place of the file's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_pixel: Option<[f64; 2]>,
}

impl StartOptions {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The file from which a run starts.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        let result = self.result.as_deref().map(Path::new);
        result.or_else(|| self.object_file().map(|(path, _)| path))
    }

    /// The file of the start object, and its dataset if one is named: what follows the last colon,
    /// if it begins with `/`.
    #[must_use]
    pub fn object_file(&self) -> Option<(&Path, Option<&str>)> {
        let name = self.object.as_deref()?;
        Some(match name.rsplit_once(':') {
            Some((file, dataset)) if dataset.starts_with('/') && !file.is_empty() => {
                (Path::new(file), Some(dataset))
            }
            _ => (Path::new(name), None),
        })
    }

    /// Checks all values.
    ///
    /// # Errors
    /// Returns an error that names the first option out of range.
    pub(super) fn check(&self) -> Result<(), RecipeError> {
        if self.result.as_deref() == Some("") {
            let expected = "the name of a result file";
            return Err(RecipeError::new("start.result", expected, "\"\""));
        }
        if self.object.as_deref() == Some("") {
            let expected = "the name of a file with a complex image";
            return Err(RecipeError::new("start.object", expected, "\"\""));
        }
        if let (Some(object), Some(_)) = (&self.object, &self.result) {
            let expected = "none together with start.result, which has an object";
            return Err(RecipeError::new("start.object", expected, object.as_str()));
        }
        match self.object_pixel {
            Some(_) if self.object.is_none() => Err(RecipeError::new(
                "start.object_pixel",
                "none without start.object",
                "one",
            )),
            Some(pixel) if !pixel.iter().all(|side| *side > 0.0 && *side <= 1.0) => {
                Err(RecipeError::new(
                    "start.object_pixel",
                    "two sizes (row, column) of more than 0, at most 1 (metres)",
                    format!("[{}, {}]", shortest(pixel[0]), shortest(pixel[1])),
                ))
            }
            _ => Ok(()),
        }
    }
}
