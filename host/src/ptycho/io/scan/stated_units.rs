//! Units of datasets: their attribute `units`.

use crate::io::IoError;
use crate::io::source::Source;
use crate::ptycho::quantities::LARGEST_JOULE;
use crate::ptycho::read_options::si_units;
use crate::text::{Dimension, shortest};

/// The unit, if it is given, and SI units in one of it. An unknown one is noted, and not used.
fn unit(
    source: &Source,
    path: &str,
    dimension: Dimension,
    notes: &mut Vec<String>,
) -> Result<Option<(String, f64)>, IoError> {
    let Some(name) = source.attribute(path, "units")? else {
        return Ok(None);
    };
    let factor = si_units(dimension, &name);
    if factor.is_none() && !name.trim().is_empty() {
        notes.push(format!(
            "{path} has the unit {}, which is not known as one of {dimension}: it is not used",
            crate::text::visible(&name)
        ));
    }
    Ok(factor.map(|factor| (name, factor)))
}

/// A length in the file, m: in its unit, or in metres without one.
pub(super) fn length(
    source: &Source,
    path: &str,
    value: f64,
    notes: &mut Vec<String>,
) -> Result<f64, IoError> {
    match unit(source, path, Dimension::Length, notes)? {
        Some((name, factor)) if factor != 1.0 => {
            notes.push(format!("{path} is {} {name}", shortest(value)));
            Ok(value * factor)
        }
        _ => Ok(value),
    }
}

/// An energy in the file: in J if it has a unit, else as it is.
pub(super) fn energy(
    source: &Source,
    path: &str,
    value: f64,
    notes: &mut Vec<String>,
) -> Result<f64, IoError> {
    let Some((name, factor)) = unit(source, path, Dimension::Energy, notes)? else {
        return Ok(value);
    };
    let joule = value * factor;
    if joule >= LARGEST_JOULE {
        notes.push(format!(
            "{path} has the unit {name}, which {} cannot be in: the unit is not used",
            shortest(value)
        ));
        return Ok(value);
    }
    if factor != 1.0 {
        notes.push(format!("{path} is {} {name}", shortest(value)));
    }
    Ok(joule)
}
