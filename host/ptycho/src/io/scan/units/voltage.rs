//! Voltages of electron microscopes in files, some of which have them as energies.

use super::{UnitReader, attribute_unit, given};
use crate::session::quantities::Measure;
use crate::session::read_options::{VOLTAGES, si_units};
use std::ops::RangeInclusive;
use warpstride_core::text::{Dimension, shortest};
use warpstride_files::IoError;

/// Voltages of electron microscopes that scan, V.
const MICROSCOPES: RangeInclusive<f64> = 2e4..=2e6;

impl UnitReader<'_> {
    /// The voltage, V, that has accelerated electrons, of the number `value` in `dataset`: in the
    /// unit of its attribute, or in V, as this program writes it.
    ///
    /// # Errors
    /// The unit is no voltage, or there is none and the number is none of a microscope in V.
    pub(in crate::io::scan) fn voltage(&self, dataset: &str, value: f64) -> Result<f64, IoError> {
        let refused = |found: String, expected: &str| IoError::Value {
            file: self.source.name().to_owned(),
            dataset: dataset.to_owned(),
            found,
            expected: format!(
                "{expected} (data.constants.voltage takes its place: --voltage 300kV)"
            ),
        };
        let number = shortest(value);
        let volts = match attribute_unit(self.source, dataset)? {
            Some(unit) => {
                let known = si_units(Dimension::Voltage, &unit).map(|volts| volts * value);
                known.ok_or_else(|| {
                    let expected = format!("a unit of voltage ({})", Dimension::Voltage.names());
                    refused(format!("the attribute units = \"{unit}\""), &expected)
                })?
            }
            None if MICROSCOPES.contains(&value) => value,
            None => {
                let found = format!("{number} without a unit: is it in kV or V?");
                return Err(refused(found, "a voltage with a unit"));
            }
        };
        if !VOLTAGES.contains(&volts) {
            let found = format!("{}V", shortest(volts));
            return Err(refused(found, "a voltage between 100V and 10MV"));
        }
        Ok(volts)
    }

    /// The voltage, V, of electrons that a file has as the energy of its beam: a number in a unit
    /// of voltage, with its dataset; `None` if it has another unit, or none. It is noted if it is
    /// `needed`, as nothing else states the wavelength.
    ///
    /// # Errors
    /// It is needed, and below those of microscopes, so that photons may be meant.
    pub(in crate::io::scan) fn voltage_of_energy(
        &self,
        energy: Option<&(String, f64)>,
        needed: bool,
        notes: &mut Vec<String>,
    ) -> Result<Option<(String, f64)>, IoError> {
        let Some((dataset, value)) = energy else {
            return Ok(None);
        };
        let unit = match attribute_unit(self.source, dataset)? {
            Some(unit) if given(Measure::Energy, self.options).is_none() => unit,
            _ => return Ok(None),
        };
        let Some(factor) = si_units(Dimension::Voltage, &unit) else {
            return Ok(None);
        };
        let volts = value * factor;
        let kilovolts = shortest(volts / 1e3);
        let needed = needed && !self.options.constants.has_beam();
        if !MICROSCOPES.contains(&volts) {
            if !needed {
                return Ok(None);
            }
            return Err(IoError::Value {
                file: self.source.name().to_owned(),
                dataset: dataset.clone(),
                found: format!(
                    "{} with units = \"{unit}\": are these electrons of {kilovolts} kV (--voltage {kilovolts}kV) or photons of {kilovolts} keV (--energy {kilovolts}keV)?",
                    shortest(*value)
                ),
                expected: "an energy with a unit of energy, or a voltage of an electron microscope (data.constants.voltage and data.constants.energy take its place)".to_owned(),
            });
        }
        if needed {
            notes.push(format!(
                "{dataset} has the unit {unit}, one of a voltage: {kilovolts} kV are taken as the voltage that has accelerated electrons (data.constants.energy states an energy of photons)"
            ));
        }
        Ok(Some((dataset.clone(), volts)))
    }
}
