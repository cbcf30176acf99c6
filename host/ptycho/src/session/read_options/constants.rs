//! The beam and the detector of a recipe: `[data.constants]`.

use crate::RecipeError;
use crate::session::quantities;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use warpstride_core::text::shortest;

/// Plausible wavelengths of photons or electrons, m: from γ rays to the far infrared.
pub(crate) const WAVELENGTHS: RangeInclusive<f64> = 1e-13..=1e-3;

/// Voltages of electron microscopes, V.
pub(crate) const VOLTAGES: RangeInclusive<f64> = 100.0..=1e7;

/// Largest angle of a detector pixel, rad.
const LARGEST_ANGLE: f64 = 0.5;

/// Geometry that replaces or completes that of the file. Values are numbers in SI units or texts
/// with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Constants {
    /// Wavelength, m.
    #[serde(
        skip_serializing_if = "Option::is_none",
        with = "quantities::wavelength"
    )]
    pub wavelength: Option<f64>,
    /// Energy of photons, J, or a number without a unit, which has to have one plausible unit only;
    /// excludes `wavelength`.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "quantities::some_energy"
    )]
    pub energy: Option<f64>,
    /// Voltage that has accelerated electrons, V; excludes `wavelength` and `energy`.
    #[serde(skip_serializing_if = "Option::is_none", with = "quantities::voltage")]
    pub voltage: Option<f64>,
    /// Distance from the specimen to the detector, m.
    #[serde(skip_serializing_if = "Option::is_none", with = "quantities::distance")]
    pub distance: Option<f64>,
    /// Detector pixel (row direction, column direction), m.
    #[serde(
        skip_serializing_if = "Option::is_none",
        with = "quantities::pixel_size"
    )]
    pub pixel_size: Option<[f64; 2]>,
    /// Angle of a detector pixel (row direction, column direction) as seen from the specimen, rad;
    /// takes the place of `pixel_size`.
    #[serde(skip_serializing_if = "Option::is_none", with = "quantities::angles")]
    pub pixel_angle: Option<[f64; 2]>,
    /// Spatial frequency from one detector pixel to the next (row direction, column direction),
    /// 1/m: its angle over the wavelength; takes the place of `pixel_size`.
    #[serde(
        skip_serializing_if = "Option::is_none",
        with = "quantities::frequencies"
    )]
    pub pixel_frequency: Option<[f64; 2]>,
}

impl Constants {
    /// The angles (row direction, column direction) of a detector pixel at this wavelength, rad,
    /// with the option that gives them.
    #[must_use]
    pub fn angles(&self, wavelength: f64) -> Option<(&'static str, [f64; 2])> {
        match (self.pixel_angle, self.pixel_frequency) {
            (Some(angles), _) => Some(("data.constants.pixel_angle", angles)),
            (None, Some(frequencies)) => Some((
                "data.constants.pixel_frequency",
                frequencies.map(|frequency| frequency * wavelength),
            )),
            (None, None) => None,
        }
    }

    /// Whether the wavelength is known.
    pub(crate) fn has_beam(&self) -> bool {
        self.wavelength.is_some() || self.energy.is_some() || self.voltage.is_some()
    }

