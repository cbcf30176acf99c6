//! Numbers with units, as people type them: `31.25A`, `-120deg`, `0.3 mrad`, `300kV`.

use std::fmt;

/// What a number with a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// In metres.
    Length,
    /// In radians.
    Angle,
    /// In 1/m.
    ReciprocalLength,
    /// In joules.
    Energy,
    /// In volts.
    Voltage,
}

/// A unit: its name, and the SI units in one of it, as a quotient of two numbers that are exact.
type Unit = (&'static str, f64, f64);

/// One electronvolt, J (CODATA 2018, exact).
const ELECTRONVOLT: f64 = 1.602_176_634e-19;

const LENGTHS: [Unit; 12] = [
    ("mm", 1.0, 1e3),
    ("cm", 1.0, 1e2),
    ("um", 1.0, 1e6),
    ("µm", 1.0, 1e6),
    ("μm", 1.0, 1e6),
    ("nm", 1.0, 1e9),
    ("pm", 1.0, 1e12),
    ("Å", 1.0, 1e10),
    // The sign for ångström, which looks the same.
    ("\u{212b}", 1.0, 1e10),
    ("angstrom", 1.0, 1e10),
    ("A", 1.0, 1e10),
    ("m", 1.0, 1.0),
];
const ANGLES: [Unit; 7] = [
    ("mrad", 1.0, 1e3),
    ("urad", 1.0, 1e6),
    ("µrad", 1.0, 1e6),
    ("rad", 1.0, 1.0),
    ("degrees", std::f64::consts::PI, 180.0),
    ("deg", std::f64::consts::PI, 180.0),
    ("°", std::f64::consts::PI, 180.0),
];
const RECIPROCAL_LENGTHS: [Unit; 13] = [
    ("1/nm", 1e9, 1.0),
    ("1/um", 1e6, 1.0),
    ("1/Å", 1e10, 1.0),
    ("1/A", 1e10, 1.0),
    ("1/m", 1.0, 1.0),
    ("nm^-1", 1e9, 1.0),
    ("A^-1", 1e10, 1.0),
    ("Å^-1", 1e10, 1.0),
    ("m^-1", 1.0, 1.0),
    ("/nm", 1e9, 1.0),
    ("/Å", 1e10, 1.0),
    ("/A", 1e10, 1.0),
    ("/m", 1.0, 1.0),
];
const ENERGIES: [Unit; 5] = [
    ("keV", 1e3 * ELECTRONVOLT, 1.0),
    ("MeV", 1e6 * ELECTRONVOLT, 1.0),
    ("meV", 1e-3 * ELECTRONVOLT, 1.0),
    ("eV", ELECTRONVOLT, 1.0),
    ("J", 1.0, 1.0),
];
const VOLTAGES: [Unit; 3] = [("kV", 1e3, 1.0), ("MV", 1e6, 1.0), ("V", 1.0, 1.0)];

impl Dimension {
    fn units(self) -> &'static [Unit] {
        match self {
            Self::Length => &LENGTHS,
            Self::Angle => &ANGLES,
            Self::ReciprocalLength => &RECIPROCAL_LENGTHS,
            Self::Energy => &ENERGIES,
            Self::Voltage => &VOLTAGES,
        }
    }

    /// SI units in one of the unit called `name`; `None` if it is no unit of this dimension.
    #[must_use]
    pub fn unit(self, name: &str) -> Option<f64> {
        let name = name.trim();
        let unit = self.units().iter().find(|unit| unit.0 == name)?;
        Some(unit.1 / unit.2)
    }

    /// The names of the units, separated by commas.
    #[must_use]
    pub fn names(self) -> String {
        let names: Vec<&str> = self.units().iter().map(|unit| unit.0).collect();
        names.join(", ")
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "a length",
            Self::Angle => "an angle",
            Self::ReciprocalLength => "a reciprocal length",
            Self::Energy => "an energy",
            Self::Voltage => "a voltage",
        })
    }
}

