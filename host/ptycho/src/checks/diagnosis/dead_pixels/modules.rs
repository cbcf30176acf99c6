//! Dark rectangles with a straight edge that reach the border, or that little light separates from
//! it.

use super::Middle;
use super::expected::{AS_LONG, EXPECTED, FAR, INSIDE, extrapolated};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};

/// Fewest rows, or columns, of a straight edge of a dark place.
const STRAIGHT: usize = 6;
/// Fewest columns of a dark rectangle that does not reach the border.
const WIDE: usize = 3;
/// Distance beyond an edge, in pixels, at which the opposite place is looked at: the middle of the
/// light is known as well as that.
const BEYOND: usize = 2;
/// Part of the light at an edge that ends the pattern on the opposite side.
const OPPOSITE: f64 = 0.25;
/// Share of the rows in which it ends at the same column there, if that end is straight, too.
const ALIKE: f64 = 0.75;
/// Light beside an edge has so many times the counts behind it.
const OF_DARK: f64 = 3.0;
/// Standard deviations by which light is more than stray counts.
const CLEAR: f64 = 6.0;
/// A pixel counts for no more than so many times the stray counts, and one more.
const HOT: f64 = 4.0;

/// Adds dark rectangles to `dead`.
pub(super) fn find(
    counts: &Array2<f64>,
    valid: &Array2<bool>,
    middle: &Middle,
    dead: &mut Array2<bool>,
) {
    let found = dead.clone();
    for (transposed, inverted) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut counts, mut valid, mut found) = (counts.view(), valid.view(), found.view());
        let mut dead = dead.view_mut();
        let mut place = middle.place;
        if transposed {
            counts = counts.reversed_axes();
            valid = valid.reversed_axes();
            found = found.reversed_axes();
            dead = dead.reversed_axes();
            place.reverse();
        }
        if inverted {
            counts.invert_axis(Axis(1));
            valid.invert_axis(Axis(1));
            found.invert_axis(Axis(1));
            dead.invert_axis(Axis(1));
            place[1] = (counts.ncols() - 1) as f64 - place[1];
        }
        let middle = Middle {
            place,
            lit: middle.lit,
        };
        let search = Search {
            counts,
            valid,
            found,
            middle: &middle,
        };
        for column in 1..counts.ncols() {
            search.beginning(column, dead.view_mut());
        }
    }
}

struct Search<'a> {
    counts: ArrayView2<'a, f64>,
    valid: ArrayView2<'a, bool>,
    /// What was found before.
    found: ArrayView2<'a, bool>,
    middle: &'a Middle,
}

