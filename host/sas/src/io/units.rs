//! Units of q and of intensities in files.

/// Unit of q.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QUnit {
    /// 1/Å.
    #[default]
    InverseAngstrom,
    /// 1/nm.
    InverseNanometre,
}

impl QUnit {
    /// Factor that converts this unit to 1/Å.
    #[must_use]
    pub fn factor(self) -> f64 {
        match self {
            Self::InverseAngstrom => 1.0,
            Self::InverseNanometre => 0.1,
        }
    }

    /// Its name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::InverseAngstrom => "1/Å",
            Self::InverseNanometre => "1/nm",
        }
    }
}

/// A note that `--q-unit` is not used, if a file states another unit.
pub(super) fn not_used(given: Option<f64>, stated: &str, factor: f64) -> Option<String> {
    let note = || format!("the given unit of q is not used: the file states {stated}");
    given.filter(|given| *given != factor).map(|_| note())
}

/// The length of a unit `1/length`, in lower case, without blanks and brackets.
fn inverse_of(unit: &str) -> Option<String> {
    let plain: String = unit
        .chars()
        .filter(|c| !c.is_whitespace() && !"{}()[]$\\".contains(*c))
        .take(32)
        .collect::<String>()
        .to_lowercase()
        .replace('\u{2212}', "-")
        .replace("&aring;", "å")
        .replace("ã…", "å")
        .replace("⁻¹", "^-1")
        .replace("mathrm", "");
    // q is an angle per length.
    let plain = match plain.strip_prefix("rad") {
        Some(rest) if rest.starts_with('/') => format!("1{rest}"),
        Some(rest) => rest.trim_start_matches(['*', '·', '.', '_']).to_owned(),
        None => plain,
    };
    let length = plain
        .strip_prefix("1/")
        .or_else(|| plain.strip_suffix("^-1"))
        .or_else(|| plain.strip_suffix("**-1"))
        .or_else(|| plain.strip_suffix("-1"));
    if let Some(length) = length {
        return Some(length.trim_end_matches(['_', '.']).to_owned());
    }
    // In words, of which a single letter would be part of a name: `a_1`.
    let words = ["inverse", "reciprocal", "inv", "per"];
    let long = plain
        .strip_prefix(words[0])
        .or_else(|| plain.strip_prefix(words[1]));
    if long == Some("a") {
        return Some("a".to_owned());
    }
    let before = words.iter().find_map(|word| plain.strip_prefix(word));
    let after = plain
        .strip_suffix("inv")
        .or_else(|| plain.strip_suffix("_1"));
    let length = before.or(after)?.trim_matches(['_', '.', '-']);
    (length.chars().count() > 1).then(|| length.to_owned())
}

/// The Bohr radius, Å (CODATA 2018).
const BOHR: f64 = 0.529_177_210_903;
/// Factor from 1/mm to 1/Å.
pub(super) const INVERSE_MM: f64 = 1e-7;
/// Factor from 1/cm to 1/Å.
pub(super) const INVERSE_CM: f64 = 1e-8;

/// Factor that converts q in `unit` to 1/Å.
pub(super) fn of_q(unit: &str) -> Option<f64> {
    of_inverse_length(&inverse_of(unit)?)
}

/// Factor that converts q in the inverse of this length to 1/Å.
pub(super) fn of_inverse_length(length: &str) -> Option<f64> {
    match length.to_lowercase().as_str() {
        "a" | "aa" | "å" | "\u{212b}" | "a\u{30a}" | "\u{fffd}" | "ang" | "angstrom"
        | "angstroms" | "ångström" => Some(1.0),
        "nm" | "nanometer" | "nanometre" | "nanometers" | "nanometres" => Some(0.1),
        "pm" => Some(100.0),
        "fm" => Some(1e5),
        "bohr" | "a0" | "a_0" | "bohrradius" => Some(1.0 / BOHR),
        "mm" => Some(INVERSE_MM),
        "um" | "µm" | "μm" | "mum" | "micron" | "microns" | "micrometer" | "micrometre"
        | "micrometers" | "micrometres" => Some(1e-4),
        "cm" => Some(INVERSE_CM),
        "m" | "meter" | "metre" | "meters" | "metres" => Some(1e-10),
        _ => None,
    }
}

/// Factor that converts an intensity in `unit` to 1/cm; `None` if it is not a cross section per
/// volume.
pub(super) fn of_intensity(unit: &str) -> Option<f64> {
    match inverse_of(unit)?.as_str() {
        "cm" => Some(1.0),
        "m" => Some(0.01),
        "mm" => Some(10.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_unit_are_recognised() {
        for a in [
            "1/A",
            "1/Å",
            "A^-1",
            " 1 / angstrom",
            "Å⁻¹",
            "A^{-1}",
            "1/\u{212b}",
        ] {
            assert_eq!(of_q(a), Some(1.0), "{a}");
        }
        for nm in [
            "1/nm",
            "nm^-1",
            "nm-1",
            "NM^(-1)",
            "nminv",
            "inv_nm",
            "nm_1",
            "per_nm",
            "nm^{-1}",
            "$\\mathrm{nm}^{-1}$",
            "inverse nm",
            "[1/nm]",
        ] {
            assert_eq!(of_q(nm), Some(0.1), "{nm}");
        }
        for other in ["", "nm", "1/s", "furlong", "a_1", "perm", "per"] {
            assert_eq!(of_q(other), None, "{other}");
        }
        assert_eq!(of_intensity("1/cm"), Some(1.0));
        assert_eq!(of_intensity("m^-1"), Some(0.01));
        assert_eq!(of_intensity("Counts"), None);
    }
}
