//! Values of the table `[data.paths]`: one dataset or one for each direction, and units.

use serde::{Deserialize, Serialize};
use warpstride_core::text::Dimension;

/// One dataset, or one for the rows and one for the columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected the path of a dataset, or an array of two: that of the rows and that of the columns"
)]
pub enum Datasets {
    /// Both directions in one.
    One(String),
    /// (row direction, column direction).
    Two([String; 2]),
}

impl Datasets {
    /// The paths.
    #[must_use]
    pub fn paths(&self) -> &[String] {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Two(paths) => paths,
        }
    }

    /// Whether no dataset is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::One(path) if path.is_empty())
    }

    /// What errors and notes call them.
    pub(crate) fn label(&self) -> &str {
        self.paths().first().map_or("", String::as_str)
    }
}

impl Default for Datasets {
    fn default() -> Self {
        Self::One(String::new())
    }
}

impl From<&str> for Datasets {
    fn from(path: &str) -> Self {
        Self::One(path.to_owned())
    }
}

/// Unit of positions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected metres per unit, such as 1e-6, or the name of a unit, such as \"um\" or \"pixel\""
)]
pub enum PositionUnit {
    /// Metres in one.
    Metres(f64),
    /// Name of a unit of length, or `pixel`: object pixels.
    Name(String),
}

/// Names of the object pixel as a unit of positions.
const PIXELS: [&str; 3] = ["pixel", "pixels", "px"];

/// Whether `unit` is the object pixel.
pub(crate) fn is_pixel(unit: &str) -> bool {
    PIXELS.contains(&unit.trim())
}

/// SI units in one of the unit `name`, as recipes and the attributes of files write it: `um`,
/// `micron`, `millimetres`, `keV`.
pub(crate) fn si_units(dimension: Dimension, name: &str) -> Option<f64> {
    // `[um]` and `(um)`, as some programs write units.
    let name = name.trim();
    let bare = (name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']')))
    .or_else(|| name.strip_prefix('(')?.strip_suffix(')'));
    let name = bare.unwrap_or(name).trim();
    if let Some(unit) = dimension.unit(name) {
        return Some(unit);
    }
    let lower = name.to_lowercase();
    let singular = lower.strip_suffix('s').unwrap_or(&lower);
    let symbol = match singular.replace("meter", "metre").as_str() {
        "metre" => "m",
        "centimetre" => "cm",
        "millimetre" => "mm",
        "micrometre" | "micron" => "um",
        "nanometre" => "nm",
        "picometre" => "pm",
        "angstrom" | "ångström" | "ångstrom" | "angstroem" | "ang" => "A",
        "joule" => "J",
        "kev" | "kiloelectronvolt" => "keV",
        "ev" | "electronvolt" => "eV",
        "kv" | "kilovolt" => "kV",
        "v" | "volt" => "V",
        "degree" => "deg",
        "radian" => "rad",
        "milliradian" => "mrad",
        // All in capitals or all small letters; µ is one of two characters.
        "\u{b5}m" | "\u{3bc}m" | "\u{b5}" | "\u{3bc}" => "um",
        "\u{e5}" => "A",
        _ if ["mm", "cm", "um", "nm", "pm"].contains(&lower.as_str()) => &lower,
        _ => return None,
    };
    dimension.unit(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_known_by_symbol_and_name() {
        for (name, metres) in [
            ("um", 1e-6),
            ("µm", 1e-6),
            ("microns", 1e-6),
            ("Millimeters", 1e-3),
            ("metre", 1.0),
            ("Å", 1e-10),
            ("angstroms", 1e-10),
            ("NM", 1e-9),
            ("[um]", 1e-6),
            ("\u{b5}M", 1e-6),
            ("\u{3bc}m", 1e-6),
            ("Micron", 1e-6),
            ("\u{212b}", 1e-10),
        ] {
            assert_eq!(si_units(Dimension::Length, name), Some(metres), "{name}");
        }
        assert_eq!(
            si_units(Dimension::Energy, "KeV"),
            Dimension::Energy.unit("keV")
        );
        for name in ["furlong", "keV", "", "s", "M"] {
            assert_eq!(si_units(Dimension::Length, name), None, "{name}");
        }
    }
}
