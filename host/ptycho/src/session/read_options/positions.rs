//! Positions that are not in the file of the frames: in a file of their own, or those of a raster.

use super::datasets::si_units;
use crate::RecipeError;
use crate::session::quantities::{Degrees, ShortLength};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use std::path::Path;
use warpstride_core::text::Dimension;

/// Most points of a raster.
const MOST_POINTS: usize = 1 << 32;

/// A file with positions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionFile {
    /// A table as text, a `.npy` array (frame, coordinate), or an HDF5 file with its dataset:
    /// `FILE:/DATASET`.
    pub file: String,
    /// Names of the columns with the row and the column coordinate, or their numbers from 0; in an
    /// HDF5 file numbers, or two datasets. By default those called y and x, or row and column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<[String; 2]>,
    /// Unit of the coordinates; by default that in the names of the columns, or in the attribute
    /// `units`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

impl PositionFile {
    /// The file, and its dataset if one is named: what follows the last colon, if it begins with
    /// `/`.
    #[must_use]
    pub fn path(&self) -> (&Path, Option<&str>) {
        match self.file.rsplit_once(':') {
            Some((file, dataset)) if dataset.starts_with('/') && !file.is_empty() => {
                (Path::new(file), Some(dataset))
            }
            _ => (Path::new(&self.file), None),
        }
    }

    pub(super) fn check(&self) -> Result<(), RecipeError> {
        let refuse = |option: &str, expected: &str, found: &str| {
            let option = format!("data.positions.{option}");
            Err(RecipeError::new(option, expected, format!("\"{found}\"")))
        };
        if self.file.is_empty() {
            return refuse("file", "the name of a file", "");
        }
        if let Some(unit) = &self.unit
            && si_units(Dimension::Length, unit).is_none()
        {
            let expected = format!("a unit of length ({})", Dimension::Length.names());
            return refuse("unit", &expected, unit);
        }
        match &self.columns {
            Some([row, column]) if row == column || row.is_empty() || column.is_empty() => {
                let found = format!("{row}\", \"{column}");
                refuse("columns", "two different columns", &found)
            }
            _ => Ok(()),
        }
    }
}

/// Distance between neighbouring points of a raster.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a length with a unit, such as \"31.25A\", or two: [slow, fast]"
)]
pub enum RasterStep {
    /// In both directions.
    Same(ShortLength),
    /// From row to row, and along a row.
    Each([ShortLength; 2]),
}

impl RasterStep {
    /// (slow, fast), m.
    #[must_use]
    pub fn both(self) -> [f64; 2] {
        match self {
            Self::Same(step) => [step.0; 2],
            Self::Each(steps) => steps.map(|step| step.0),
        }
    }
}

/// Positions of a raster, scanned row by row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raster {
    /// Points (slow, fast): rows, and points in a row; by default those of the file, if it has
    /// frames as a raster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<[usize; 2]>,
    /// Distance of neighbouring points.
    pub step: RasterStep,
    /// Angle by which the raster is turned, from the row axis of the frames to their column axis.
    #[serde(default)]
    pub rotation: Degrees,
    /// Every second row is scanned backwards.
    #[serde(default)]
    pub snake: bool,
}

impl Raster {
    pub(super) fn check(&self) -> Result<(), RecipeError> {
        let Some([slow, fast]) = self.points else {
            return Ok(());
        };
        if slow == 0 || fast == 0 || slow.saturating_mul(fast) > MOST_POINTS {
            let expected = "at least 1 and at most 2^32 points, [slow, fast]";
            let found = format!("[{slow}, {fast}]");
            return Err(RecipeError::new("data.raster.points", expected, found));
        }
        Ok(())
    }

    /// Positions (frame, (row, column)), m, of `slow` rows of `fast` points: the slow direction
    /// along +row, the fast one along +column, then turned.
    #[must_use]
    pub fn positions(&self, [slow, fast]: [usize; 2]) -> Array2<f64> {
        let [slow_step, fast_step] = self.step.both();
        let [[a, b], [c, d]] = self.rotation.rotation();
        Array2::from_shape_fn((slow * fast, 2), |(frame, axis)| {
            let (line, along) = (frame / fast, frame % fast);
            let backwards = self.snake && line % 2 == 1;
            let along = if backwards { fast - 1 - along } else { along };
            let (row, column) = (line as f64 * slow_step, along as f64 * fast_step);
            if axis == 0 {
                a * row + b * column
            } else {
                c * row + d * column
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::arr2;

    fn raster(rotation: f64, snake: bool) -> Raster {
        Raster {
            points: None,
            step: RasterStep::Each([ShortLength(2.0), ShortLength(3.0)]),
            rotation: Degrees(rotation),
            snake,
        }
    }

    #[test]
    fn the_fast_direction_is_along_columns() {
        let plain = arr2(&[[0.0, 0.0], [0.0, 3.0], [2.0, 0.0], [2.0, 3.0]]);
        assert_eq!(raster(0.0, false).positions([2, 2]), plain);
        let snake = arr2(&[[0.0, 0.0], [0.0, 3.0], [2.0, 3.0], [2.0, 0.0]]);
        assert_eq!(raster(0.0, true).positions([2, 2]), snake);
        // The row axis becomes the column axis.
        let turned = arr2(&[[0.0, 0.0], [-3.0, 0.0], [0.0, 2.0], [-3.0, 2.0]]);
        assert_eq!(raster(90.0, false).positions([2, 2]), turned);
    }

    #[test]
    fn a_recipe_has_units() {
        let text = "points = [2, 3]\nstep = \"31.25A\"\nrotation = \"-120deg\"\n";
        let read: Raster = toml::from_str(text).unwrap();
        assert_eq!(read.step.both(), [31.25e-10; 2]);
        assert_eq!(read.rotation, Degrees(-120.0));
        let again: Raster = toml::from_str(&toml::to_string(&read).unwrap()).unwrap();
        assert_eq!(again, read);
        assert!(toml::from_str::<Raster>("step = 31.25").is_err());
    }
}
