//! Pixels that never count although the light around them says that they would: dead pixels and lines, modules without data, and the
//! shadows of beamstops.
//!
//! Where a pattern fades, it does so over several pixels. What the pixels beside a dark place have, and how it falls towards it, says
//! how many counts a pixel there would have in all frames.

use crate::text::{count, ranges};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};
use std::collections::{BTreeMap, BTreeSet};

/// Fewest counts, in all frames together, that a dead pixel would have: chance leaves such a pixel without any with a probability of
/// 10⁻²².
const EXPECTED: f64 = 50.0;
/// Fewest counts that a pixel beside a dead one would have.
const BESIDE: f64 = 10.0;
/// Fewest counts that a whole dead row or column would have.
const OF_LINE: f64 = 100.0;
/// A pixel that has more than so many times the counts of the next one says no more than that.
const STEEPEST: f64 = 5.0;
/// Fewest rows, or columns, of a straight edge of a dark place.
const STRAIGHT: usize = 6;
/// Distance from that edge, and least length of the edge relative to the lit length there: those of a round pattern differ by more.
const INSIDE: usize = 3;
const AS_LONG: f64 = 0.75;
/// Largest counts at the edges of a bright rectangle, relative to the largest ones, that are those of a pattern which the detector cuts.
const CUT: f64 = 0.05;

/// Pixels (row, column) without any counts in so many frames with this mean (row, column) that would have some, of the pixels that
/// are valid in a frame.
pub(in crate::ptycho) fn dead(
    mean: &Array2<f64>,
    valid: &Array2<bool>,
    frames: usize,
) -> Array2<bool> {
    let counts = mean.mapv(|mean| mean * frames as f64);
    let zero = |place: (usize, usize)| valid[place] && counts[place] == 0.0;
    let none = Array2::from_elem(mean.dim(), false);
    if !valid.indexed_iter().any(|(place, _)| zero(place)) {
        return none;
    }
    let rows = between(counts.view(), valid.view());
    let columns = between(counts.t(), valid.t()).reversed_axes();
    let expected = Array2::from_shape_fn(mean.dim(), |place| {
        match (zero(place), rows[place], columns[place]) {
            (true, Some([row, _]), Some([column, _])) => row.min(column),
            (true, one, other) => one.or(other).map_or(0.0, |[would, _]| would),
            _ => 0.0,
        }
    });
    let mut dead = grown(&expected);
    dead_lines(counts.view(), valid.view(), &columns, &mut dead);
    let mut turned = dead.t().to_owned();
    dead_lines(counts.t(), valid.t(), &rows.t().to_owned(), &mut turned);
    dead = turned.t().to_owned();
    for block in cut_off(&counts, valid) {
        dead.zip_mut_with(&block, |dead, block| *dead |= block);
    }
    dead.zip_mut_with(valid, |dead, valid| *dead &= valid);
    dead.zip_mut_with(&counts, |dead, counts| *dead &= *counts == 0.0);
    dead
}

/// How many counts each pixel would have that lies between pixels with counts in its row, if both have many, and those of the fainter
/// one of the two.
fn between(counts: ArrayView2<'_, f64>, valid: ArrayView2<'_, bool>) -> Array2<Option<[f64; 2]>> {
    let mut expected = Array2::from_elem(counts.dim(), None);
    for (row, mut expected) in expected.rows_mut().into_iter().enumerate() {
        let counts = counts.row(row);
        // Columns that are valid, with their counts.
        let line: Vec<(usize, f64)> = (counts.iter().copied().enumerate())
            .filter(|(column, _)| valid[[row, *column]])
            .collect();
        let mut from_left = vec![None; line.len()];
        let mut last = None;
        for (place, (column, here)) in line.iter().enumerate() {
            if *here > 0.0 {
                let next = inner(line[..place].iter().rev().map(|(_, counts)| *counts));
                last = Some((*column, side(*here, next)));
            } else {
                from_left[place] = last.map(|(at, side)| (side.0, extrapolated(side, column - at)));
            }
        }
        last = None;
        for (place, (column, here)) in line.iter().enumerate().rev() {
            if *here > 0.0 {
                let next = inner(line[place + 1..].iter().map(|(_, counts)| *counts));
                last = Some((*column, side(*here, next)));
            } else if let (Some((left, of_left)), Some((at, side))) = (from_left[place], last) {
                let fainter = left.min(side.0);
                let most = of_left.max(extrapolated(side, at - column));
                let would = if fainter >= EXPECTED { most } else { 0.0 };
                expected[*column] = Some([would, fainter]);
            }
        }
    }
    expected
}

/// Counts of the first pixel of some or, if it is dark itself, of the second.
fn inner(mut pixels: impl Iterator<Item = f64>) -> Option<f64> {
    let first = pixels.next()?;
    match first > 0.0 {
        true => Some(first),
        false => pixels.next().or(Some(first)),
    }
}

