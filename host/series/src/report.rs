//! Plots of aggregates against time.

mod drawing;
mod legend;
#[cfg(test)]
mod tests;
mod time_axis;

use crate::{Granularity, Zone};
use warpstride_kernels::series::bucket::Bucketing;

/// Largest number of cells in a curve; exceeds the width of the plot in pixels.
const CELLS: usize = 1 << 12;
/// Largest number of curves.
const CURVES: usize = 8;
/// Consecutive rows of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    /// Time of the first row, nanoseconds since 1970.
    time: i64,
    least: f64,
    greatest: f64,
    /// Bucket index of the last row.
    last: u64,
    /// Number of rows.
    rows: usize,
    /// Whether the bucket before the first row exists and is in the preceding cell.
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
    /// Largest number of rows in a cell.
    stride: usize,
}

/// Curves that accept any number of rows in bounded memory.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesCurves {
    title: String,
    /// The zone of the time axis; `None`: UTC.
    zone: Option<Zone>,
    rule: Bucketing,
    curves: Vec<Curve>,
    /// Index of the series of the most recent rows.
    last: Option<usize>,
    /// Number of series that are not drawn.
    others: usize,
    /// Whether there were any values, finite or not.
    any: bool,
}

impl SeriesCurves {
    /// Starts without rows. A curve has a gap wherever a bucket of `granularity` is missing.
    #[must_use]
    pub fn new(title: String, granularity: Granularity) -> Self {
        Self {
            title,
            zone: None,
            rule: granularity.bucketing(),
            curves: Vec::new(),
            last: None,
            others: 0,
            any: false,
        }
    }

    /// With the local times of a zone on the time axis.
    #[must_use]
    pub fn in_zone(self, zone: Zone) -> Self {
        Self {
            zone: Some(zone),
            ..self
        }
    }

    /// Adds rows of series `number`; the rows of a series must be consecutive. Non-finite values
    /// are ignored.
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
                // The first week started before 1970.
                curve.add(*time, self.rule.index((*time).max(0) as u64), *value);
            }
        }
    }

    /// A note if not all series are drawn.
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
            // Curves that consist of gaps only keep a part of them.
            if self.cells.len() > CELLS / 4 * 3 {
                self.merge(false);
            }
        }
        self.cells.push(row);
    }

    /// Merges consecutive cells up to the largest number of rows; `joined`: only if there is no gap
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
