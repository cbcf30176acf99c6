//! Hot pixels side by side: whole rows and columns, parts of them, and small areas.
//!
//! The light of a pattern fades over several pixels, or it ends abruptly around the middle of the
//! light, as a pupil does, or around places that are opposite to each other, as spots and streaks
//! do.

use super::super::middle::Middle;
use ndarray::{Array2, ArrayView2};
use std::collections::HashSet;

/// Largest distance of the next valid pixel.
const NEXT: isize = 4;
/// Most rows, or columns, of a narrow area, and of a block: a rectangle that is neither narrow nor
/// a spot of a pattern.
const NARROW: usize = 4;
const BLOCK: usize = 16;
/// Least part of the rectangle around a block that it fills.
const FILLED: f64 = 0.95;
/// Most rows side by side that are whole lines.
const LINES: usize = 3;
/// Least share of the pixels of a line that are far brighter than those beside.
const OF_LINE: f64 = 0.75;
/// Distance within which places are opposite to each other, or an area is in the middle of the
/// light, in pixels.
const OPPOSITE: f64 = 1.5;
const BESIDE: f64 = 2.5;
/// A streak of a pattern fades towards its ends: the pixel that a tenth of the others are below has
/// less than this part of the median.
const EVEN: f64 = 0.4;

/// Pixels (row, column).
type Pixels = Vec<[usize; 2]>;

/// Finds the hot ones among the pixels of a mean (row, column) that are valid in a frame, each with
/// the pixels around that are not hot. `is_far` says whether counts are far above others.
pub(super) fn find(
    mean: &Array2<f64>,
    valid: &Array2<bool>,
    is_far: &dyn Fn(f64, f64) -> bool,
) -> Vec<([usize; 2], Pixels)> {
    let mut left = valid.clone();
    let rows = lines(mean.view(), valid.view(), is_far);
    let columns = lines(mean.t(), valid.t(), is_far);
    rows.iter().for_each(|row| left.row_mut(*row).fill(false));
    (columns.iter()).for_each(|column| left.column_mut(*column).fill(false));
    let areas = areas(mean, &mut left, is_far);
    if rows.is_empty() && columns.is_empty() && areas.is_empty() {
        return Vec::new();
    }
    let Some(middle) = Middle::of(mean, &left) else {
        return Vec::new();
    };
    let rest = mean.iter().zip(&left).filter(|(_, left)| **left);
    let brightest = rest.fold(0.0, |most: f64, (counts, _)| most.max(*counts));
    let mut hot: HashSet<[usize; 2]> = HashSet::new();
    let hot_rows = without_streaks(mean.view(), valid.view(), &rows, middle.place[0]);
    let hot_columns = without_streaks(mean.t(), valid.t(), &columns, middle.place[1]);
    for row in hot_rows {
        hot.extend((0..mean.ncols()).map(|column| [row, column]));
    }
    for column in hot_columns {
        hot.extend((0..mean.nrows()).map(|row| [row, column]));
    }
    let is_near = |place: &[usize; 2], [row, column]: [f64; 2], distance: f64| {
        (place[0] as f64 - row).abs() <= distance && (place[1] as f64 - column).abs() <= distance
    };
    for area in &areas {
        let is_middle = |place| is_near(place, middle.place, BESIDE);
        let opposite = [0, 1].map(|axis| {
            let sum: f64 = area.iter().map(|place| place[axis] as f64).sum();
            2.0 * middle.place[axis] - sum / area.len() as f64
        });
        let least = (area.iter()).fold(f64::INFINITY, |least, place| least.min(mean[*place]));
        let there = (mean.indexed_iter())
            .filter(|((row, column), _)| is_near(&[*row, *column], opposite, OPPOSITE))
            .fold(0.0, |most: f64, (_, counts)| most.max(*counts));
        let has_twin = !is_far(least, there);
        // What is left of a pattern without its only spot is scattered light, around it.
        let is_spot = !is_narrow(area) && !is_far(brightest, 0.0);
        if !has_twin && !is_spot && !area.iter().any(is_middle) {
            hot.extend(area);
        }
    }
    let mut hot: Pixels = hot.into_iter().filter(|place| valid[*place]).collect();
    hot.sort_unstable();
    let mut cool = valid.clone();
    hot.iter().for_each(|place| cool[*place] = false);
    let with_around = hot.into_iter().map(|place| (place, around(place, &cool)));
    with_around.collect()
}

