//! What belongs to the intensities: their uncertainties, their factor, and the mask.

use super::super::{IoError, shorten, units};
use super::{DataSet, scaled};

impl DataSet<'_> {
    /// The uncertainties, 1/cm if the intensities are; `factor` is that of the intensities.
    pub(super) fn uncertainties(
        &mut self,
        rows: usize,
        factor: f64,
    ) -> Result<Option<Vec<f64>>, IoError> {
        let of_signal = |name| self.source.attribute(&self.at(&self.signal), name);
        let group = |name| self.source.attribute(self.path, name);
        let named = match of_signal("uncertainties")? {
            Some(name) => Some(name),
            None => match of_signal("uncertainty")? {
                Some(name) => Some(name),
                None => group("I_uncertainty")?,
            },
        };
        let named = named.filter(|n| !n.is_empty());
        let name = named.as_deref().unwrap_or("Idev");
        // A missing dataset is an error only if an attribute names it.
        if named.is_none() && !self.has(name)? {
            return Ok(None);
        }
        let factor = self.factor_of_uncertainties(name, factor)?;
        let values = self.column(name, "uncertainties", rows)?;
        Ok(Some(scaled(values, factor)))
    }

    /// Factor of the uncertainties in `name`, whose unit may be another one than that of the
    /// intensities.
    fn factor_of_uncertainties(&mut self, name: &str, factor: f64) -> Result<f64, IoError> {
        let (signal, own) = (self.unit(&self.signal)?, self.unit(name)?);
        let Some(own) = own.filter(|own| Some(own) != signal.as_ref()) else {
            return Ok(factor);
        };
        let of_signal = signal.as_deref().map_or(Some(1.0), units::of_intensity);
        match (units::of_intensity(&own), of_signal) {
            (Some(own), Some(_)) => Ok(own),
            _ => Err(IoError::Value {
                file: self.source.name().to_owned(),
                dataset: format!("the unit of {}", self.at(name)),
                found: format!("\"{}\"", shorten(&own)),
                expected: format!(
                    "that of {}, \"{}\"",
                    self.signal,
                    shorten(&signal.unwrap_or_default())
                ),
            }),
        }
    }

    /// Refuses intensities with a factor: whether the uncertainties have it too is not defined.
    pub(super) fn check_scaling(&self) -> Result<(), IoError> {
        let path = self.at(&self.signal);
        let refuse = |found: String| {
            Err(IoError::Value {
                file: self.source.name().to_owned(),
                dataset: format!("attribute scaling_factor of {path}"),
                found,
                expected: "none, or 1".to_owned(),
            })
        };
        let named = self.source.attribute(&path, "scaling_factor")?;
        let number = match &named {
            Some(name) if self.has(name)? => {
                let (values, _) = self.numbers(name, "scaling factor")?;
                values.first().copied().filter(|_| values.len() == 1)
            }
            Some(text) => text.trim().parse().ok(),
            None => match self.source.attribute_number(&path, "scaling_factor")? {
                None => return Ok(()),
                number => number,
            },
        };
        match (number, named) {
            (Some(1.0), _) => Ok(()),
            (Some(number), _) => refuse(number.to_string()),
            (None, named) => refuse(format!("\"{}\"", shorten(&named.unwrap_or_default()))),
        }
    }

    /// Indices of the values that the mask does not exclude: NXcanSAS marks with 1 what is to be
    /// ignored. `None` without a mask.
    pub(super) fn unmasked(&mut self, rows: usize) -> Result<Option<Vec<usize>>, IoError> {
        let named = self.source.attribute(self.path, "mask")?;
        let named = named.filter(|name| !name.is_empty());
        if named.is_none() && !self.has("mask")? {
            return Ok(None);
        }
        let name = named.unwrap_or_else(|| "mask".to_owned());
        let mask = self.column(&name, "the mask", rows)?;
        if let Some(i) = mask.iter().position(|v| *v != 0.0 && *v != 1.0) {
            return Err(IoError::Value {
                file: self.source.name().to_owned(),
                dataset: format!("{}, point {}", self.at(&name), i + 1),
                found: mask[i].to_string(),
                expected: "0 (used) or 1 (ignored)".to_owned(),
            });
        }
        let kept: Vec<usize> = (0..rows).filter(|i| mask[*i] == 0.0).collect();
        if kept.len() < rows {
            self.note(format!(
                "{} of {rows} points are masked and left out",
                rows - kept.len()
            ));
        }
        Ok(Some(kept))
    }
}
