//! The calibration that py4DSTEM stores beside a datacube, as metadata of EMD 1.0: numbers and
//! texts in `metadatabundle/calibration` of the datacube's group or of one above it.

use super::super::units::attribute_unit;
use super::AxisStep;
use std::ops::RangeInclusive;
use warpstride_core::text::{Dimension, shortest, visible};
use warpstride_files::IoError;
use warpstride_files::source::Source;

/// Where metadata are in a group.
const CALIBRATIONS: [&str; 2] = ["metadatabundle/calibration", "calibration"];
/// Voltages of electron microscopes, V.
const VOLTAGES: RangeInclusive<f64> = 1e4..=2e6;

/// What a calibration says.
#[derive(Default)]
pub(super) struct Calibration {
    /// Step of the scan, the same along both axes.
    pub(super) scan: Option<AxisStep>,
    /// Detector pixel, the same along both axes.
    pub(super) detector: Option<AxisStep>,
    /// Path, and voltage that has accelerated the electrons, V.
    pub(super) voltage: Option<(String, f64)>,
}

impl Calibration {
    /// Reads the calibration of the datacube `group`; notes what is taken of it, and what is not.
    ///
    /// # Errors
    /// A number is damaged.
    pub(super) fn read(
        source: &Source,
        group: &str,
        notes: &mut Vec<String>,
    ) -> Result<Self, IoError> {
        let Some(at) = place(source, group) else {
            return Ok(Self::default());
        };
        let number = |name: &str| -> Result<Option<(String, f64)>, IoError> {
            let path = format!("{at}/{name}");
            match source.numbers(&path) {
                Ok(Some(numbers)) => Ok(Some((path, numbers.common_value()?))),
                // A text stands for what is not known.
                Ok(None) | Err(IoError::Type { .. }) => Ok(None),
                Err(other) => Err(other),
            }
        };
        let step = |name: &str| -> Result<Option<AxisStep>, IoError> {
            let unit = source.label(&format!("{at}/{name}_units"))?;
            let size = number(&format!("{name}_size"))?;
            let step =
                size.map(|(path, step)| AxisStep::new(path, step, &unit.unwrap_or_default()));
            Ok(step.filter(|step| !step.counts_pixels()))
        };
        let voltage = match number("accelerating_voltage")? {
            None => None,
            Some((path, value)) => voltage(source, &path, value, notes)?.map(|volts| (path, volts)),
        };
        let mut turned = Vec::new();
        if let Some((_, angle)) = number("QR_rotation_degrees")? {
            turned.push(format!("QR_rotation_degrees = {}", shortest(angle)));
        } else if let Some((_, angle)) = number("QR_rotation")? {
            turned.push(format!("QR_rotation = {}", shortest(angle)));
        }
        if let Some((_, flip)) = number("QR_flip")? {
            turned.push(format!("QR_flip = {}", flip != 0.0));
        }
        if !turned.is_empty() {
            notes.push(format!(
                "{at}: {} is not applied, as it is not documented which sense it has: --find-rotation finds the rotation of the scan, data.raster.rotation and data.swap_axes state it",
                turned.join(", ")
            ));
        }
        Ok(Self {
            scan: step("R_pixel")?,
            detector: step("Q_pixel")?,
            voltage,
        })
    }
}

/// The group with the calibration: that of the datacube, or the nearest above it.
fn place(source: &Source, group: &str) -> Option<String> {
    let mut above = Some(group);
    while let Some(at) = above {
        let found = CALIBRATIONS
            .iter()
            .map(|name| format!("{at}/{name}"))
            .find(|path| matches!(source.group(path), Ok(Some(_))));
        if found.is_some() {
            return found;
        }
        above = at.rsplit_once('/').map(|(parent, _)| parent);
    }
    None
}

/// The voltage, V: in the unit of the dataset, or that in which it is one of a microscope; `None`,
/// which is noted, if it is in neither.
fn voltage(
    source: &Source,
    path: &str,
    value: f64,
    notes: &mut Vec<String>,
) -> Result<Option<f64>, IoError> {
    let (unit, volts) = match attribute_unit(source, path) {
        Ok(Some(unit)) => {
            let volts = Dimension::Voltage.unit(&unit).map(|volts| volts * value);
            (format!("units = \"{}\"", visible(&unit)), volts)
        }
        Ok(None) if VOLTAGES.contains(&value) => (String::new(), Some(value)),
        Ok(None) => ("no unit".to_owned(), Some(1e3 * value)),
        Err(IoError::Value { found, .. }) => (found, None),
        Err(other) => return Err(other),
    };
    let volts = volts.filter(|volts| VOLTAGES.contains(volts));
    if volts.is_none() {
        notes.push(format!(
            "{path} is {} with {unit}, which is no voltage of an electron microscope: it is not used (--voltage 300kV states it)",
            shortest(value)
        ));
    }
    Ok(volts)
}
