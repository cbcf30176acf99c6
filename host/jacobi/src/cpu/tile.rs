//! Several sweeps over one tile: a range of columns, streamed down a range of rows.
//!
//! Level 0 consists of the rows of the field before the pass, and level t of the rows after t
//! sweeps. When row y of level 0 is read, level t can compute its row y − t, so three rows per
//! level suffice. The last level is written to the field after the pass. Each level is also
//! computed beside the tile as far as the later levels need it.

use super::change::add_change;
use super::padded::{Aligned, LINE, Layout, PaddedField, Row};
use super::relax::relax;
use crate::{JacobiError, Real};
use std::ops::Range;

/// Rows stored per level: the last computed row and the two before it.
pub(super) const STORED_ROWS: usize = 3;

/// The levels of the current tile between the first and the last.
pub(super) struct Levels<T> {
    memory: Aligned<T>,
    width: usize,
}

impl<T: Real> Levels<T> {
    /// The levels for tiles of `columns` columns with margins.
    pub(super) fn new(layout: &Layout, sweeps: usize, columns: usize) -> Result<Self, JacobiError> {
        let width = (columns + 2 * layout.margin).next_multiple_of(LINE);
        let memory = Aligned::zeroed("rows of a tile", width * STORED_ROWS * (sweeps - 1))?;
        Ok(Self { memory, width })
    }
}

/// The inputs of a pass over tiles.
#[derive(Clone, Copy)]
pub(super) struct Sweeps<'a, T> {
    /// The field before the pass.
    pub(super) from: &'a PaddedField<T>,
    pub(super) source: Option<&'a PaddedField<T>>,
    /// Whether the change of each sweep is summed.
    pub(super) checked: &'a [bool],
}

impl<T: Real> Sweeps<'_, T> {
    /// Does the sweeps for `columns` of `rows`. `to` holds whole rows with margins for the field
    /// after the last sweep; the changes of the tile's cells are added to `changes` (row, sweep).
    #[inline(always)]
    pub(super) fn tile(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        levels: &mut Levels<T>,
        to: &mut [T],
        changes: &mut [f64],
    ) {
        let layout = self.from.layout();
        let last = self.checked.len();
        let (top, bottom) = (rows.start as isize, rows.end as isize);
        for incoming in top - last as isize..bottom + last as isize {
            for level in 1..=last {
                let beside = (last - level) as isize;
                let y = incoming - level as isize;
                if !(top - beside..bottom + beside).contains(&y) {
                    continue;
                }
                let counted = (top..bottom).contains(&y) && self.checked[level - 1];
                let at = (y - top) as usize;
                let change = counted.then(|| &mut changes[at * last + level - 1]);
                if level == last {
                    let row = &mut to[at * layout.stride..][..layout.stride];
                    self.last_level(y, &columns, levels, row, change);
                } else {
                    self.middle_level(y, level, &columns, levels, change);
                }
            }
        }
    }

    #[inline(always)]
    fn middle_level(
        &self,
        y: isize,
        level: usize,
        columns: &Range<usize>,
        levels: &mut Levels<T>,
        change: Option<&mut f64>,
    ) {
        let layout = self.from.layout();
        let width = levels.width;
        let (below, above) = levels
            .memory
            .values_mut()
            .split_at_mut((level - 1) * STORED_ROWS * width);
        let below = Below {
            sweeps: self,
            columns,
            rows: level
                .checked_sub(2)
                .map(|l| &below[l * STORED_ROWS * width..]),
            width,
        };
        let new = &mut above[slot(y) * width..][..columns.len() + 2 * layout.margin];
        let y_in_grid = match layout.row(y) {
            Row::Computed(y_in_grid) => y_in_grid,
            Row::Fixed(_) => {
                new.copy_from_slice(below.row(y));
                return;
            }
            Row::Absent => return,
        };
        let beside = (self.checked.len() - level).next_multiple_of(LINE);
        let computed = layout.margin - beside..layout.margin + columns.len() + beside;
        let old = below.row(y);
        relax(
            [below.row(y - 1), old, below.row(y + 1)],
            self.source_row(y_in_grid, columns),
            computed.start,
            &mut new[computed],
        );
        let offset = columns.start as isize - layout.margin as isize;
        restore_fixed_columns(layout, offset, new, old);
        if let Some(change) = change {
            let own = layout.margin..layout.margin + columns.len();
            count(layout, columns, &mut new[own.clone()], &old[own], change);
        }
    }

    #[inline(always)]
    fn last_level(
        &self,
        y: isize,
        columns: &Range<usize>,
        levels: &Levels<T>,
        row: &mut [T],
        change: Option<&mut f64>,
    ) {
        let layout = self.from.layout();
        let level = self.checked.len();
        let rows = level.checked_sub(2);
        let below = Below {
            sweeps: self,
            columns,
            rows: rows.map(|l| &levels.memory.values()[l * STORED_ROWS * levels.width..]),
            width: levels.width,
        };
        let new = &mut row[layout.margin + columns.start..][..columns.len()];
        let old = below.row(y);
        relax(
            [below.row(y - 1), old, below.row(y + 1)],
            self.source_row(y as usize, columns),
            layout.margin,
            new,
        );
        let old = &old[layout.margin..][..columns.len()];
        restore_fixed_columns(layout, columns.start as isize, new, old);
        if let Some(change) = change {
            count(layout, columns, new, old, change);
        }
    }

    #[inline(always)]
    fn source_row(&self, y: usize, columns: &Range<usize>) -> Option<&[T]> {
        let width = columns.len() + 2 * self.from.layout().margin;
        let source = self.source?;
        Some(&source.row(y)[columns.start..][..width])
    }
}

