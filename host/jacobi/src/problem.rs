//! The problem: grid, boundary condition, start field and source.

use bytemuck::Pod;
use ndarray::{Array2, s};
use num_traits::Float;
use serde::Serialize;
use std::fmt::{Debug, Display};
use warpstride_core::text::significant;

/// The element type of a field.
pub trait Real: Float + Pod + Send + Sync + Debug + Display + 'static {
    /// The name of the type: `f32` or `f64`.
    const NAME: &'static str;
    /// The value nearest to `value`.
    fn nearest(value: f64) -> Self;
    /// The exact value in double precision.
    fn widened(self) -> f64;
}

impl Real for f32 {
    const NAME: &'static str = "f32";
    fn nearest(value: f64) -> Self {
        value as Self
    }
    fn widened(self) -> f64 {
        self.into()
    }
}

impl Real for f64 {
    const NAME: &'static str = "f64";
    fn nearest(value: f64) -> Self {
        value
    }
    fn widened(self) -> f64 {
        self
    }
}

/// The boundary condition. A sweep always computes rows 1…ny−2 and columns 1…nx−2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Boundary {
    /// The first and the last column keep their values; rows are periodic: row 0 stands for row
    /// ny−2 and row ny−1 for row 1.
    #[default]
    Textbook,
    /// All four sides keep their values.
    Dirichlet,
    /// Rows and columns are periodic. Columns wrap like rows: column 0 stands for nx−2, and nx−1
    /// for 1.
    Periodic,
}

impl Boundary {
    /// Whether rows wrap around.
    #[must_use]
    pub fn periodic_rows(self) -> bool {
        self != Self::Dirichlet
    }

    /// Whether columns wrap around.
    #[must_use]
    pub fn periodic_columns(self) -> bool {
        self == Self::Periodic
    }
}

/// An invalid problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// The grid has no inner cell.
    #[error("expected a grid of at least 3 × 3 (rows × columns), found {ny} × {nx}")]
    TooSmall {
        /// Columns.
        nx: usize,
        /// Rows.
        ny: usize,
    },
    /// More cells than memory can address.
    #[error("expected a grid that memory can hold, found {ny} × {nx} (rows × columns)")]
    TooLarge {
        /// Columns.
        nx: usize,
        /// Rows.
        ny: usize,
    },
    /// The shape of a field differs from that of the grid.
    #[error(
        "the {what}: expected {ny} × {nx} values (rows × columns, as the grid), found {found_ny} × \
         {found_nx}"
    )]
    Shape {
        /// `start field` or `source`.
        what: &'static str,
        /// Rows of the field.
        found_ny: usize,
        /// Columns of the field.
        found_nx: usize,
        /// Rows of the grid.
        ny: usize,
        /// Columns of the grid.
        nx: usize,
    },
    /// A value is not finite.
    #[error("the {what}: expected finite values, found {value} at row {row}, column {column}")]
    NotFinite {
        /// `start field` or `source`.
        what: &'static str,
        /// The value as text.
        value: String,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
    },
}

/// Laplace's or Poisson's equation on ny × nx cells of spacing 1.
///
/// A sweep computes `new = (((E + W) + N) + S) / 4`, or `((((E + W) + N) + S) + f) / 4` with a
/// source f, with the additions in this order. The solution satisfies −∇²u = f; for a spacing h,
/// pass h² f as the source. E and W are the columns x+1 and x−1, N and S the rows y−1 and y+1.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem<T> {
    nx: usize,
    ny: usize,
    boundary: Boundary,
    start: Option<Array2<T>>,
    source: Option<Array2<T>>,
}

