//! Pixels that count far less than the light around them says: dead pixels and lines, modules
//! without data, and the shadows of beamstops, with or without a few stray counts.
//!
//! Where a pattern fades, it does so over several pixels; where a detector is dead, its light ends
//! abruptly. An illumination can end abruptly, too, outside of a sharp pupil and in the shadow of a
//! central stop, but it is symmetric about its centre.

mod areas;
mod gaps;
mod lines;
mod listed;
mod modules;

use listed::{HARDLY, NEVER};
pub(crate) use listed::{STUCK, listed_pixels};

use super::hot_pixels::{HOT, candidates};
use super::middle::Middle;
use ndarray::Array2;

/// Largest part of the light that says how much a pixel would have, of one that is dead.
const FAR: f64 = 1.0 / 30.0;
/// Fewest counts, in all frames together, that a dead pixel would have. Chance does not leave a
/// thirtieth of them: that is less by more than six standard deviations.
const EXPECTED: f64 = 50.0;
/// A pixel that has more than so many times the counts of the next one says no more than that.
const STEEPEST: f64 = 5.0;
/// Length of an edge relative to the lit length inside of it, of a straight one: that of a round
/// pattern differs by more.
const AS_LONG: f64 = 0.75;
/// Distance inside of an edge at which the lit length is taken.
const INSIDE: usize = 3;
/// Most pixels with counts that are taken for dead because dead ones surround them.
const FEW: usize = 4;

/// Pixels (row, column) that count far less than the light around says.
pub(crate) struct Dark {
    /// Those that are dead.
    pub(crate) dead: Array2<bool>,
    /// Those in the middle of the light that may as well be the shadow of a central stop in the
    /// illumination.
    pub(crate) doubtful: Array2<bool>,
    /// Whether any of them has counts.
    any_counts: bool,
}

impl Dark {
    /// What these pixels do, as [`listed_pixels`] says it.
    pub(crate) fn what(&self) -> [&'static str; 2] {
        if self.any_counts { HARDLY } else { NEVER }
    }
}

/// Finds such pixels in so many frames with this mean (row, column), of the pixels that are valid
/// in a frame. Hot pixels are no light that says how much others would have, but may be some with
/// stray counts.
pub(crate) fn dark(mean: &Array2<f64>, valid: &Array2<bool>, frames: usize) -> Dark {
    let mut found = dark_in(mean, valid, frames);
    let hot = candidates(mean, valid, frames, HOT);
    if !hot.is_empty() {
        let mut light = valid.clone();
        hot.iter().for_each(|one| light[one.place] = false);
        let all = std::mem::replace(&mut found, dark_in(mean, &light, frames));
        for place in hot.into_iter().map(|one| one.place) {
            found.dead[place] = all.dead[place];
            found.any_counts |= all.dead[place];
        }
    }
    found
}

fn dark_in(mean: &Array2<f64>, valid: &Array2<bool>, frames: usize) -> Dark {
    let counts = mean.mapv(|mean| mean * frames as f64);
    let none = Array2::from_elem(mean.dim(), false);
    let mut found = Dark {
        dead: none.clone(),
        doubtful: none,
        any_counts: false,
    };
    let Some(middle) = Middle::of(&counts, valid) else {
        return found;
    };
    let [row, column] = middle.place;
    let rows = lines::dead(counts.view(), valid.view(), row);
    let columns = lines::dead(counts.t(), valid.t(), column);
    for (lines, to) in [
        ([rows.dead, columns.dead], &mut found.dead),
        ([rows.doubtful, columns.doubtful], &mut found.doubtful),
    ] {
        let [rows, columns] = lines;
        rows.into_iter().for_each(|row| to.row_mut(row).fill(true));
        (columns.into_iter()).for_each(|column| to.column_mut(column).fill(true));
    }
    for half_shadowed in [false, true] {
        areas::find(&counts, valid, &middle, half_shadowed, &mut found);
    }
    modules::find(&counts, valid, &middle, &mut found.dead);
    fill(valid, &mut found.dead);
    found.dead.zip_mut_with(valid, |dead, valid| *dead &= valid);
    (found.doubtful).zip_mut_with(valid, |doubtful, valid| *doubtful &= valid);
    (found.doubtful).zip_mut_with(&found.dead, |doubtful, dead| *doubtful &= !dead);
    found.any_counts = (found.dead.indexed_iter())
        .any(|(place, dead)| (*dead || found.doubtful[place]) && counts[place] > 0.0);
    found
}

/// Counts so many pixels beyond a pixel, from its own and those of the one before it: amplitudes
/// change in proportion to the distance, as they do at the zeros of a wave, and do not grow.
fn extrapolated(here: f64, before: f64, pixels: f64) -> f64 {
    let here = here.min(STEEPEST * before);
    let amplitude = (1.0 + pixels) * here.sqrt() - pixels * before.sqrt();
    here.min(amplitude.max(0.0).powi(2))
}

/// The pixels on the four sides of one, each with the next one in the same direction.
fn sides(
    [row, column]: [usize; 2],
    (rows, columns): (usize, usize),
) -> impl Iterator<Item = ([usize; 2], Option<[usize; 2]>)> {
    let steps = [[0, 1], [0, -1], [1, 0], [-1, 0]];
    let at = move |[r, c]: [isize; 2], times: isize| {
        let row = row.checked_add_signed(r * times).filter(|row| *row < rows);
        let column = (column.checked_add_signed(c * times)).filter(|column| *column < columns);
        Some([row?, column?])
    };
    (steps.into_iter()).filter_map(move |step| at(step, 1).map(|first| (first, at(step, 2))))
}

/// Adds a few pixels with dead ones all around.
fn fill(valid: &Array2<bool>, dead: &mut Array2<bool>) {
    let holes: Vec<Vec<[usize; 2]>> = (dead.indexed_iter())
        .filter(|(place, dead)| !**dead && valid[*place])
        .map(|((row, column), _)| [row, column])
        .filter(|place| sides(*place, dead.dim()).any(|(beside, _)| dead[beside]))
        .filter_map(|place| {
            let mut hole = vec![place];
            let mut next = 0;
            while let Some(place) = hole.get(next).copied() {
                let around: Vec<_> = sides(place, dead.dim()).map(|(beside, _)| beside).collect();
                if around.len() < 4 || hole.len() > FEW {
                    return None;
                }
                for beside in around {
                    if !dead[beside] && !hole.contains(&beside) {
                        hole.push(beside);
                    }
                }
                next += 1;
            }
            Some(hole)
        })
        .collect();
    for place in holes.into_iter().flatten() {
        dead[place] = true;
    }
}

#[cfg(test)]
mod tests;
