//! Values of a recipe that are numbers in SI units or texts with a unit, such as `"75um"` or
//! `"300kV"`. `measure` says what a number without a unit means, in options and in files; `raster`
//! has the step and the rotation of a raster.

mod measure;
mod raster;

pub use measure::Measure;
pub(crate) use measure::one_of;
pub use raster::{Degrees, ShortLength};

use serde::{Deserialize, Deserializer, Serializer, de::Error};
use warpstride_core::text::{Dimension, Quantity, shortest};

/// A kind of value: its dimension, and what a number without a unit means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A length; a number is in metres, if no other unit is plausible.
    Length(Measure),
    /// An angle; a number is in radians.
    Angle,
    /// An angle without a unit other than 0, as radians, milliradians and degrees are all
    /// plausible.
    AngleWithUnit,
    /// An energy, in joules if it has a unit; a number stays as it is.
    Energy,
    /// A voltage, with a unit, as volts and kilovolts are plausible.
    Voltage,
    /// A spatial frequency, with a unit, as 1/Å, 1/nm and 1/m are plausible.
    Frequency,
}

/// Energies from here on are no joules: 10⁻⁶ J are 6 · 10¹² eV.
pub const LARGEST_JOULE: f64 = 1e-6;

impl Kind {
    fn dimension(self) -> Dimension {
        match self {
            Self::Length(_) => Dimension::Length,
            Self::Angle | Self::AngleWithUnit => Dimension::Angle,
            Self::Energy => Dimension::Energy,
            Self::Voltage => Dimension::Voltage,
            Self::Frequency => Dimension::ReciprocalLength,
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Length(Measure::Wavelength) => {
                "a wavelength in metres or with a unit, such as 1.4A"
            }
            Self::Length(Measure::Distance) => "a length in metres or with a unit, such as 2m",
            Self::Length(Measure::Focus) => "a length in metres or with a unit, such as 3.65mm",
            Self::Length(Measure::Path) => "a length in metres or with a unit, such as 20um",
            Self::Length(_) => "a length in metres or with a unit, such as 75um",
            Self::Angle => "an angle in radians or with a unit, such as 17mrad",
            Self::AngleWithUnit => "an angle with a unit, such as 0.3mrad or 30deg",
            Self::Energy => "an energy with a unit, such as 8.8keV",
            Self::Voltage => "a voltage with a unit, such as 300kV",
            Self::Frequency => "a spatial frequency with a unit, such as 0.02/A",
        }
    }

    /// The question about a number without a unit, if it needs one.
    fn question(self, value: f64) -> Option<String> {
        let number = shortest(value);
        match self {
            Self::Length(measure) => measure.question(value),
            Self::Angle | Self::Energy => None,
            Self::AngleWithUnit if number == "0" || number == "-0" => None,
            Self::AngleWithUnit => Some(format!(
                "are these {number}mrad, {number}deg or {number}rad?"
            )),
            Self::Voltage => Some(format!("are these {number}kV or {number}V?")),
            Self::Frequency => Some(format!("are these {number}/A, {number}/nm or {number}/m?")),
        }
    }

    /// A number without a unit.
    ///
    /// # Errors
    /// What was expected, if the number could be in several units.
    fn of_number(self, number: f64) -> Result<f64, String> {
        match self.question(number) {
            None => Ok(number),
            Some(question) => Err(format!("{}; {question}", self.example())),
        }
    }

    /// Reads a number with a unit, or without one where one unit only is plausible, in SI units.
    ///
    /// # Errors
    /// What was expected, for a message that names the text.
    pub fn read(self, text: &str) -> Result<f64, String> {
        let dimension = self.dimension();
        let Quantity { value, has_unit } = Quantity::parse(text, dimension).map_err(|found| {
            let reason = match found.strip_prefix("the unit ") {
                Some(unit) => format!(", found the unit {unit}"),
                None => String::new(),
            };
            format!("{}{reason}", self.example())
        })?;
        if !has_unit {
            return self.of_number(value);
        }
        if self == Self::Energy && value >= LARGEST_JOULE {
            return Err("an energy below 1e-6 J".to_owned());
        }
        Ok(value)
    }

