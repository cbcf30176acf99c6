//! The orientation of the positions with respect to the frames: the eight flips and swaps, the four
//! classes of them that a far-field scan can tell apart, and the choice among trial
//! reconstructions.
//!
//! With P′(r) = P*(−r) and O′(r) = O*(−r), the exit wave P′(r) O′(r − x) is ψ*(−r), where ψ(r) =
//! P(r) O(r + x), and F[ψ*(−r)] = (F ψ)*: the same intensities at the opposite position. So
//! positions whose axes are both inverted are fitted exactly by the *twin* P′, O′, and only four
//! classes of two orientations each differ in how well they can be fitted.

mod of_recipe;
mod search;

pub use search::{
    Decision, Evidence, OrientationSearch, StartOfTrials, Trial, TrialR, TrialResult, TwinDecision,
};

use ndarray::{Array2, Array3};
use num_complex::Complex;
use serde::{Serialize, Serializer};
use std::fmt;

/// How the positions' axes become those of the frames: they are exchanged, then inverted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Orientation {
    /// Exchanges rows and columns, before any flip.
    pub swap_axes: bool,
    /// Inverts the rows.
    pub flip_rows: bool,
    /// Inverts the columns.
    pub flip_columns: bool,
}

impl Orientation {
    /// One of each pair of twins: of the two, the one with fewer changes.
    pub const CLASSES: [Self; 4] = [
        Self::new(false, false, false),
        Self::new(false, true, false),
        Self::new(true, false, false),
        Self::new(true, true, false),
    ];

    const fn new(swap_axes: bool, flip_rows: bool, flip_columns: bool) -> Self {
        Self {
            swap_axes,
            flip_rows,
            flip_columns,
        }
    }

    /// All eight: those of [`Self::CLASSES`], each followed by its twin.
    #[must_use]
    pub fn all() -> [Self; 8] {
        std::array::from_fn(|n| {
            let first = Self::CLASSES[n / 2];
            if n % 2 == 0 { first } else { first.twin() }
        })
    }

    /// The orientation with both axes inverted, which the conjugate object and probe, turned by
    /// 180°, fit exactly as well.
    #[must_use]
    pub const fn twin(self) -> Self {
        Self::new(self.swap_axes, !self.flip_rows, !self.flip_columns)
    }

    /// Whether both have the same intensities, up to their twins.
    #[must_use]
    pub fn same_class(self, other: Self) -> bool {
        self == other || self == other.twin()
    }

    /// What distinguishes the class from that of positions as in the file.
    #[must_use]
    pub fn class(self) -> &'static str {
        match (self.swap_axes, self.flip_rows != self.flip_columns) {
            (false, false) => "as in the file",
            (false, true) => "one axis inverted",
            (true, false) => "axes exchanged",
            (true, true) => "turned by 90°",
        }
    }

    /// The matrix that takes positions (row, column) to the frames' axes.
    #[must_use]
    pub fn matrix(self) -> [[f64; 2]; 2] {
        let sign = |flip: bool| if flip { -1.0 } else { 1.0 };
        let (rows, columns) = (sign(self.flip_rows), sign(self.flip_columns));
        if self.swap_axes {
            [[0.0, rows], [columns, 0.0]]
        } else {
            [[rows, 0.0], [0.0, columns]]
        }
    }

    /// The orientation of a matrix, if it only exchanges and inverts axes.
    #[must_use]
    pub fn of_matrix(matrix: [[f64; 2]; 2]) -> Option<Self> {
        Self::all().into_iter().find(|one| one.matrix() == matrix)
    }

    /// This orientation of positions that have been brought to `first`.
    #[must_use]
    pub fn after(self, first: Self) -> Self {
        let (rows, columns) = if self.swap_axes {
            (first.flip_columns, first.flip_rows)
        } else {
            (first.flip_rows, first.flip_columns)
        };
        Self::new(
            self.swap_axes != first.swap_axes,
            self.flip_rows != rows,
            self.flip_columns != columns,
        )
    }

    /// The orientation that undoes this one.
    #[must_use]
    pub fn inverse(self) -> Self {
        if self.swap_axes {
            Self::new(true, self.flip_columns, self.flip_rows)
        } else {
            self
        }
    }

    /// Exchanges and inverts the axes of positions (frame, (row, column)).
    #[must_use]
    pub fn applied_to(self, positions: &Array2<f64>) -> Array2<f64> {
        let from = |axis: usize| if self.swap_axes { 1 - axis } else { axis };
        let flips = [self.flip_rows, self.flip_columns];
        Array2::from_shape_fn(positions.dim(), |(frame, axis)| {
            let value = positions[[frame, from(axis)]];
            if flips[axis] { -value } else { value }
        })
    }
}

/// As `--transform-positions` takes it, or `none`.
impl fmt::Display for Orientation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            ("swap", self.swap_axes),
            ("flip-rows", self.flip_rows),
            ("flip-columns", self.flip_columns),
        ];
        let given = names.into_iter().filter(|(_, given)| *given);
        let given: Vec<&str> = given.map(|(name, _)| name).collect();
        match given.is_empty() {
            true => f.write_str("none"),
            false => f.write_str(&given.join(",")),
        }
    }
}

/// As `--transform-positions` takes it, or `none`.
impl Serialize for Orientation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Cosine of the angle between a probe and its twin from which they are the same.
const SAME: f64 = 0.99;

/// Whether a probe (mode, row, column) is its own twin P*(−r), about the pixel (rows/2, columns/2):
/// a trial from it says nothing on the twin.
#[must_use]
pub fn is_own_twin(probe: &Array3<Complex<f64>>) -> bool {
    let (_, rows, columns) = probe.dim();
    let opposite = |i: usize, n: usize| (2 * (n / 2) + n - i) % n;
    let (mut product, mut power) = (Complex::new(0.0, 0.0), 0.0);
    for ((mode, r, c), value) in probe.indexed_iter() {
        let twin = probe[[mode, opposite(r, rows), opposite(c, columns)]].conj();
        product += value.conj() * twin;
        power += value.norm_sqr();
    }
    product.norm() > SAME * power
}

#[cfg(test)]
mod tests;
