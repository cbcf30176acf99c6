//! Step and rotation of a raster in a recipe: texts with units.

use super::measure::{Measure, one_of};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use warpstride_core::text::{Dimension, Quantity, shortest};

/// A number, or a text with a unit.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number or a text with a unit, such as \"31.25A\""
)]
enum Given {
    Number(f64),
    Text(String),
}

/// A short length, m: in a recipe a text with a unit, or a number of metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShortLength(pub f64);

impl ShortLength {
    /// Reads a length above 0. Without a unit it is in metres, which has to be the only plausible
    /// unit.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read = Quantity::parse(text, Dimension::Length)
            .map_err(|found| format!("expected a length such as 31.25A or 0.5um, found {found}"))?;
        Self::checked(read)
    }

    fn checked(read: Quantity) -> Result<Self, String> {
        let value = shortest(read.value);
        if read.value <= 0.0 {
            return Err(format!("expected a length above 0, found {value}"));
        }
        let units = Measure::Step.doubt(read.value);
        if !read.has_unit && !units.is_empty() {
            let written: Vec<String> = units.iter().map(|unit| format!("{value}{unit}")).collect();
            return Err(format!(
                "{value} has no unit: is it in {}? Write {}",
                one_of(&units),
                one_of(&written)
            ));
        }
        Ok(Self(read.value))
    }
}

impl<'de> Deserialize<'de> for ShortLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = match Given::deserialize(deserializer)? {
            Given::Number(value) => Self::checked(Quantity {
                value,
                has_unit: false,
            }),
            Given::Text(text) => Self::parse(&text),
        };
        read.map_err(de::Error::custom)
    }
}

impl Serialize for ShortLength {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{}m", self.0))
    }
}

/// An angle, degrees: in a recipe a text with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Degrees(pub f64);

impl Degrees {
    /// Reads an angle; only 0 may have no unit.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn parse(text: &str) -> Result<Self, String> {
        // So that degrees keep all digits.
        let degrees = ["degrees", "deg", "°"]
            .iter()
            .find_map(|unit| text.trim().strip_suffix(unit));
        if let Some(Ok(value)) = degrees.map(|number| number.trim().parse::<f64>())
            && value.is_finite()
        {
            return Ok(Self(value));
        }
        let read = Quantity::parse(text, Dimension::Angle)
            .map_err(|found| format!("expected an angle such as -120deg, found {found}"))?;
        if !read.has_unit && read.value != 0.0 {
            let value = shortest(read.value);
            return Err(format!(
                "{value} has no unit: is it in degrees or radians? Write {value}deg or {value}rad"
            ));
        }
        Ok(Self(read.value.to_degrees()))
    }

    /// The rotation from the row axis to the column axis, counterclockwise where rows are drawn
    /// downwards and columns to the right, as the matrix [[a, b], [c, d]]: row' = a·row + b·column,
    /// column' = c·row + d·column. Multiples of 90° are exact.
    #[must_use]
    pub fn rotation(self) -> [[f64; 2]; 2] {
        let turned = self.0.rem_euclid(360.0);
        let (sine, cosine) = match turned / 90.0 {
            0.0 | 4.0 => (0.0, 1.0),
            1.0 => (1.0, 0.0),
            2.0 => (0.0, -1.0),
            3.0 => (-1.0, 0.0),
            _ => turned.to_radians().sin_cos(),
        };
        [[cosine, -sine], [sine, cosine]]
    }
}

impl<'de> Deserialize<'de> for Degrees {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Given::deserialize(deserializer)? {
            Given::Number(value) => value.to_string(),
            Given::Text(text) => text,
        };
        Self::parse(&text).map_err(de::Error::custom)
    }
}

impl Serialize for Degrees {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{}deg", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_need_a_unit_unless_they_can_only_be_metres() {
        assert_eq!(ShortLength::parse("31.25A"), Ok(ShortLength(31.25e-10)));
        assert_eq!(ShortLength::parse("5e-7"), Ok(ShortLength(5e-7)));
        for (text, said) in [
            ("31.25", "is it in um, nm or A?"),
            ("0.5", "is it in um, nm or A?"),
            ("-3um", "above 0"),
            ("0nm", "above 0"),
            ("3s", "the unit s"),
        ] {
            let error = ShortLength::parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn angles_need_a_unit() {
        assert_eq!(Degrees::parse("-120deg"), Ok(Degrees(-120.0)));
        assert_eq!(Degrees::parse("0"), Ok(Degrees(0.0)));
        assert!((Degrees::parse("3.14159rad").unwrap().0 - 180.0).abs() < 1e-3);
        let error = Degrees::parse("-120").unwrap_err();
        assert!(error.contains("degrees or radians?"), "{error}");
    }
}
