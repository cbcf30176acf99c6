//! Wavelength, distance and pixel size from the file or the options.

use super::energy::{ELECTRONVOLT, joule};
use super::{Constants, ReadOptions};
use crate::data::{Geometry, Propagation};
use crate::session::read_options::WAVELENGTHS;
use std::ops::{Deref, DerefMut};
use warpstride_core::text::{length, shortest, significant};
use warpstride_files::{InputFile, IoError};

/// Distance from the specimen to the detector, m, where none is known and the angle of a detector
/// pixel is given: the object pixel depends on the angle only.
const NOMINAL_DISTANCE: f64 = 1.0;

/// Geometry stored in a file: path of the dataset, and value.
#[derive(Default)]
pub(super) struct FileGeometry {
    /// m.
    pub(super) wavelength: Option<(String, f64)>,
    /// J, or without a unit in J, eV or keV, depending on the magnitude.
    pub(super) energy: Option<(String, f64)>,
    /// Voltage that has accelerated electrons, V.
    pub(super) voltage: Option<(String, f64)>,
    /// m.
    pub(super) distance: Option<(String, f64)>,
    /// (row direction, column direction), m.
    pub(super) pixel_size: Option<(String, [f64; 2])>,
    /// Path of the dataset that says that the scan is one of the near field, if it does.
    pub(super) near_field: Option<String>,
    /// Distance from the focus of a cone beam to the specimen, m.
    pub(super) focus_to_sample: Option<(String, f64)>,
}

/// The geometry of a scan, and the voltage if its waves are electrons.
pub(super) struct Resolved {
    pub(super) geometry: Geometry,
    /// V.
    pub(super) voltage: Option<f64>,
}

impl Deref for Resolved {
    type Target = Geometry;

    fn deref(&self) -> &Geometry {
        &self.geometry
    }
}

impl DerefMut for Resolved {
    fn deref_mut(&mut self) -> &mut Geometry {
        &mut self.geometry
    }
}

/// Paths at which a format stores these values, for the error that one is missing.
pub(super) struct ExpectedPaths {
    pub(super) wavelength: &'static [&'static str],
    pub(super) distance: &'static [&'static str],
    pub(super) pixel_size: &'static [&'static str],
}

/// Wavelength, m, of an energy; adds the deduced unit to the notes.
fn wavelength_of(
    input: &InputFile,
    path: &str,
    energy: f64,
    notes: &mut Vec<String>,
) -> Result<f64, IoError> {
    if !(energy.is_finite() && energy > 0.0) {
        return Err(value(
            input,
            path,
            energy,
            "a photon energy > 0 in J, eV or keV",
        ));
    }
    let (in_joule, unit) = joule(energy).map_err(|question| {
        let expected = format!("an energy whose unit is known; {question}");
        value(input, path, energy, &expected)
    })?;
    let wavelength = Geometry::wavelength_of_energy(in_joule);
    // Joules are what files and options with units have; people think in keV.
    let read = match unit {
        "J" => format!("{} keV", significant(in_joule / (1e3 * ELECTRONVOLT), 6)),
        unit => format!("{}, interpreted as {unit}", shortest(energy)),
    };
    notes.push(format!("{path} is {read}: wavelength {wavelength:.6e} m"));
    Ok(wavelength)
}

/// Options whose values take the place of those of the file.
const OPTIONS: [&str; 8] = [
    "data.constants.wavelength",
    "data.constants.energy",
    "data.constants.voltage",
    "data.constants.pixel_angle",
    "data.constants.pixel_frequency",
    "data.constants.distance",
    "data.constants.pixel_size",
    "data.focus_to_sample",
];

/// The error of a value of the file, or of an option, whose path is `option` and its name.
fn value(input: &InputFile, path: &str, found: f64, expected: &str) -> IoError {
    let named = path.strip_prefix("option ");
    if let Some(option) = OPTIONS.into_iter().find(|option| named == Some(*option)) {
        return IoError::Option {
            file: input.name().to_owned(),
            option,
            reason: format!("expected {expected}, found {}", shortest(found)),
        };
    }
    IoError::Value {
        file: input.name().to_owned(),
        dataset: path.to_owned(),
        found: shortest(found),
        expected: expected.to_owned(),
    }
}

fn missing(input: &InputFile, what: &str, tried: &[&str], option: &str) -> IoError {
    let mut tried: Vec<String> = tried.iter().map(|t| (*t).to_owned()).collect();
    tried.push(format!("the option {option}"));
    IoError::Missing {
        file: input.name().to_owned(),
        what: what.to_owned(),
        tried,
    }
}

