//! Wavelength, distance and pixel size from the file or the options.

use super::{Constants, ReadOptions};
use crate::data::{Geometry, Propagation};
use crate::io::{InputFile, IoError};
use crate::ptycho::read_options::WAVELENGTHS;
use crate::text::shortest;

/// One electronvolt, J (CODATA 2018, exact).
const ELECTRONVOLT: f64 = 1.602_176_634e-19;

/// Energies below this are in joules: 10⁻⁶ J would be 6 · 10¹² eV.
const LARGEST_JOULE: f64 = 1e-6;

/// Energies from here on are in electronvolts: 100 keV is above, and 100 eV at the lower end of,
/// the energies used for diffraction.
const LARGEST_KEV: f64 = 100.0;

/// Geometry stored in a file: path of the dataset, and value.
#[derive(Default)]
pub(super) struct FileGeometry {
    /// m.
    pub(super) wavelength: Option<(String, f64)>,
    /// J, eV or keV, depending on the magnitude.
    pub(super) energy: Option<(String, f64)>,
    /// m.
    pub(super) distance: Option<(String, f64)>,
    /// (row direction, column direction), m.
    pub(super) pixel_size: Option<(String, [f64; 2])>,
    /// Path of the dataset that says that the scan is one of the near field, if it does.
    pub(super) near_field: Option<String>,
    /// Distance from the focus of a cone beam to the specimen, m.
    pub(super) focus_to_sample: Option<(String, f64)>,
}

/// Paths at which a format stores these values, for the error that one is missing.
pub(super) struct ExpectedPaths {
    pub(super) wavelength: &'static [&'static str],
    pub(super) distance: &'static [&'static str],
    pub(super) pixel_size: &'static [&'static str],
}

/// Energy in J, and the unit deduced from its magnitude.
fn joule(energy: f64) -> (f64, &'static str) {
    if energy < LARGEST_JOULE {
        (energy, "J")
    } else if energy < LARGEST_KEV {
        (energy * 1e3 * ELECTRONVOLT, "keV")
    } else {
        (energy * ELECTRONVOLT, "eV")
    }
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
    let (in_joule, unit) = joule(energy);
    let wavelength = Geometry::wavelength_of_energy(in_joule);
    notes.push(format!(
        "{path} is {energy}, interpreted as {unit}: wavelength {wavelength:.6e} m"
    ));
    Ok(wavelength)
}

/// Options whose values take the place of those of the file.
const OPTIONS: [&str; 5] = [
    "data.constants.wavelength",
    "data.constants.energy",
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
) -> Result<Geometry, IoError> {
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
    } else if let Some((path, w)) = &found.wavelength {
        if let Some((energy_path, e)) = &found.energy {
            let other = Geometry::wavelength_of_energy(joule(*e).0);
            if (other - w).abs() > 0.01 * w {
                notes.push(format!(
                    "{energy_path} ({e}) corresponds to a wavelength of {other:.6e} m; {path} ({w:.6e} m) is used"
                ));
            }
        }
        (*w, path.clone())
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
    let (distance, path) = match (constants.distance, &found.distance) {
        (Some(d), _) => (d, "option data.constants.distance"),
        (None, Some((path, d))) => {
            if *d < 0.0 {
                notes.push(format!("{path} is {d} m; its absolute value is used"));
            }
            (d.abs(), path.as_str())
        }
        (None, None) => {
            return Err(missing(
                input,
                "distance",
                expected.distance,
                "data.constants.distance",
            ));
        }
    };
    let (pixel_size, pixel_path) = match (constants.pixel_size, &found.pixel_size) {
        (Some(p), _) => (p, "option data.constants.pixel_size"),
        (None, Some((path, p))) => (*p, path.as_str()),
        (None, None) => {
            return Err(missing(
                input,
                "pixel size",
                expected.pixel_size,
                "data.constants.pixel_size",
            ));
        }
    };
    for (path, length) in [
        (path, distance),
        (pixel_path, pixel_size[0]),
        (pixel_path, pixel_size[1]),
    ] {
        if !(length.is_finite() && length > 0.0) {
            return Err(value(input, path, length, "a finite length > 0 in metres"));
        }
    }
    Ok(Geometry {
        wavelength,
        distance,
        pixel_size,
        propagation: propagation(input, found, options, notes)?,
    })
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
                    "data.focus_to_sample ({} m) is used; {path} has {} m",
                    shortest(given),
                    shortest(*z1)
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
    let pairs = [
        ("distance", constants.distance, found.distance.clone()),
        ("wavelength", constants.wavelength, found.wavelength.clone()),
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
                "data.constants.{name} ({} m) is used; {path} has {} m",
                shortest(constant),
                shortest(value)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_energy_in_any_unit_gives_the_same_wavelength() {
        let kev = 12.398_419_84;
        for energy in [kev, kev * 1e3, kev * 1e3 * ELECTRONVOLT] {
            let w = Geometry::wavelength_of_energy(joule(energy).0);
            assert!((w - 1e-10).abs() < 1e-18, "{energy}: {w}");
        }
        assert_eq!(joule(8.8).1, "keV");
        assert_eq!(joule(520.0).1, "eV");
        assert_eq!(joule(1.4e-15).1, "J");
    }
}