impl<T: Real> Problem<T> {
    /// A problem with the textbook's start field and no source: columns 0 and nx−1 are
    /// sin(2πy/(ny−1)) (0 if columns are periodic), and all other cells are 0.
    ///
    /// # Errors
    /// A side is below 3, or the grid has more cells than can be addressed.
    pub fn new(nx: usize, ny: usize, boundary: Boundary) -> Result<Self, ProblemError> {
        if nx < 3 || ny < 3 {
            return Err(ProblemError::TooSmall { nx, ny });
        }
        // With a factor of sixteen, so that the total size of several fields does not overflow
        // either.
        let bytes = nx.checked_mul(ny).and_then(|n| n.checked_mul(16 * 8));
        if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) || nx > 1 << 30 || ny > 1 << 30 {
            return Err(ProblemError::TooLarge { nx, ny });
        }
        Ok(Self {
            nx,
            ny,
            boundary,
            start: None,
            source: None,
        })
    }

    /// Uses `field` (row, column), including its border, as the start field. Its ghost rows and
    /// columns are replaced with the values that they stand for.
    ///
    /// # Errors
    /// The shape differs from that of the grid, or a value is not finite.
    pub fn with_start(mut self, field: Array2<T>) -> Result<Self, ProblemError> {
        self.check_field("start field", &field)?;
        self.start = Some(field);
        Ok(self)
    }

    /// Uses f = `source` (row, column) as the source term; its border is not used.
    ///
    /// # Errors
    /// The shape differs from that of the grid, or a value is not finite.
    pub fn with_source(mut self, source: Array2<T>) -> Result<Self, ProblemError> {
        self.check_field("source", &source)?;
        self.source = Some(source);
        Ok(self)
    }

    fn check_field(&self, what: &'static str, field: &Array2<T>) -> Result<(), ProblemError> {
        let (found_ny, found_nx) = field.dim();
        if (found_ny, found_nx) != (self.ny, self.nx) {
            return Err(ProblemError::Shape {
                what,
                found_ny,
                found_nx,
                ny: self.ny,
                nx: self.nx,
            });
        }
        match field.indexed_iter().find(|(_, value)| !value.is_finite()) {
            None => Ok(()),
            Some(((row, column), value)) => Err(ProblemError::NotFinite {
                what,
                value: value.to_string(),
                row,
                column,
            }),
        }
    }

    /// The sum of the source over the cells that a sweep computes, if it is not 0 with periodic
    /// rows and columns. Then −∇²u = f has no solution, because the left side sums to 0.
    #[must_use]
    pub fn unbalanced_source(&self) -> Option<f64> {
        /// Rounding errors of the values and of their sum, relative to the sum of magnitudes.
        const LEAST_SHARE: f64 = 1e-9;
        let source = self.source.as_ref()?;
        if !(self.boundary.periodic_rows() && self.boundary.periodic_columns()) {
            return None;
        }
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for row in source.slice(s![1..self.ny - 1, 1..self.nx - 1]).rows() {
            sum += row.iter().map(|value| value.widened()).sum::<f64>();
            magnitude += row.iter().map(|value| value.widened().abs()).sum::<f64>();
        }
        let share = T::epsilon().widened().max(LEAST_SHARE);
        (sum.abs() > share * magnitude).then_some(sum)
    }

    /// What a user should know of the solution, one sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let is_zero = |array: &Array2<T>| array.iter().all(|value| *value == T::zero());
        let starts_at_0 = (self.start.as_ref()).map_or(self.boundary.periodic_columns(), is_zero);
        let stays_0 = starts_at_0 && self.source.as_ref().is_none_or(is_zero);
        let unbalanced = self.unbalanced_source().map(|sum| {
            format!(
                "there is no solution: with periodic rows and columns a source must sum to 0, found {}; the norm does not fall to 0",
                significant(sum, 4)
            )
        });
        let zero = stays_0.then(|| {
            "the field is 0 and stays 0: give a start field that is not 0 everywhere (--restart), or a source (--source)"
                .to_owned()
        });
        unbalanced.into_iter().chain(zero).collect()
    }

    /// The number of columns.
    #[must_use]
    pub fn nx(&self) -> usize {
        self.nx
    }

    /// The number of rows.
    #[must_use]
    pub fn ny(&self) -> usize {
        self.ny
    }

    /// The boundary condition.
    #[must_use]
    pub fn boundary(&self) -> Boundary {
        self.boundary
    }

    /// The source, (row, column), if there is one.
    #[must_use]
    pub fn source(&self) -> Option<&Array2<T>> {
        self.source.as_ref()
    }

    /// The start field, (row, column), if one was given.
    #[must_use]
    pub fn start(&self) -> Option<&Array2<T>> {
        self.start.as_ref()
    }

    /// The same grid and boundary without start field and source.
    #[must_use]
    pub(crate) fn without_values(&self) -> Self {
        Self {
            start: None,
            source: None,
            ..*self
        }
    }

    /// The initial value of the first and the last column in row `row` if no start field was given.
    #[must_use]
    pub fn textbook_column(&self, row: usize) -> T {
        if self.boundary.periodic_columns() {
            return T::zero();
        }
        let turns = row as f64 / (self.ny - 1) as f64;
        T::nearest((std::f64::consts::TAU * turns).sin())
    }

    /// Writes row `row` of the start field (`nx` values). Ghost values are copied unchanged.
    pub fn start_row(&self, row: usize, values: &mut [T]) {
        if let Some(field) = &self.start {
            for (value, given) in values.iter_mut().zip(field.row(row)) {
                *value = *given;
            }
            return;
        }
        values.fill(T::zero());
        let border = self.textbook_column(row);
        values[0] = border;
        values[self.nx - 1] = border;
    }

    /// Sets the ghost rows and columns of a field (row, column) to the values that they stand for.
    pub fn fill_ghosts(&self, field: &mut Array2<T>) {
        let (ny, nx) = (self.ny, self.nx);
        if self.boundary.periodic_columns() {
            for y in 1..ny - 1 {
                field[[y, 0]] = field[[y, nx - 2]];
                field[[y, nx - 1]] = field[[y, 1]];
            }
        }
        if self.boundary.periodic_rows() {
            let columns = if self.boundary.periodic_columns() {
                0..nx
            } else {
                1..nx - 1
            };
            for x in columns {
                field[[0, x]] = field[[ny - 2, x]];
                field[[ny - 1, x]] = field[[1, x]];
            }
        }
    }
}