/// Combines the geometry of the file with that of the options; the options take precedence.
pub(super) fn resolve(
    input: &InputFile,
    found: &FileGeometry,
    options: &ReadOptions,
    expected: &ExpectedPaths,
    notes: &mut Vec<String>,
) -> Result<Resolved, IoError> {
    let constants = &options.constants;
    if constants.wavelength.is_some() && constants.energy.is_some() {
        return Err(IoError::Option {
            file: input.name().to_owned(),
            option: "data.constants.energy",
            reason: "expected constants.wavelength or constants.energy, found both".to_owned(),
        });
    }
    let (wavelength, path) = if let Some(w) = constants.wavelength {
        (w, "option data.constants.wavelength".to_owned())
    } else if let Some(e) = constants.energy {
        let path = "option data.constants.energy";
        (wavelength_of(input, path, e, notes)?, path.to_owned())
    } else if let Some(volts) = constants.voltage {
        let wavelength = Geometry::wavelength_of_voltage(volts);
        notes.push(format!(
            "electrons of {} kV (data.constants.voltage): wavelength {}",
            shortest(volts / 1e3),
            length(wavelength, 5)
        ));
        (wavelength, "option data.constants.voltage".to_owned())
    } else if let Some((path, w)) = &found.wavelength {
        // A doubtful energy beside a wavelength says nothing.
        if let Some((energy_path, e)) = &found.energy
            && let Ok((in_joule, _)) = joule(*e)
        {
            let other = Geometry::wavelength_of_energy(in_joule);
            if (other - w).abs() > 0.01 * w {
                notes.push(format!(
                    "{energy_path} ({e}) corresponds to a wavelength of {other:.6e} m; {path} ({w:.6e} m) is used"
                ));
            }
        }
        (*w, path.clone())
    } else if let Some((path, volts)) = &found.voltage {
        let wavelength = Geometry::wavelength_of_voltage(*volts);
        notes.push(format!(
            "{path}: electrons of {} kV: wavelength {}",
            shortest(volts / 1e3),
            length(wavelength, 5)
        ));
        (wavelength, path.clone())
    } else if let Some((path, e)) = &found.energy {
        (wavelength_of(input, path, *e, notes)?, path.clone())
    } else {
        return Err(missing(
            input,
            "wavelength or energy",
            expected.wavelength,
            "data.constants.wavelength",
        ));
    };
    if !WAVELENGTHS.contains(&wavelength) {
        return Err(value(
            input,
            &path,
            wavelength,
            "a wavelength in metres between 1e-13 and 1e-3",
        ));
    }
    contradictions(constants, found, notes);
    let voltage = voltage((wavelength, &path), constants, found, notes);
    let angles = constants.angles(wavelength);
    let (distance, path) = match (constants.distance, &found.distance, angles) {
        (Some(d), _, _) => (d, "option data.constants.distance"),
        (None, Some((path, d)), _) => {
            if *d < 0.0 {
                notes.push(format!("{path} is {d} m; its absolute value is used"));
            }
            (d.abs(), path.as_str())
        }
        (None, None, Some((option, _))) => {
            notes.push(format!(
                "no distance is known: a nominal one of {NOMINAL_DISTANCE} m, on which nothing depends with {option}"
            ));
            (NOMINAL_DISTANCE, option)
        }
        (None, None, None) => {
            return Err(missing(
                input,
                "distance",
                expected.distance,
                "data.constants.distance",
            ));
        }
    };
    let (pixel_size, pixel_path) = match (constants.pixel_size, angles, &found.pixel_size) {
        (Some(p), _, _) => (p, "option data.constants.pixel_size".to_owned()),
        (None, Some((option, angles)), in_file) => {
            let pixel = angles.map(|angle| angle * distance);
            if let Some((path, [rows, columns])) = in_file {
                notes.push(format!(
                    "{option} is used; {path} has {} x {}",
                    length(*rows, 5),
                    length(*columns, 5)
                ));
            }
            let [rows, columns] = angles.map(|angle| significant(1e3 * angle, 5));
            notes.push(format!(
                "a detector pixel of {rows} mrad x {columns} mrad ({option}) is one of {} x {} at {}",
                length(pixel[0], 4),
                length(pixel[1], 4),
                length(distance, 4)
            ));
            (pixel, format!("option {option}"))
        }
        (None, None, Some((path, p))) => (*p, path.clone()),
        (None, None, None) => {
            return Err(missing(
                input,
                "pixel size",
                expected.pixel_size,
                "data.constants.pixel_size",
            ));
        }
    };
    let pixel_path = pixel_path.as_str();
    if let (Some((option, _)), true) = (
        angles,
        options.near_field.unwrap_or(found.near_field.is_some()),
    ) {
        return Err(IoError::Option {
            file: input.name().to_owned(),
            option,
            reason: "expected data.constants.pixel_size and data.constants.distance for near fields, where the pixel itself counts"
                .to_owned(),
        });
    }
    for (path, side) in [
        (path, distance),
        (pixel_path, pixel_size[0]),
        (pixel_path, pixel_size[1]),
    ] {
        if !(side.is_finite() && side > 0.0) {
            return Err(value(input, path, side, "a finite length > 0 in metres"));
        }
    }
    let geometry = Geometry {
        wavelength,
        distance,
        pixel_size,
        propagation: propagation(input, found, options, notes)?,
    };
    Ok(Resolved { geometry, voltage })
}