/// Rows that are far brighter than those beside, all along.
fn lines(
    mean: ArrayView2<'_, f64>,
    valid: ArrayView2<'_, bool>,
    is_far: &dyn Fn(f64, f64) -> bool,
) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let rows = mean.nrows();
    for width in 1..=LINES.min(rows) {
        for first in 0..=rows - width {
            let run = first..first + width;
            let beside = [
                first.checked_sub(1),
                Some(run.end).filter(|row| *row < rows),
            ];
            let is_hot = |row: usize| {
                let (mut all, mut far) = (0, 0);
                for column in 0..mean.ncols() {
                    let beside = beside.iter().flatten().filter(|row| valid[[**row, column]]);
                    let brightest = beside.map(|row| mean[[*row, column]]).reduce(f64::max);
                    if let (true, Some(there)) = (valid[[row, column]], brightest) {
                        all += 1;
                        far += usize::from(is_far(mean[[row, column]], there));
                    }
                }
                all > NARROW && far as f64 >= OF_LINE * all as f64
            };
            if run.clone().all(|row| !found.contains(&row) && is_hot(row)) {
                found.extend(run);
            }
        }
    }
    found
}

/// Rows that are not streaks of a pattern through the middle of the light, or opposite to each
/// other about it.
fn without_streaks(
    mean: ArrayView2<'_, f64>,
    valid: ArrayView2<'_, bool>,
    lines: &[usize],
    middle: f64,
) -> Vec<usize> {
    let is_streak = |row: usize| {
        let opposite = 2.0 * middle - row as f64;
        let is_pattern = |other: &usize| (*other as f64 - opposite).abs() <= OPPOSITE;
        let along = mean.row(row).into_iter().zip(valid.row(row));
        let mut along: Vec<f64> = (along.filter(|(_, valid)| **valid))
            .map(|(counts, _)| *counts)
            .collect();
        along.sort_by(f64::total_cmp);
        let fades = along[along.len() / 10] < EVEN * along[along.len() / 2];
        fades && lines.iter().any(is_pattern)
    };
    (lines.iter().copied())
        .filter(|row| !is_streak(*row))
        .collect()
}

/// Areas that are far brighter than all pixels around them. They are no longer `left` afterwards.
fn areas(
    mean: &Array2<f64>,
    left: &mut Array2<bool>,
    is_far: &dyn Fn(f64, f64) -> bool,
) -> Vec<Pixels> {
    let ends = |place: &[usize; 2], left: &Array2<bool>| {
        let around = around(*place, left).into_iter();
        around
            .map(|other| mean[other])
            .any(|there| is_far(mean[*place], there))
    };
    let mut seeds: Pixels = (mean.indexed_iter())
        .map(|((row, column), _)| [row, column])
        .filter(|place| left[*place] && is_far(mean[*place], 0.0) && ends(place, left))
        .collect();
    seeds.sort_by(|a, b| mean[*b].total_cmp(&mean[*a]));
    let mut areas = Vec::new();
    for seed in seeds {
        if !left[seed] {
            continue;
        }
        if let Some(area) = grown(seed, mean, left, is_far) {
            area.iter().for_each(|place| left[*place] = false);
            areas.push(area);
        }
    }
    areas
}

/// Rows and columns of the rectangle around pixels.
fn extent(area: &[[usize; 2]]) -> [usize; 2] {
    [0, 1].map(|axis| {
        let of = area.iter().map(|place| place[axis]);
        let [first, last] = [of.clone().min(), of.max()].map(Option::unwrap_or_default);
        last + 1 - first
    })
}

fn is_narrow(area: &[[usize; 2]]) -> bool {
    extent(area).iter().any(|side| *side <= NARROW)
}

/// Whether an area is a rectangle.
fn is_block(area: &[[usize; 2]]) -> bool {
    let [rows, columns] = extent(area);
    area.len() as f64 >= FILLED * (rows * columns) as f64
}

/// The narrow area or block around a pixel that is far brighter than all pixels around it, if there
/// is one.
fn grown(
    seed: [usize; 2],
    mean: &Array2<f64>,
    left: &Array2<bool>,
    is_far: &dyn Fn(f64, f64) -> bool,
) -> Option<Pixels> {
    let mut area = vec![seed];
    let mut seen = HashSet::from([seed]);
    let mut edge = around(seed, left);
    seen.extend(edge.iter().copied());
    let mut least = mean[seed];
    loop {
        let (outside, joined): (Pixels, Pixels) =
            (edge.iter().copied()).partition(|place| is_far(least, mean[*place]));
        if joined.is_empty() {
            return (!outside.is_empty() && (is_narrow(&area) || is_block(&area))).then_some(area);
        }
        edge = outside;
        for place in joined {
            least = least.min(mean[place]);
            area.push(place);
            edge.extend(
                around(place, left)
                    .into_iter()
                    .filter(|other| seen.insert(*other)),
            );
        }
        let wide = |axis: usize, most: usize| {
            let of = area.iter().map(|place| place[axis]);
            let [first, last] = [of.clone().min(), of.max()].map(Option::unwrap_or_default);
            last - first >= most
        };
        if wide(0, BLOCK) || wide(1, BLOCK) {
            let is_line = !wide(0, NARROW) || !wide(1, NARROW);
            if !is_line {
                return None;
            }
        }
    }
}