    /// Checks what does not depend on the scan.
    ///
    /// # Errors
    /// Returns an error that names the first option out of range, or that contradicts another.
    pub(super) fn check(&self, near_field: bool) -> Result<(), RecipeError> {
        let refuse = |option: &str, expected: &str, found: String| {
            let option = format!("data.constants.{option}");
            Err(RecipeError::new(option, expected, found))
        };
        if let Some(wavelength) = self.wavelength
            && !WAVELENGTHS.contains(&wavelength)
        {
            let expected = "a wavelength in metres between 1e-13 and 1e-3";
            return refuse("wavelength", expected, shortest(wavelength));
        }
        if let (Some(_), Some(energy)) = (self.wavelength, self.energy) {
            let expected = "constants.wavelength or constants.energy, not both";
            return refuse("energy", expected, shortest(energy));
        }
        if let Some(voltage) = self.voltage {
            if !VOLTAGES.contains(&voltage) {
                let expected = "a voltage between 100V and 10MV";
                return refuse("voltage", expected, format!("{}V", shortest(voltage)));
            }
            for (other, given) in [("wavelength", self.wavelength), ("energy", self.energy)] {
                if let Some(value) = given {
                    let expected =
                        format!("constants.voltage, of electrons, or constants.{other}, not both");
                    return refuse(other, &expected, shortest(value));
                }
            }
        }
        for (option, value) in [
            ("energy", self.energy),
            ("distance", self.distance),
            ("pixel_size", self.pixel_size.map(|[rows, _]| rows)),
            ("pixel_size", self.pixel_size.map(|[_, columns]| columns)),
        ] {
            if let Some(value) = value
                && !(value.is_finite() && value > 0.0)
            {
                return refuse(option, "a finite number above 0", shortest(value));
            }
        }
        let angles = [
            ("pixel_angle", self.pixel_angle),
            ("pixel_frequency", self.pixel_frequency),
        ];
        let given = angles
            .into_iter()
            .filter_map(|(option, values)| Some((option, values?)));
        let given: Vec<_> = given.collect();
        for (option, [rows, columns]) in &given {
            let found = format!("[{}, {}]", shortest(*rows), shortest(*columns));
            let largest = match *option {
                "pixel_angle" => LARGEST_ANGLE,
                _ => f64::MAX,
            };
            if ![rows, columns]
                .into_iter()
                .all(|v| *v > 0.0 && *v <= largest)
            {
                let expected = match *option {
                    "pixel_angle" => "angles above 0, at most 0.5 rad",
                    _ => "finite spatial frequencies above 0",
                };
                return refuse(option, expected, found);
            }
            if self.pixel_size.is_some() {
                let expected = format!("constants.{option} or constants.pixel_size, not both");
                return refuse(option, &expected, found);
            }
            if near_field {
                let expected = "constants.pixel_size and constants.distance in the near field, where the pixel itself counts";
                return refuse(option, expected, found);
            }
        }
        if let [_, (option, [rows, columns])] = given.as_slice() {
            let expected = "constants.pixel_angle or constants.pixel_frequency, not both";
            let found = format!("[{}, {}]", shortest(*rows), shortest(*columns));
            return refuse(option, expected, found);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Constants, String> {
        let read: Constants = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        read.check(false).map_err(|error| error.to_string())?;
        Ok(read)
    }

    #[test]
    fn values_have_units_or_are_numbers_and_survive_toml() {
        let read =
            of("voltage = \"300kV\"\npixel_angle = \"0.3mrad\"\ndistance = \"2.5 m\"").unwrap();
        assert_eq!(read.voltage, Some(3e5));
        assert_eq!(read.pixel_angle, Some([3e-4; 2]));
        assert_eq!(read.distance, Some(2.5));
        let read_again: Constants = toml::from_str(&toml::to_string(&read).unwrap()).unwrap();
        assert_eq!(read_again, read);
        let read = of("energy = \"8.8keV\"\npixel_size = [\"75um\", 5e-5]").unwrap();
        assert!((read.energy.unwrap() / (8.8e3 * 1.602_176_634e-19) - 1.0).abs() < 1e-12);
        assert_eq!(read.pixel_size, Some([75e-6, 5e-5]));
        assert_eq!(toml::from_str(&toml::to_string(&read).unwrap()), Ok(read));
        let read = of("wavelength = \"1.4A\"\npixel_frequency = [\"0.02/A\", \"0.2/nm\"]").unwrap();
        assert_eq!(read.pixel_frequency, Some([2e8; 2]));
        let (_, [angle, _]) = read.angles(1.4e-10).unwrap();
        assert!((angle - 0.028).abs() < 1e-15);
        assert_eq!(toml::from_str(&toml::to_string(&read).unwrap()), Ok(read));
        assert_eq!(of("energy = 8.8").unwrap().energy, Some(8.8));
        assert_eq!(of("pixel_size = 5e-5").unwrap().pixel_size, Some([5e-5; 2]));
        // Numbers stay numbers unless they would be asked about.
        let read = of("distance = \"25m\"\npixel_size = [5e-5, \"2mm\"]").unwrap();
        let text = toml::to_string(&read).unwrap();
        assert!(text.contains("distance = \"25m\""), "{text}");
        assert!(
            text.contains("pixel_size = [0.00005, \"0.002m\"]"),
            "{text}"
        );
        assert_eq!(toml::from_str(&text), Ok(read));
    }

    #[test]
    fn contradictions_and_doubtful_units_are_refused() {
        for (text, words) in [
            ("voltage = 300", "300kV or 300V?"),
            ("voltage = \"300\"", "300kV or 300V?"),
            ("voltage = \"3V\"", "between 100V and 10MV"),
            ("voltage = \"300keV\"", "a voltage with a unit"),
            ("pixel_size = 75", "are these 75um or 75m?"),
            ("distance = 681", "are these 681mm or 681m?"),
            ("wavelength = \"1.4\"", "1.4nm, 1.4A, 1.4pm or 1.4m?"),
            ("pixel_angle = 0.3", "0.3mrad, 0.3deg or 0.3rad?"),
            ("pixel_angle = \"60deg\"", "at most 0.5 rad"),
            ("voltage = \"300kV\"\nenergy = 8.8", "not both"),
            ("voltage = \"300kV\"\nwavelength = 1e-10", "not both"),
            ("pixel_angle = \"1mrad\"\npixel_size = 1e-4", "not both"),
            (
                "pixel_angle = \"1mrad\"\npixel_frequency = \"0.1/nm\"",
                "not both",
            ),
            ("distance = true", "a number or a text with a unit"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let near: Constants = toml::from_str("pixel_angle = \"1mrad\"").unwrap();
        assert!(near.check(true).is_err());
    }
}