/// Counts of a pixel beside a dark place, and what a pixel has of those of the one before it, from the pixel itself and the next one.
fn side(here: f64, next: Option<f64>) -> (f64, f64) {
    match next {
        Some(next) => (
            here.min(STEEPEST * next),
            (here / next.max(1e-300)).min(1.0),
        ),
        None => (here, 1.0),
    }
}

/// Counts so many pixels further on.
fn extrapolated((counts, falls): (f64, f64), pixels: usize) -> f64 {
    counts * falls.powi(i32::try_from(pixels).unwrap_or(i32::MAX))
}

/// Pixels that would have many counts, and those connected with them that would have fewer.
fn grown(expected: &Array2<f64>) -> Array2<bool> {
    let (rows, columns) = expected.dim();
    let mut dead = expected.mapv(|counts| counts >= EXPECTED);
    let mut edge: Vec<(usize, usize)> = (dead.indexed_iter())
        .filter_map(|(place, dead)| dead.then_some(place))
        .collect();
    while let Some((row, column)) = edge.pop() {
        let beside = [
            (row.wrapping_sub(1), column),
            (row + 1, column),
            (row, column.wrapping_sub(1)),
            (row, column + 1),
        ];
        for place in beside {
            let inside = place.0 < rows && place.1 < columns;
            if inside && !dead[place] && expected[place] >= BESIDE {
                dead[place] = true;
                edge.push(place);
            }
        }
    }
    dead
}

/// Adds whole rows without any counts of which the rows beside, by their `columns`, say that they would have many.
fn dead_lines(
    counts: ArrayView2<'_, f64>,
    valid: ArrayView2<'_, bool>,
    columns: &Array2<Option<[f64; 2]>>,
    dead: &mut Array2<bool>,
) {
    for (row, counts) in counts.rows().into_iter().enumerate() {
        if counts.iter().any(|counts| *counts > 0.0) {
            continue;
        }
        let expected = columns
            .row(row)
            .iter()
            .flatten()
            .map(|[_, fainter]| fainter)
            .sum::<f64>();
        if expected >= OF_LINE {
            let mut line = dead.row_mut(row);
            line.zip_mut_with(&valid.row(row), |dead, valid| *dead |= valid);
        }
    }
}

/// The dark rectangles beside a straight edge that is abruptly lit.
fn cut_off(counts: &Array2<f64>, valid: &Array2<bool>) -> Vec<Array2<bool>> {
    let mut found = Vec::new();
    let (mut sides, mut brightest) = (0, 0.0_f64);
    for (transposed, inverted) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut counts, mut valid) = (counts.view(), valid.view());
        let mut dead = Array2::from_elem(counts.dim(), false);
        let mut to = dead.view_mut();
        if transposed {
            (counts, valid, to) = (
                counts.reversed_axes(),
                valid.reversed_axes(),
                to.reversed_axes(),
            );
        }
        if inverted {
            counts.invert_axis(Axis(1));
            valid.invert_axis(Axis(1));
            to.invert_axis(Axis(1));
        }
        let to_border = (1..counts.ncols())
            .filter_map(|column| cut_at(column, (counts, valid), to.view_mut()))
            .fold(None, |all: Option<f64>, one| {
                Some(all.unwrap_or(0.0).max(one))
            });
        if let Some(edge) = to_border {
            sides += 1;
            brightest = brightest.max(edge);
        }
        found.push(dead);
    }
    // A bright rectangle is the image of an aperture.
    let largest = counts.iter().copied().fold(0.0, f64::max);
    if sides == 4 && brightest > CUT * largest {
        found.clear();
    }
    found
}

