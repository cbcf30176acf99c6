//! Curves of aggregates against time.

mod drawing;
mod legend;
#[cfg(test)]
mod tests;
mod time_axis;
mod value_axis;

use crate::series::Granularity;
use warpstride_kernels::series::bucket::Bucketing;

/// Most cells of a curve: more than there are columns of pixels.
const CELLS: usize = 1 << 12;
/// Most curves.
const CURVES: usize = 8;
/// Neighbouring rows of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    /// Of the first row, nanoseconds since 1970.
    time: i64,
    least: f64,
    greatest: f64,
    /// Number of the last row's bucket.
    last: u64,
    /// Rows.
    rows: usize,
    /// The bucket before the first row's has one too, in the cell before.
    joined: bool,
}

impl Cell {
    fn with(self, later: Self) -> Self {
        Self {
            least: self.least.min(later.least),
            greatest: self.greatest.max(later.greatest),
            last: later.last,
            rows: self.rows + later.rows,
            ..self
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Curve {
    name: String,
    cells: Vec<Cell>,
    /// Most rows of a cell.
    stride: usize,
}

/// Curves that take rows as they come, and no more memory the more rows there are.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesCurves {
    title: String,
    rule: Bucketing,
    curves: Vec<Curve>,
    /// Number of the series that rows came of last.
    last: Option<usize>,
    /// Series that are not drawn.
    others: usize,
    /// Values were met, finite or not.
    any: bool,
}

impl SeriesCurves {
    /// Without rows. Buckets are of `granularity`: where one is missing a curve has a gap.
    #[must_use]
    pub fn new(title: String, granularity: Granularity) -> Self {
        Self {
            title,
            rule: granularity.bucketing(),
            curves: Vec::new(),
            last: None,
            others: 0,
            any: false,
        }
    }

    /// More rows of series `number`; those of one series come one after the other. Values that are not finite are left
    /// out.
    pub fn add(&mut self, number: usize, name: &str, starts: &[i64], values: &[f64]) {
        if self.last != Some(number) {
            self.last = Some(number);
            if self.curves.len() == CURVES {
                self.others += 1;
            } else {
                self.curves.push(Curve {
                    name: name.to_owned(),
                    cells: Vec::new(),
                    stride: 1,
                });
            }
        }
        self.any |= !values.is_empty();
        if self.others > 0 {
            return;
        }
        if let Some(curve) = self.curves.last_mut() {
            for (time, value) in starts.iter().zip(values) {
                // The first week began before 1970.
                curve.add(*time, self.rule.index((*time).max(0) as u64), *value);
            }
        }
    }

    /// That not all series are drawn.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        (self.others > 0).then(|| {
            format!(
                "the plot shows the first {CURVES} of {} series",
                CURVES + self.others
            )
        })
    }
}

impl Curve {
    fn add(&mut self, time: i64, bucket: u64, value: f64) {
        if !value.is_finite() {
            return;
        }
        let row = Cell {
            time,
            least: value,
            greatest: value,
            last: bucket,
            rows: 1,
            joined: self
                .cells
                .last()
                .is_some_and(|cell| cell.last + 1 == bucket),
        };
        match self.cells.last_mut() {
            Some(cell) if row.joined && cell.rows < self.stride => {
                *cell = cell.with(row);
                return;
            }
            _ => {}
        }
        if self.cells.len() == CELLS {
            self.stride *= 2;
            self.merge(true);
            // Curves of nothing but gaps keep only some of them.
            if self.cells.len() > CELLS / 4 * 3 {
                self.merge(false);
            }
        }
        self.cells.push(row);
    }

    /// Makes neighbouring cells one where they have no more rows than one may have; `joined`: where there is no gap
    /// between them.
    fn merge(&mut self, joined: bool) {
        let mut merged: Vec<Cell> = Vec::with_capacity(CELLS);
        for cell in self.cells.drain(..) {
            match merged.last_mut() {
                Some(last) if (cell.joined || !joined) && last.rows + cell.rows <= self.stride => {
                    *last = last.with(cell);
                }
                _ => merged.push(cell),
            }
        }
        self.cells = merged;
    }
}
