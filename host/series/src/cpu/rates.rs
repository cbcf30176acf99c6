//! Differences between consecutive values.

use super::memory::{allow, zeroed};
use super::prepare::{PIECE, Points};
use crate::SeriesError;
use rayon::prelude::*;

/// (point), v_i − v_{i−1}. The entry of the first point of a series is undefined and never read.
pub(super) fn differences(points: &Points<'_>) -> Result<Vec<f64>, SeriesError> {
    const WHAT: &str = "rates";
    let values = &*points.values;
    allow(WHAT, size_of_val(values))?;
    let mut differences: Vec<f64> = zeroed(WHAT, values.len())?;
    let Some((_, behind)) = differences.split_first_mut() else {
        return Ok(differences);
    };
    behind
        .par_chunks_mut(PIECE)
        .zip(values.par_chunks(PIECE))
        .zip(values[1..].par_chunks(PIECE))
        .for_each(|((to, before), here)| {
            for ((to, before), here) in to.iter_mut().zip(before).zip(here) {
                *to = here - before;
            }
        });
    Ok(differences)
}
