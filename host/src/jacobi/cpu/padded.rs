//! A field in memory, with margins to the left and right of every row.

use crate::jacobi::{Boundary, JacobiError, Problem, Real};
use bytemuck::allocation::try_zeroed_vec;
use rayon::prelude::*;

/// Cells of a cache line in single precision, of two in double. Margins and rows are multiples, so
/// that rows begin on a line of their own.
pub(super) const LINE: usize = 16;

const LINE_BYTES: usize = 64;

/// Where the rows of a field lie, and what a row or column outside of the grid stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Layout {
    pub(super) nx: usize,
    pub(super) ny: usize,
    pub(super) boundary: Boundary,
    /// Cells of a margin. Periodic columns are continued in it; else it holds zeros, which no
    /// cell of the grid depends on.
    pub(super) margin: usize,
    /// Cells from a row to the next.
    pub(super) stride: usize,
}

/// What stands in a row of the plane that the grid continues.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Row {
    /// The values of this row of the grid, which a sweep computes.
    Computed(usize),
    /// The values of this row of the grid, which never change.
    Fixed(usize),
    /// Nothing.
    Absent,
}

impl Layout {
    /// For passes of at most `sweeps`.
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

    /// Rows that a sweep computes.
    pub(super) fn inner_rows(&self) -> usize {
        self.ny - 2
    }

    /// What stands in row `y`.
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

    /// Continues a row into its margins where columns are periodic, ghost columns included.
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

/// Cells beside a tile that a pass of `sweeps` reads: whole lines, of which the outermost only
/// feeds cells that nothing depends on.
pub(super) fn margin(sweeps: usize) -> usize {
    LINE + sweeps.saturating_sub(1).next_multiple_of(LINE)
}

/// Zeroed memory whose use begins on a cache line.
pub(super) struct Aligned<T> {
    values: Vec<T>,
    first: usize,
    len: usize,
}

impl<T: Real> Aligned<T> {
    /// `len` zeros. The system provides the pages when they are first written, near the core that
    /// does so.
    pub(super) fn zeroed(what: &'static str, len: usize) -> Result<Self, JacobiError> {
        let all = len.saturating_add(LINE_BYTES / size_of::<T>());
        let values = try_zeroed_vec::<T>(all).map_err(|()| JacobiError::HostMemory {
            what,
            needed: all.saturating_mul(size_of::<T>()),
        })?;
        // `align_offset` may refuse; then lines are shared and nothing is lost but time.
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

/// Rows of a field at the places of a [`Layout`].
pub(super) struct PaddedField<T> {
    layout: Layout,
    memory: Aligned<T>,
}

impl<T: Real> PaddedField<T> {
    /// A field whose rows are written by `fill` (row, `nx` values).
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

    /// As above.
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