    /// Reads one value for both directions, or two separated by a comma: (row direction, column
    /// direction).
    ///
    /// # Errors
    /// What was expected, for a message that names the text.
    pub fn read_pair(self, text: &str) -> Result<[f64; 2], String> {
        match text.split_once(',') {
            None => self.read(text).map(|value| [value; 2]),
            Some((rows, columns)) => Ok([self.read(rows)?, self.read(columns)?]),
        }
    }
}

/// A value as it is written.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number or a text with a unit, such as \"75um\""
)]
enum Written {
    Number(f64),
    Text(String),
}

impl Written {
    fn value<E: Error>(&self, kind: Kind) -> Result<f64, E> {
        let read = match self {
            Self::Number(number) => kind.of_number(*number),
            Self::Text(text) => kind.read(text),
        };
        read.map_err(|expected| E::custom(format!("expected {expected}")))
    }
}

/// One value for both directions, or one for each.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number or a text with a unit, such as \"75um\", or two of them for rows and columns"
)]
enum WrittenPair {
    Text(String),
    Number(f64),
    Two([Written; 2]),
}

fn one<'de, D: Deserializer<'de>>(from: D, kind: Kind) -> Result<f64, D::Error> {
    Written::deserialize(from)?.value(kind)
}

fn pair<'de, D: Deserializer<'de>>(from: D, kind: Kind) -> Result<Option<[f64; 2]>, D::Error> {
    let value = match WrittenPair::deserialize(from)? {
        WrittenPair::Number(number) => [Written::Number(number).value(kind)?; 2],
        WrittenPair::Text(text) => kind
            .read_pair(&text)
            .map_err(|expected| D::Error::custom(format!("expected {expected}")))?,
        WrittenPair::Two([rows, columns]) => [rows.value(kind)?, columns.value(kind)?],
    };
    Ok(Some(value))
}

pub(crate) fn some_energy<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    one(from, Kind::Energy).map(Some)
}

pub(crate) fn some_angle<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    one(from, Kind::Angle).map(Some)
}

/// Writes metres as a number, or as a text with the unit if the number would be asked about.
fn write_metres<S: Serializer>(metres: f64, measure: Measure, to: S) -> Result<S::Ok, S::Error> {
    match measure.doubt(metres).is_empty() {
        true => to.serialize_f64(metres),
        false => to.serialize_str(&format!("{}m", shortest(metres))),
    }
}

/// Metres as recipes have them.
struct Metres(f64, Measure);

impl serde::Serialize for Metres {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        write_metres(self.0, self.1, to)
    }
}

/// Modules of lengths that may be absent.
macro_rules! lengths {
    ($($(#[$doc:meta])* $name:ident: $measure:expr;)*) => { $(
        $(#[$doc])*
        pub(crate) mod $name {
            use super::{Deserializer, Kind, Measure, Serializer, one, write_metres};

            #[allow(
                clippy::ref_option,
                clippy::trivially_copy_pass_by_ref,
                reason = "the form that serde expects"
            )]
            pub(crate) fn serialize<S: Serializer>(
                metres: &Option<f64>,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                match metres {
                    Some(metres) => write_metres(*metres, $measure, to),
                    None => to.serialize_none(),
                }
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<Option<f64>, D::Error> {
                one(from, Kind::Length($measure)).map(Some)
            }
        }
    )* };
}

lengths! {
    /// A wavelength.
    wavelength: Measure::Wavelength;
    /// A distance from the specimen to the detector.
    distance: Measure::Distance;
}

/// Defocus and aberrations, m.
pub(crate) mod optics {
    use super::{Deserializer, Kind, Measure, Serializer, one, write_metres};

    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "the form that serde expects"
    )]
    pub(crate) fn serialize<S: Serializer>(metres: &f64, to: S) -> Result<S::Ok, S::Error> {
        write_metres(*metres, Measure::Optics, to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        one(from, Kind::Length(Measure::Optics))
    }
}

/// Pixels of a detector (row direction, column direction), m.
pub(crate) mod pixel_size {
    use super::{Deserializer, Kind, Measure, Metres, Serializer, pair};

