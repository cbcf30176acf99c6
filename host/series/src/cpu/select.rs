//! Selects the k-th smallest of many values for several k at once: counts keys in bins of equal
//! width between the smallest and the largest key, then repeats this within the bins that contain a
//! requested rank.

use super::long::SHARED;
use super::memory::reserve;
use crate::SeriesError;
use rayon::prelude::*;

/// Number of bins; their counts fit in the first-level cache.
const BINS: usize = 1 << 11;

/// Number of keys below which partitioning is faster than counting.
const FEW: usize = 1 << 9;

/// Writes the keys at `ranks` (from 0, rising) of `items`; `least` and `greatest` bound their keys.
pub(super) fn select<T: Copy + Sync>(
    items: &[T],
    key: impl Fn(T) -> u64 + Sync + Copy,
    (least, greatest): (u64, u64),
    ranks: &[usize],
    found: &mut [u64],
) -> Result<(), SeriesError> {
    if ranks.is_empty() {
        return Ok(());
    }
    if least == greatest {
        found.fill(least);
        return Ok(());
    }
    if items.len() <= FEW {
        let mut keys = Vec::new();
        reserve("quantiles", &mut keys, items.len())?;
        keys.extend(items.iter().map(|item| key(*item)));
        partition(&mut keys, ranks, found);
        return Ok(());
    }
    let width = 64 - (greatest - least).leading_zeros();
    let shift = width.saturating_sub(BINS.ilog2());
    let bin = |item: T| ((key(item) - least) >> shift) as usize;
    let counts = count(items, bin);

    // The bins with a requested rank: the range of ranks, the rank of their first key, and where
    // their keys go.
    let mut chosen: Vec<(usize, std::ops::Range<usize>, usize)> = Vec::new();
    let (mut below, mut rank) = (0, 0);
    for (bin, count) in counts.iter().enumerate() {
        let before = rank;
        while rank < ranks.len() && ranks[rank] < below + *count as usize {
            rank += 1;
        }
        if rank > before {
            chosen.push((bin, before..rank, below));
        }
        below += *count as usize;
    }
    if shift == 0 {
        for (bin, ranks, _) in chosen {
            found[ranks].fill(least + bin as u64);
        }
        return Ok(());
    }
    let mut slot = vec![usize::MAX; BINS];
    let mut candidates = Vec::new();
    for (number, (bin, _, _)) in chosen.iter().enumerate() {
        slot[*bin] = number;
        let mut keys: Vec<u64> = Vec::new();
        reserve("quantiles", &mut keys, counts[*bin] as usize)?;
        candidates.push(keys);
    }
    for item in items {
        if let Some(keys) = candidates.get_mut(slot[bin(*item)]) {
            keys.push(key(*item));
        }
    }
    for ((bin, at, below), keys) in chosen.into_iter().zip(&candidates) {
        let least = least + ((bin as u64) << shift);
        let greatest = greatest.min(least.saturating_add((1 << shift) - 1));
        let ranks: Vec<usize> = ranks[at.clone()].iter().map(|rank| rank - below).collect();
        select(
            keys,
            std::convert::identity,
            (least, greatest),
            &ranks,
            &mut found[at],
        )?;
    }
    Ok(())
}

/// Counts the items of each bin.
fn count<T: Copy + Sync>(items: &[T], bin: impl Fn(T) -> usize + Sync) -> Vec<u32> {
    let of = |items: &[T]| {
        let mut counts = vec![0; BINS];
        for item in items {
            counts[bin(*item)] += 1;
        }
        counts
    };
    if items.len() <= SHARED {
        return of(items);
    }
    items.par_chunks(SHARED / 4).map(of).reduce(
        || vec![0; BINS],
        |mut a, b| {
            for (a, b) in a.iter_mut().zip(b) {
                *a += b;
            }
            a
        },
    )
}

/// Selects by partitioning the keys at each rank.
fn partition(keys: &mut [u64], ranks: &[usize], found: &mut [u64]) {
    let (mut rest, mut passed) = (keys, 0);
    for (slot, rank) in ranks.iter().enumerate() {
        if *rank < passed {
            // The same rank again.
            found[slot] = found[slot - 1];
            continue;
        }
        let (_, at, behind) = rest.select_nth_unstable(*rank - passed);
        found[slot] = *at;
        (rest, passed) = (behind, *rank + 1);
    }
}