/// The level that a sweep reads.
struct Below<'a, T> {
    sweeps: &'a Sweeps<'a, T>,
    columns: &'a Range<usize>,
    /// Its stored rows; `None` stands for the field before the pass.
    rows: Option<&'a [T]>,
    width: usize,
}

impl<T: Real> Below<'_, T> {
    /// The tile's columns of row `y` with margins.
    #[inline(always)]
    fn row(&self, y: isize) -> &[T] {
        let from = self.sweeps.from;
        let used = self.columns.len() + 2 * from.layout().margin;
        match self.rows {
            Some(rows) => &rows[slot(y) * self.width..][..used],
            None => match from.layout().row(y) {
                Row::Computed(y) | Row::Fixed(y) => &from.row(y)[self.columns.start..][..used],
                Row::Absent => &[],
            },
        }
    }
}

#[inline(always)]
fn slot(y: isize) -> usize {
    y.rem_euclid(STORED_ROWS as isize) as usize
}

/// Restores the fixed columns in a part of a row that begins at column `offset`.
#[inline(always)]
fn restore_fixed_columns<T: Real>(layout: &Layout, offset: isize, new: &mut [T], old: &[T]) {
    if layout.boundary.periodic_columns() {
        return;
    }
    for column in [0, layout.nx as isize - 1] {
        let at = column - offset;
        if (0..new.len() as isize).contains(&at) {
            new[at as usize] = old[at as usize];
        }
    }
}

/// Adds the change of a tile's own part of a row; ghost columns do not count.
#[inline(always)]
fn count<T: Real>(
    layout: &Layout,
    columns: &Range<usize>,
    new: &mut [T],
    old: &[T],
    change: &mut f64,
) {
    if !layout.boundary.periodic_columns() {
        add_change(new, old, change);
        return;
    }
    let ghosts = [0, layout.nx - 1].map(|column| {
        columns
            .contains(&column)
            .then(|| column - columns.start)
            .map(|at| (at, std::mem::replace(&mut new[at], old[at])))
    });
    add_change(new, old, change);
    for (at, value) in ghosts.into_iter().flatten() {
        new[at] = value;
    }
}