    #[allow(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "the form that serde expects"
    )]
    pub(crate) fn serialize<S: Serializer>(
        sides: &Option<[f64; 2]>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match sides {
            Some(sides) => to.collect_seq(sides.map(|side| Metres(side, Measure::PixelSize))),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<[f64; 2]>, D::Error> {
        pair(from, Kind::Length(Measure::PixelSize))
    }
}

/// A voltage, which is written as a text with its unit.
pub(crate) mod voltage {
    use super::{Deserializer, Kind, Serializer, one, shortest};

    #[allow(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "the form that serde expects"
    )]
    pub(crate) fn serialize<S: Serializer>(volts: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        match volts {
            Some(volts) => to.serialize_str(&format!("{}V", shortest(*volts))),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        one(from, Kind::Voltage).map(Some)
    }
}

/// An angle, which is written as a text in radians.
pub(crate) mod angle {
    use super::{Deserializer, Kind, Serializer, one, shortest};

    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "the form that serde expects"
    )]
    pub(crate) fn serialize<S: Serializer>(radians: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{}rad", shortest(*radians)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        one(from, Kind::AngleWithUnit)
    }
}

/// Writes two values with their unit.
fn write_pair<S: Serializer>(
    values: Option<[f64; 2]>,
    unit: &str,
    to: S,
) -> Result<S::Ok, S::Error> {
    match values {
        Some(values) => to.collect_seq(values.map(|value| format!("{}{unit}", shortest(value)))),
        None => to.serialize_none(),
    }
}

/// Angles (row direction, column direction), which are written as texts in radians.
pub(crate) mod angles {
    use super::{Deserializer, Kind, Serializer, pair, write_pair};

    #[allow(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "the form that serde expects"
    )]
    pub(crate) fn serialize<S: Serializer>(
        values: &Option<[f64; 2]>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        write_pair(*values, "rad", to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<[f64; 2]>, D::Error> {
        pair(from, Kind::AngleWithUnit)
    }
}

/// Spatial frequencies (row direction, column direction), which are written as texts in 1/m.
pub(crate) mod frequencies {
    use super::{Deserializer, Kind, Serializer, pair, write_pair};

    #[allow(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "the form that serde expects"
    )]
    pub(crate) fn serialize<S: Serializer>(
        values: &Option<[f64; 2]>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        write_pair(*values, "/m", to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<[f64; 2]>, D::Error> {
        pair(from, Kind::Frequency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_could_be_in_several_units_is_asked_about() {
        assert_eq!(Kind::Voltage.read("300kV"), Ok(3e5));
        let asked = Kind::Voltage.read("300").unwrap_err();
        assert!(asked.contains("300kV or 300V?"), "{asked}");
        assert_eq!(Kind::Frequency.read("0.02/A"), Ok(2e8));
        let asked = Kind::Frequency.read("0.02").unwrap_err();
        assert!(asked.contains("0.02/A, 0.02/nm or"), "{asked}");
        assert_eq!(Kind::AngleWithUnit.read("0"), Ok(0.0));
        let asked = Kind::AngleWithUnit.read("0.3").unwrap_err();
        assert!(asked.contains("0.3mrad, 0.3deg or 0.3rad?"), "{asked}");
        let distance = Kind::Length(Measure::Distance);
        assert_eq!(distance.read("2"), Ok(2.0));
        let asked = distance.read("681").unwrap_err();
        assert!(
            asked.contains("such as 2m; are these 681mm or 681m?"),
            "{asked}"
        );
        let refused = distance.read("2s").unwrap_err();
        assert!(refused.contains("found the unit s (known are"), "{refused}");
        let pixel = Kind::Length(Measure::PixelSize);
        assert_eq!(pixel.read_pair("75um,50um"), Ok([75e-6, 50e-6]));
        assert_eq!(pixel.read_pair("75um"), Ok([75e-6; 2]));
        assert!(pixel.read_pair("75um,50").is_err());
        assert!(Kind::Energy.read("1e30eV").is_err());
    }
}
