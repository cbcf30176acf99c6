//! A field in memory, with margins to the left and right of every row.

use crate::{Boundary, JacobiError, Problem, Real};
use bytemuck::allocation::try_zeroed_vec;
use rayon::prelude::*;

/// Cells per cache line in single precision, or per two cache lines in double. The widths of
/// margins and rows are multiples of it, so that each row begins on a new line.
pub(super) const LINE: usize = 16;

const LINE_BYTES: usize = 64;

/// The position of the rows of a field in memory, and the meaning of rows and columns outside of
/// the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Layout {
    pub(super) nx: usize,
    pub(super) ny: usize,
    pub(super) boundary: Boundary,
    /// Cells of a margin. It continues periodic columns; otherwise it holds zeros, on which no cell
    /// of the grid depends.
    pub(super) margin: usize,
    /// Cells from the start of a row to the start of the next.
    pub(super) stride: usize,
}

/// The values of a row of the plane that the grid continues.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Row {
    /// The values of this row of the grid, which a sweep computes.
    Computed(usize),
    /// The values of this row of the grid, which never change.
    Fixed(usize),
    /// No values.
    Absent,
}

impl Layout {
    /// The layout for passes of at most `sweeps` sweeps.
    pub(super) fn new<T: Real>(problem: &Problem<T>, sweeps: usize) -> Self {
        let margin = margin(sweeps);
        Self {
            nx: problem.nx(),
            ny: problem.ny(),
            boundary: problem.boundary(),
            margin,
            stride: (problem.nx() + 2 * margin).next_multiple_of(LINE),
        }
    }

    /// The number of rows that a sweep computes.
    pub(super) fn inner_rows(&self) -> usize {
        self.ny - 2
    }

    /// The values of row `y`.
    #[inline(always)]
    pub(super) fn row(&self, y: isize) -> Row {
        let (inner, last) = (self.inner_rows() as isize, self.ny as isize - 1);
        if (1..last).contains(&y) {
            Row::Computed(y as usize)
        } else if self.boundary.periodic_rows() {
            Row::Computed((y - 1).rem_euclid(inner) as usize + 1)
        } else if y == 0 || y == last {
            Row::Fixed(y as usize)
        } else {
            Row::Absent
        }
    }

    /// If columns are periodic, continues a row into its margins, and sets its ghost columns.
    pub(super) fn continue_columns<T: Real>(&self, row: &mut [T]) {
        if !self.boundary.periodic_columns() {
            return;
        }
        let (first, inner) = (self.margin + 1, self.nx - 2);
        for i in (0..first).rev() {
            row[i] = row[i + inner];
        }
        for i in first + inner..row.len() {
            row[i] = row[i - inner];
        }
    }
}

/// Cells on each side of a tile that a pass of `sweeps` sweeps reads, rounded to whole lines; the
/// outermost line affects only cells that are not used.
pub(super) fn margin(sweeps: usize) -> usize {
    LINE + sweeps.saturating_sub(1).next_multiple_of(LINE)
}

/// Zeroed memory whose values begin on a cache line.
pub(super) struct Aligned<T> {
    values: Vec<T>,
    first: usize,
    len: usize,
}

impl<T: Real> Aligned<T> {
    /// Allocates `len` zeros. The system provides each page when it is first written, near the core
    /// that writes it.
    pub(super) fn zeroed(what: &'static str, len: usize) -> Result<Self, JacobiError> {
        let all = len.saturating_add(LINE_BYTES / size_of::<T>());
        let values = try_zeroed_vec::<T>(all).map_err(|()| JacobiError::HostMemory {
            what,
            needed: all.saturating_mul(size_of::<T>()),
        })?;
        // `align_offset` may fail; then rows share cache lines, which costs only time.
        let first = values.as_ptr().align_offset(LINE_BYTES).min(all - len);
        Ok(Self { values, first, len })
    }

    #[inline(always)]
    pub(super) fn values(&self) -> &[T] {
        &self.values[self.first..self.first + self.len]
    }

    #[inline(always)]
    pub(super) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values[self.first..self.first + self.len]
    }
}

/// A field whose rows are stored according to a [`Layout`].
pub(super) struct PaddedField<T> {
    layout: Layout,
    memory: Aligned<T>,
}

impl<T: Real> PaddedField<T> {
    /// Creates a field whose rows are written by `fill` (row, `nx` values).
    pub(super) fn new(
        layout: Layout,
        what: &'static str,
        fill: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<Self, JacobiError> {
        let mut memory = Aligned::zeroed(what, layout.stride * layout.ny)?;
        let rows = memory.values_mut().par_chunks_exact_mut(layout.stride);
        rows.enumerate().for_each(|(y, row)| {
            fill(y, &mut row[layout.margin..layout.margin + layout.nx]);
            layout.continue_columns(row);
        });
        Ok(Self { layout, memory })
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// A row with its margins.
    #[inline(always)]
    pub(super) fn row(&self, y: usize) -> &[T] {
        &self.memory.values()[y * self.layout.stride..][..self.layout.stride]
    }

    /// The `nx` values of a row.
    pub(super) fn cells(&self, y: usize) -> &[T] {
        &self.row(y)[self.layout.margin..][..self.layout.nx]
    }

    /// All rows with their margins.
    pub(super) fn values(&self) -> &[T] {
        self.memory.values()
    }

    /// All rows with their margins, mutable.
    pub(super) fn values_mut(&mut self) -> &mut [T] {
        self.memory.values_mut()
    }

    /// The rows that a sweep computes, with their margins.
    pub(super) fn inner_rows_mut(&mut self) -> &mut [T] {
        let stride = self.layout.stride;
        let rows = self.layout.inner_rows();
        &mut self.memory.values_mut()[stride..stride * (rows + 1)]
    }
}