/// The voltage of electrons of this wavelength, m, which is that of `path`: that of the options, or
/// else that of the file if it has the same wavelength within a percent; otherwise it is noted.
fn voltage(
    (wavelength, path): (f64, &str),
    constants: &Constants,
    found: &FileGeometry,
    notes: &mut Vec<String>,
) -> Option<f64> {
    if constants.voltage.is_some() || constants.energy.is_some() {
        return constants.voltage;
    }
    let (of, volts) = found.voltage.as_ref()?;
    let other = Geometry::wavelength_of_voltage(*volts);
    if (other - wavelength).abs() <= 0.01 * wavelength {
        return Some(*volts);
    }
    notes.push(format!(
        "{of} ({} kV) is not used: electrons of this voltage have a wavelength of {}, and {path} has {}",
        shortest(volts / 1e3),
        length(other, 5),
        length(wavelength, 5)
    ));
    None
}

/// Whether waves travel to the near field, and of what beam.
fn propagation(
    input: &InputFile,
    found: &FileGeometry,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<Propagation, IoError> {
    match (options.near_field, &found.near_field) {
        (Some(true), _) => {}
        (None, Some(path)) => {
            notes.push(format!("according to {path} the scan is a near-field one"));
        }
        (Some(false), Some(path)) => {
            notes.push(format!(
                "data.near_field = false is used; according to {path} the scan is a near-field one"
            ));
            return Ok(Propagation::FarField);
        }
        (Some(false) | None, None) => return Ok(Propagation::FarField),
    }
    let (path, focus_to_sample) = match (options.focus_to_sample, &found.focus_to_sample) {
        (Some(given), file) => {
            if let Some((path, z1)) = file
                && (given.is_infinite() || (z1 - given).abs() > 0.01 * given)
            {
                notes.push(format!(
                    "data.focus_to_sample ({}) is used; {path} has {}",
                    length(given, 5),
                    length(*z1, 5)
                ));
            }
            // An infinite distance is that of a parallel beam.
            let finite = (given != f64::INFINITY).then_some(given);
            ("option data.focus_to_sample", finite)
        }
        (None, Some((path, z1))) => (path.as_str(), Some(*z1)),
        (None, None) => ("", None),
    };
    match focus_to_sample {
        Some(z1) if !(z1.is_finite() && z1 > 0.0) => {
            Err(value(input, path, z1, "a finite length > 0 in metres"))
        }
        _ => Ok(Propagation::NearField { focus_to_sample }),
    }
}

/// Notes constants that differ from the file's values by more than a percent, which they replace.
fn contradictions(constants: &Constants, found: &FileGeometry, notes: &mut Vec<String>) {
    let of_voltage = |(path, volts): &(String, f64)| {
        let wavelength = Geometry::wavelength_of_voltage(*volts);
        (path.clone(), wavelength)
    };
    let wavelength = (found.wavelength.clone()).or_else(|| found.voltage.as_ref().map(of_voltage));
    let pairs = [
        ("distance", constants.distance, found.distance.clone()),
        ("wavelength", constants.wavelength, found.wavelength.clone()),
        (
            "voltage",
            constants.voltage.map(Geometry::wavelength_of_voltage),
            wavelength,
        ),
        (
            "pixel_size",
            constants.pixel_size.map(|side| side[0]),
            found.pixel_size.clone().map(|(path, side)| (path, side[0])),
        ),
    ];
    for (name, constant, file) in pairs {
        if let (Some(constant), Some((path, value))) = (constant, file)
            && (value.abs() - constant).abs() > 0.01 * constant
        {
            notes.push(format!(
                "data.constants.{name} ({}) is used; {path} has {}",
                length(constant, 5),
                length(value, 5)
            ));
        }
    }
}