/// The next valid pixels (row, column) in the eight directions from one, behind up to three masked
/// ones.
pub(in crate::checks::diagnosis) fn around(
    [row, column]: [usize; 2],
    valid: &Array2<bool>,
) -> Vec<[usize; 2]> {
    let directions = (-1..=1).flat_map(|down| (-1..=1).map(move |right| [down, right]));
    let next = |[down, right]: [isize; 2]| {
        let at = |steps: isize| {
            let row = row.checked_add_signed(down * steps)?;
            Some([row, column.checked_add_signed(right * steps)?])
        };
        let places = (1..=NEXT).map_while(at);
        places
            .into_iter()
            .find(|place| valid.get(*place).is_some_and(|valid| *valid))
    };
    let directions = directions.filter(|direction| *direction != [0, 0]);
    directions.filter_map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{HOT, candidates};
    use super::*;

    const SIDE: usize = 48;

    /// The pixels that are hot in the mean of 50 frames.
    fn hot(mean: &Array2<f64>) -> Pixels {
        let valid = Array2::from_elem(mean.dim(), true);
        let found = candidates(mean, &valid, 50, HOT);
        assert!(found.iter().all(|one| one.around.len() > 1));
        found.into_iter().map(|one| one.place).collect()
    }

    /// A pattern of these counts at a row and column, as seen from the middle of the light.
    fn pattern(counts: impl Fn(f64, f64) -> f64) -> Array2<f64> {
        Array2::from_shape_fn((SIDE, SIDE), |(row, column)| {
            counts(row as f64 - 23.0, column as f64 - 25.0)
        })
    }

    fn round(row: f64, column: f64) -> f64 {
        1000.0 * (-(row * row + column * column) / 80.0).exp() + 0.1
    }

    #[test]
    fn lines_and_areas_of_hot_pixels_are_found() {
        let row = |row: usize| (0..SIDE).map(move |column| [row, column]);
        let column = |column: usize| (0..SIDE).map(move |row| [row, column]);
        let block = |[top, left]: [usize; 2], [rows, columns]: [usize; 2]| {
            (0..rows).flat_map(move |r| (0..columns).map(move |c| [top + r, left + c]))
        };
        let cases: [(&str, Pixels); 14] = [
            ("one", vec![[30, 40]]),
            ("three", block([5, 6], [1, 3]).collect()),
            ("2 x 2", block([5, 6], [2, 2]).collect()),
            ("3 x 3 in the light", block([27, 18], [3, 3]).collect()),
            ("6 x 6", block([5, 6], [6, 6]).collect()),
            ("7 x 12 in the light", block([28, 30], [7, 12]).collect()),
            ("3 x 4 in a corner", block([0, 0], [3, 4]).collect()),
            ("a part of a column", block([0, 9], [13, 1]).collect()),
            ("a row", row(14).collect()),
            ("the row in the middle", row(23).collect()),
            ("two columns", column(9).chain(column(10)).collect()),
            (
                "three rows at the border",
                row(0).chain(row(1)).chain(row(2)).collect(),
            ),
            ("a row and a column", row(8).chain(column(40)).collect()),
            ("rows that are apart", row(4).chain(row(41)).collect()),
        ];
        for (name, mut places) in cases {
            places.sort_unstable();
            places.dedup();
            let mut mean = pattern(round);
            for [row, column] in &places {
                // They do not count alike.
                mean[[*row, *column]] += 2e4 * (1.0 + 0.5 * ((row + 3 * column) % 4) as f64);
            }
            assert_eq!(hot(&mean), places, "{name}");
        }
    }

    #[test]
    fn light_that_ends_abruptly_is_not_hot() {
        let within = |is_lit: bool| if is_lit { 1e4 } else { 0.1 };
        let spots = |r: f64, c: f64| {
            let near = |v: f64| (v - (v / 12.0).round() * 12.0).abs() < 1.6;
            within(near(r) && near(c) && r.hypot(c) < 20.0) * (-r.hypot(c) / 9.0).exp()
        };
        let streak = |r: f64, c: f64| round(r, c) + within(r == 0.0) / (1.0 + c * c);
        let cross = |r: f64, c: f64| streak(r, c) + streak(c, r);
        let twins = |r: f64, c: f64| round(r, c) + within(r.abs() == 15.0) / (1.0 + c * c / 30.0);
        let none = Pixels::new();
        for (name, mean) in [
            ("a round pattern", pattern(round)),
            ("a pupil", pattern(|r, c| within(r.hypot(c) < 9.0))),
            ("a small pupil", pattern(|r, c| within(r.hypot(c) < 2.1))),
            (
                "a slit",
                pattern(|r, c| within(r.abs() < 2.0 && c.abs() < 14.0)),
            ),
            ("spots", pattern(spots)),
            ("a streak", pattern(streak)),
            ("a cross", pattern(cross)),
            ("two streaks", pattern(twins)),
        ] {
            // The last pixel of a streak at the border has but one bright neighbour.
            let mut found = hot(&mean);
            found.retain(|place| place.iter().all(|at| (1..SIDE - 1).contains(at)));
            assert_eq!(found, none, "{name}");
        }
    }
}