/// Marks the dark rectangles that begin with `column` in `dead`; returns the largest counts at the edges of those that reach the
/// border.
fn cut_at(
    column: usize,
    (counts, valid): (ArrayView2<'_, f64>, ArrayView2<'_, bool>),
    mut dead: ArrayViewMut2<'_, bool>,
) -> Option<f64> {
    let (rows, columns) = counts.dim();
    let dark = |row: usize, column: usize| !valid[[row, column]] || counts[[row, column]] == 0.0;
    // Rows in which much light ends abruptly.
    let ends: Vec<bool> = (0..rows)
        .map(|row| {
            let here = counts[[row, column - 1]];
            let next = (0..column - 1).rev().filter(|next| valid[[row, *next]]);
            let next = inner(next.map(|next| counts[[row, next]]));
            here >= EXPECTED
                && valid[[row, column]]
                && counts[[row, column]] == 0.0
                && extrapolated(side(here, next), 1) >= EXPECTED
        })
        .collect();
    let mut brightest: Option<f64> = None;
    let mut row = 0;
    while row < rows {
        let first = row;
        // A single row may differ.
        while row < rows && (ends[row] || (row > first && row + 1 < rows && ends[row + 1])) {
            row += 1;
        }
        let edge: Vec<usize> = (first..row).filter(|row| ends[*row]).collect();
        row = row.max(first + 1);
        let [Some(top), Some(bottom)] = [edge.first(), edge.last()].map(Option::<&usize>::copied)
        else {
            continue;
        };
        let lit_length = |column: usize| {
            let lit = |row: &usize| counts[[*row, column]] >= EXPECTED;
            let up = (0..top).rev().take_while(lit).count();
            let down = (bottom + 1..rows).take_while(lit).count();
            (bottom + 1 - top + up + down) as f64
        };
        let straight = (column.checked_sub(1 + INSIDE))
            .is_none_or(|inside| lit_length(column - 1) >= AS_LONG * lit_length(inside));
        if edge.len() < STRAIGHT || !straight {
            continue;
        }
        let end_of = |row: &usize| (column..columns).find(|column| !dark(*row, *column));
        let end = edge.iter().filter_map(end_of).min().unwrap_or(columns);
        let all_dark = |row: &usize| (column..end).all(|column| dark(*row, column));
        let above = (0..top).rev().take_while(all_dark).count();
        let below = (bottom + 1..rows).take_while(all_dark).count();
        let block = s![top - above..bottom + 1 + below, column..end];
        dead.slice_mut(block).fill(true);
        if end == columns {
            let counts = edge.iter().map(|row| counts[[*row, column - 1]]);
            brightest = Some(counts.fold(brightest.unwrap_or(0.0), f64::max));
        }
    }
    brightest
}

/// What pixels without counts, and those with always the same, do: of one, and of several.
pub(in crate::ptycho) const NEVER: [&str; 2] = ["never counts", "never count"];
pub(in crate::ptycho) const STUCK: [&str; 2] = [
    "has the same count in every frame",
    "have the same count in every frame",
];

/// Most lines, rectangles and pixels that a text lists.
const LISTED: usize = 5;

/// `119 pixels never count (row 20, column 27)` if that is `what` they do: lines, rectangles and single pixels as `in_file` places
/// them; `None` without any.
pub(in crate::ptycho) fn listed_pixels(
    dead: &Array2<bool>,
    what: [&str; 2],
    [rows, columns]: [usize; 2],
    in_file: &dyn Fn([usize; 2]) -> [usize; 2],
) -> Option<String> {
    let mut left: BTreeSet<[usize; 2]> = (dead.indexed_iter())
        .filter(|(_, dead)| **dead)
        .map(|((row, column), _)| in_file([row, column]))
        .collect();
    let number = left.len();
    let mut parts = Vec::new();
    for (axis, side, names) in [
        (0, columns, ["row", "rows"]),
        (1, rows, ["column", "columns"]),
    ] {
        let mut pixels: BTreeMap<usize, usize> = BTreeMap::new();
        for place in &left {
            *pixels.entry(place[axis]).or_default() += 1;
        }
        let lines: Vec<usize> = (pixels.into_iter())
            .filter_map(|(line, pixels)| (4 * pixels > 3 * side).then_some(line))
            .collect();
        if !lines.is_empty() {
            left.retain(|place| lines.binary_search(&place[axis]).is_err());
            parts.push(format!(
                "{} {}",
                names[usize::from(lines.len() > 1)],
                ranges(&lines)
            ));
        }
    }
    while let Some(first) = left.pop_first() {
        let mut group = vec![first];
        let mut next = 0;
        while let Some([row, column]) = group.get(next).copied() {
            let beside = [
                [row.wrapping_sub(1), column],
                [row + 1, column],
                [row, column.wrapping_sub(1)],
                [row, column + 1],
            ];
            group.extend(beside.into_iter().filter(|place| left.remove(place)));
            next += 1;
        }
        let ends = |axis: usize| {
            let of = group.iter().map(|place| place[axis]);
            (of.clone().min().unwrap_or(0), of.max().unwrap_or(0))
        };
        let ((top, bottom), (first, last)) = (ends(0), ends(1));
        parts.push(match group.len() {
            1 => format!("({top}, {first})"),
            _ => {
                let rows = span(["row", "rows"], top, bottom);
                format!("{rows}, {}", span(["column", "columns"], first, last))
            }
        });
    }
    let more = if parts.len() > LISTED { ", …" } else { "" };
    parts.truncate(LISTED);
    let what = what[usize::from(number > 1)];
    let pixels = count(number, ["pixel", "pixels"]);
    (number > 0).then(|| format!("{pixels} {what} ({}{more})", parts.join(", ")))
}

/// `row 3`, `rows 3-5`.
fn span([one, several]: [&str; 2], first: usize, last: usize) -> String {
    match first == last {
        true => format!("{one} {first}"),
        false => format!("{several} {first}-{last}"),
    }
}

#[cfg(test)]
mod tests;
