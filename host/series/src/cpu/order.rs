//! Quantiles and distinct values of a long bucket.

use super::block::Results;
use super::long::SHARED;
use super::memory::{allow, reserve};
use super::select::select;
use super::statistics::{QuantilePosition, Statistics};
use crate::SeriesError;
use rayon::prelude::*;
use warpstride_kernels::series::order::{key, unique_key, value};

/// Memory that a thread reuses.
#[derive(Default)]
pub(super) struct Scratch {
    keys: Vec<u64>,
    positions: Vec<QuantilePosition>,
    ranks: Vec<usize>,
    found: Vec<u64>,
}

/// Writes the bucket's quantiles and number of distinct values to a lane; `extremes` are its
/// smallest and largest key.
pub(super) fn long_bucket(
    values: &[f64],
    extremes: (u64, u64),
    statistics: &Statistics,
    lane: usize,
    results: &mut Results,
    scratch: &mut Scratch,
) -> Result<(), SeriesError> {
    let Scratch {
        keys,
        positions,
        ranks,
        found,
    } = scratch;
    positions.clear();
    positions.extend(
        statistics
            .quantiles
            .iter()
            .map(|quantile| quantile.position(values.len())),
    );
    ranks.clear();
    ranks.extend(
        positions
            .iter()
            .flat_map(|position| [position.below, position.above]),
    );
    ranks.sort_unstable();
    ranks.dedup();
    found.clear();
    if statistics.unique {
        sort(values, keys)?;
        let pairs = keys.windows(2);
        let new = |pair: &&[u64]| {
            pair[0] != pair[1] && unique_key(value(pair[0])) != unique_key(value(pair[1]))
        };
        results.unique[lane] = 1.0 + pairs.filter(new).count() as f64;
        found.extend(ranks.iter().map(|rank| keys[*rank]));
    } else {
        found.resize(ranks.len(), 0);
        select(values, key, extremes, ranks, found)?;
    }
    let at = |rank: usize| value(found[ranks.partition_point(|known| *known < rank)]);
    for ((quantile, position), to) in statistics
        .quantiles
        .iter()
        .zip(&*positions)
        .zip(&mut results.quantiles)
    {
        to[lane] = quantile.between(at(position.below), at(position.above), position.fraction);
    }
    Ok(())
}

/// Sorts the keys of a bucket.
fn sort(values: &[f64], keys: &mut Vec<u64>) -> Result<(), SeriesError> {
    const WHAT: &str = "distinct values";
    keys.clear();
    if keys.capacity() < values.len() {
        allow(WHAT, size_of_val(values))?;
        reserve(WHAT, keys, values.len())?;
    }
    keys.extend(values.iter().map(|value| key(*value)));
    if keys.len() > SHARED {
        keys.par_sort_unstable();
    } else {
        keys.sort_unstable();
    }
    Ok(())
}
