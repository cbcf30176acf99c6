//! The angle between the axes of the scan and those of the detector, searched continuously: an
//! estimate from the centres of mass of the frames, refined by trial reconstructions.

mod centres;
mod search;

pub use centres::{CentreField, CentreRotation};
pub use search::{RotationDecision, RotationSearch, RotationTrial, RotationTwin};

use crate::{Orientation, ReadOptions, Recipe};
use ndarray::Array2;
use serde::{Serialize, Serializer};
use std::fmt;
use warpstride_core::text::significant;

/// A turn of positions (row, column), after their rows are inverted if it is mirrored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rotation {
    /// From the row axis to the column axis, degrees: counterclockwise where rows are drawn
    /// downwards and columns to the right.
    pub degrees: f64,
    /// Whether the rows are inverted first.
    pub mirrored: bool,
}

impl Rotation {
    /// The rotation with its angle between −180° (excluded) and 180°.
    #[must_use]
    pub fn new(degrees: f64, mirrored: bool) -> Self {
        let turned = degrees.rem_euclid(360.0);
        Self {
            degrees: if turned > 180.0 {
                turned - 360.0
            } else {
                turned
            },
            mirrored,
        }
    }

    /// The rotation that differs by 180°, which the conjugate object and probe, turned by 180°, fit
    /// exactly as well.
    #[must_use]
    pub fn twin(self) -> Self {
        Self::new(self.degrees + 180.0, self.mirrored)
    }

    /// The matrix that takes positions (row, column) to the frames' axes.
    #[must_use]
    pub fn matrix(self) -> [[f64; 2]; 2] {
        let (sine, cosine) = self.degrees.to_radians().sin_cos();
        let rows = if self.mirrored { -1.0 } else { 1.0 };
        [[rows * cosine, -sine], [rows * sine, cosine]]
    }

    /// Turns positions (frame, (row, column)).
    #[must_use]
    pub fn applied_to(self, positions: &Array2<f64>) -> Array2<f64> {
        let matrix = self.matrix();
        Array2::from_shape_fn(positions.dim(), |(frame, axis)| {
            matrix[axis][0] * positions[[frame, 0]] + matrix[axis][1] * positions[[frame, 1]]
        })
    }

    /// Puts the rotation of the positions that a recipe gives into it: `data.affine`, and what is
    /// given in their directions, the path of the exposures (`fly.shift`).
    pub fn turn(self, recipe: &mut Recipe) {
        let own = self.matrix();
        if let Some(shift) = &mut recipe.fly.shift {
            let [row, column] = *shift;
            *shift = own.map(|of| of[0] * row + of[1] * column);
        }
        let options: &mut ReadOptions = &mut recipe.data;
        let given = Orientation::of(options).matrix();
        let before = match options.affine {
            Some(affine) => product(given, affine),
            None => given,
        };
        options.affine = Some(product(own, before));
        Orientation::default().set(options);
    }
}

/// The product of two matrices: first `right`, then `left`.
fn product(left: [[f64; 2]; 2], right: [[f64; 2]; 2]) -> [[f64; 2]; 2] {
    let element = |row: usize, column: usize| {
        left[row][0] * right[0][column] + left[row][1] * right[1][column]
    };
    [0, 1].map(|row| [0, 1].map(|column| element(row, column)))
}

/// As `--transform-positions` takes it, rounded.
impl fmt::Display for Rotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flip = if self.mirrored { "flip-rows," } else { "" };
        write!(f, "{flip}rotate={}deg", significant(self.degrees, 4))
    }
}

/// As `--transform-positions` takes it, rounded.
impl Serialize for Rotation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests;
