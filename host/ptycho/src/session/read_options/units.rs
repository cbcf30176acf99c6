//! Units of the numbers of a file that does not state them: the table `[data.units]`.

use super::datasets::{is_pixel, si_units};
use crate::RecipeError;
use serde::{Deserialize, Serialize};
use warpstride_core::text::Dimension;

/// Units of numbers in the file, in place of those that it states; each by its name, such as `um`,
/// `A` or `keV`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Units {
    /// Unit of the positions: a length, or `pixel` for object pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<String>,
    /// Unit of the wavelength.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wavelength: Option<String>,
    /// Unit of the energy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<String>,
    /// Unit of the distance from the specimen to the detector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<String>,
    /// Unit of the detector pixel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pixel_size: Option<String>,
}

impl Units {
    /// Whether none is given.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that the units are known.
    ///
    /// # Errors
    /// Names the first that is not.
    pub(super) fn check(&self) -> Result<(), RecipeError> {
        let units = [
            ("positions", &self.positions, Dimension::Length),
            ("wavelength", &self.wavelength, Dimension::Length),
            ("energy", &self.energy, Dimension::Energy),
            ("distance", &self.distance, Dimension::Length),
            ("pixel_size", &self.pixel_size, Dimension::Length),
        ];
        for (option, unit, dimension) in units {
            if let Some(unit) = unit
                && si_units(dimension, unit).is_none()
                && !(option == "positions" && is_pixel(unit))
            {
                let or = if option == "positions" {
                    " or pixel"
                } else {
                    ""
                };
                let expected = format!("a unit of {}: {}{or}", noun(dimension), dimension.names());
                let option = format!("data.units.{option}");
                return Err(RecipeError::new(option, expected, format!("\"{unit}\"")));
            }
        }
        Ok(())
    }
}

/// What a unit measures.
pub(crate) fn noun(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Length => "length",
        Dimension::Angle => "angle",
        Dimension::ReciprocalLength => "reciprocal length",
        Dimension::Energy => "energy",
        Dimension::Voltage => "voltage",
    }
}