impl Search<'_> {
    /// Whether much light ends abruptly before a pixel.
    fn ends(&self, row: usize, column: usize) -> bool {
        let edge = self.counts[[row, column - 1]];
        let would = match column.checked_sub(2) {
            Some(before) => extrapolated(edge, self.counts[[row, before]], 1.0),
            None => edge,
        };
        let usable = self.valid[[row, column]] && self.valid[[row, column - 1]];
        usable
            && !self.found[[row, column - 1]]
            && would >= EXPECTED
            && self.counts[[row, column]] < FAR * would
    }

    /// Marks the dark rectangles that begin with `column` in `dead`.
    fn beginning(&self, column: usize, mut dead: ArrayViewMut2<'_, bool>) {
        let rows = self.counts.nrows();
        let ends: Vec<bool> = (0..rows).map(|row| self.ends(row, column)).collect();
        let mut row = 0;
        while row < rows {
            let first = row;
            // A single row may differ.
            while row < rows && (ends[row] || (row > first && row + 1 < rows && ends[row + 1])) {
                row += 1;
            }
            let edge: Vec<usize> = (first..row).filter(|row| ends[*row]).collect();
            row = row.max(first + 1);
            let [Some(top), Some(bottom)] =
                [edge.first(), edge.last()].map(Option::<&usize>::copied)
            else {
                continue;
            };
            // More than what is behind the edge.
            let least =
                EXPECTED.max(OF_DARK * median(edge.iter().map(|row| self.counts[[*row, column]])));
            let length = |at: usize| self.lit_length(at, [top, bottom], least) as f64;
            let straight = (column.checked_sub(1 + INSIDE))
                .is_none_or(|inside| length(column - 1) >= AS_LONG * length(inside));
            if edge.len() < STRAIGHT || !straight {
                continue;
            }
            let (end, stray) = self.end(&edge, column);
            let to_border = end == self.counts.ncols();
            let known = edge.iter().all(|row| self.found[[*row, column]]);
            if !to_border && (known || end - column < WIDE) {
                continue;
            }
            let is_module = self.is_lit_opposite(&edge, column)
                || to_border && !self.ends_opposite(&edge, column);
            if !is_module {
                continue;
            }
            let columns = column..end;
            let dark = |row: &usize| self.is_dark(columns.clone().map(|at| [*row, at]), stray);
            let above = (0..top).rev().take_while(dark).count();
            let below = (bottom + 1..rows).take_while(dark).count();
            dead.slice_mut(s![top - above..bottom + 1 + below, column..end])
                .fill(true);
        }
    }

    /// The lit length of a column along an edge, from its first to its last row and as far beyond
    /// them as there is light.
    fn lit_length(&self, column: usize, [top, bottom]: [usize; 2], least: f64) -> usize {
        let lit = |row: &usize| self.counts[[*row, column]] >= least;
        let up = (0..top).rev().take_while(lit).count();
        let down = (bottom + 1..self.counts.nrows()).take_while(lit).count();
        bottom + 1 - top + up + down
    }

    /// The column with which the dark behind an edge ends, and the stray counts of a pixel before
    /// it.
    fn end(&self, edge: &[usize], column: usize) -> (usize, f64) {
        let places = |column| edge.iter().map(move |row| [*row, column]);
        let mut stray = median(self.counts_of(places(column)));
        let (mut sum, mut pixels) = (0.0, 0.0);
        for at in column..self.counts.ncols() {
            if at > column && !self.is_dark(places(at), stray) {
                return (at, stray);
            }
            for counts in self.counts_of(places(at)) {
                sum += counts.min(HOT * (stray + 1.0));
                pixels += 1.0;
            }
            stray = sum / f64::max(pixels, 1.0);
        }
        (self.counts.ncols(), stray)
    }

    /// Whether pixels have no more than so many stray counts, but for a hot one.
    fn is_dark(&self, places: impl Iterator<Item = [usize; 2]>, stray: f64) -> bool {
        let (mut sum, mut pixels, mut lit) = (0.0, 0.0, 0);
        for counts in self.counts_of(places) {
            sum += counts.min(HOT * (stray + 1.0));
            pixels += 1.0;
            lit += usize::from(counts > stray + CLEAR * (stray + 1.0).sqrt());
        }
        lit <= 1 && sum - pixels * stray <= CLEAR * (pixels * stray + 1.0).sqrt()
    }

    /// Counts of the valid pixels of some.
    fn counts_of(&self, places: impl Iterator<Item = [usize; 2]>) -> impl Iterator<Item = f64> {
        let valid = places.filter(|place| self.valid[*place]);
        valid.map(|place| self.counts[place])
    }

    /// Whether there is light opposite to what is dark behind half of an edge.
    fn is_lit_opposite(&self, edge: &[usize], column: usize) -> bool {
        let lit = |row: &&usize| {
            let beyond = [**row, column + BEYOND];
            let opposite = self.middle.opposite(beyond, self.counts.dim());
            opposite.is_some_and(|place| {
                let light = self.counts[place];
                light >= EXPECTED && self.counts[[**row, column]] < FAR * light
            })
        };
        2 * edge.iter().filter(lit).count() >= edge.len()
    }

    /// Whether the pattern ends on the opposite side as abruptly and straight, or is cut off by the
    /// border.
    fn ends_opposite(&self, edge: &[usize], column: usize) -> bool {
        // Where it ends, and whether it does so abruptly.
        let ends = edge.iter().filter_map(|row| {
            let light = self.counts[[*row, column - 1]];
            let [row, _] = self.middle.opposite([*row, column], self.counts.dim())?;
            let at = |column: usize| match self.valid[[row, column]] {
                true => self.counts[[row, column]],
                false => 0.0,
            };
            let first = (0..column).find(|column| at(*column) >= OPPOSITE * light)?;
            let abrupt = first
                .checked_sub(2)
                .is_none_or(|beyond| at(beyond) < FAR * light);
            Some((first, abrupt))
        });
        let mut ends: Vec<(usize, bool)> = ends.collect();
        ends.sort_unstable();
        let Some((middle, _)) = ends.get(ends.len() / 2).copied() else {
            return true;
        };
        let alike = ends
            .iter()
            .filter(|(first, abrupt)| *abrupt && first.abs_diff(middle) <= 1);
        alike.count() as f64 >= ALIKE * edge.len() as f64
    }
}

/// The median; 0 of none.
fn median(counts: impl Iterator<Item = f64>) -> f64 {
    let mut counts: Vec<f64> = counts.collect();
    counts.sort_by(f64::total_cmp);
    counts.get(counts.len() / 2).copied().unwrap_or(0.0)
}