/// A finite number, with a unit or without.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// The number in SI units; as it was written if it has no unit.
    pub value: f64,
    /// Whether it has a unit.
    pub has_unit: bool,
}

impl Quantity {
    /// Reads a number that may have a unit of `dimension` behind it, with spaces between or
    /// without. A reciprocal length may be written as a quotient: `0.02/A`.
    ///
    /// # Errors
    /// Says what was found instead, to be put behind `found`: `the unit s (known are …)`.
    pub fn parse(text: &str, dimension: Dimension) -> Result<Self, String> {
        let text = text.trim();
        let mut units: Vec<&Unit> = dimension.units().iter().collect();
        // `mm` before `m`.
        units.sort_by_key(|unit| std::cmp::Reverse(unit.0.len()));
        let mut best = None;
        for unit in units {
            let Some(number) = text.strip_suffix(unit.0) else {
                continue;
            };
            // 0.1/nm is no 0. of 1/nm.
            if unit.0.starts_with('1') && !number.ends_with(char::is_whitespace) {
                continue;
            }
            if let Ok(number) = number.trim_end().parse::<f64>() {
                best = Some((number * unit.1 / unit.2, true));
                break;
            }
        }
        let (value, has_unit) = match best {
            Some(found) => found,
            None => match text.parse::<f64>() {
                Ok(number) => (number, false),
                Err(_) => return Err(described(text, dimension)),
            },
        };
        if !value.is_finite() {
            return Err(format!("\"{text}\", which is not finite"));
        }
        Ok(Self { value, has_unit })
    }
}

/// A description of a text that has no number with a known unit.
fn described(text: &str, dimension: Dimension) -> String {
    let numeric = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.');
    let number = text.trim_end_matches(|c: char| !numeric(c));
    let unit = text[number.len()..].trim();
    if number.parse::<f64>().is_ok() && !unit.is_empty() {
        return format!("the unit {unit} (known are {})", dimension.names());
    }
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn si(text: &str, dimension: Dimension) -> f64 {
        Quantity::parse(text, dimension).unwrap().value
    }

    #[test]
    fn units_are_read() {
        assert_eq!(si("31.25A", Dimension::Length), 31.25e-10);
        assert_eq!(si("31.25 Å", Dimension::Length), 31.25e-10);
        assert_eq!(si("75um", Dimension::Length), 75e-6);
        assert_eq!(si("1e-3mm", Dimension::Length), 1e-6);
        assert_eq!(si("2", Dimension::Length), 2.0);
        assert_eq!(si("-180deg", Dimension::Angle), -std::f64::consts::PI);
        assert_eq!(si("0.3mrad", Dimension::Angle), 0.3e-3);
        assert_eq!(si("0.02/A", Dimension::ReciprocalLength), 0.02e10);
        assert_eq!(si("2 1/nm", Dimension::ReciprocalLength), 2e9);
        assert_eq!(si("0.5/nm", Dimension::ReciprocalLength), 0.5e9);
        assert_eq!(si("1/nm", Dimension::ReciprocalLength), 1e9);
        assert_eq!(si("0.25 1/A", Dimension::ReciprocalLength), 0.25e10);
        assert_eq!(si("300kV", Dimension::Voltage), 3e5);
        let energy = si("8.8keV", Dimension::Energy) / ELECTRONVOLT;
        assert!((energy - 8.8e3).abs() < 1e-9, "{energy}");
        assert!(!Quantity::parse("300", Dimension::Voltage).unwrap().has_unit);
        assert!(Quantity::parse("0m", Dimension::Length).unwrap().has_unit);
    }

    #[test]
    fn other_texts_are_described() {
        for (text, found) in [
            ("3s", "the unit s (known are mm,"),
            ("", "\"\""),
            ("um", "\"um\""),
            ("1e400m", "\"1e400m\", which is not finite"),
            ("nan", "\"nan\", which is not finite"),
            ("3mm2", "\"3mm2\""),
        ] {
            let error = Quantity::parse(text, Dimension::Length).unwrap_err();
            assert!(error.starts_with(found), "{text}: {error}");
        }
    }
}
