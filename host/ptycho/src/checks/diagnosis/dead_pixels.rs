//! Pixels that count far less than the light around them says: dead pixels and lines, modules
//! without data, and the shadows of beamstops, with or without a few stray counts.
//!
//! Where a pattern fades, it does so over several pixels; where a detector is dead, its light ends
//! abruptly. An illumination can end abruptly, too, outside of a sharp pupil and in the shadow of a
//! central stop, but it is symmetric about its centre.

mod areas;
mod expected;
mod gaps;
mod lines;
mod modules;

use super::hot_pixels::{HOT, candidates};
use super::middle::Middle;
use expected::{Dark, sides};
use ndarray::Array2;

/// Most pixels with counts that are taken for dead because dead ones surround them.
const FEW: usize = 4;

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
