//! Mini-batches: how an iteration of a batch engine divides the frames.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// Where the frames of a batch lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchOrder {
    /// All over the scan; chosen anew in every iteration.
    Spread,
    /// Beside each other; the same in every iteration, in another order.
    Compact,
}

/// As [`batches`]; compact ones are sorted only when the positions or the size have changed.
#[derive(Debug, Default)]
pub(crate) struct KeptBatches {
    positions: Vec<[f64; 2]>,
    size: usize,
    /// Before their order is chosen; empty: none.
    compact: Vec<Vec<u32>>,
}

impl KeptBatches {
    pub(crate) fn of(
        &mut self,
        order: BatchOrder,
        positions: &[[f64; 2]],
        size: usize,
        seed: u64,
        iteration: usize,
    ) -> Vec<Vec<u32>> {
        if order == BatchOrder::Spread {
            return batches(order, positions, size, seed, iteration);
        }
        let same = self.size == size && self.positions == positions;
        if self.compact.is_empty() || !same {
            self.positions = positions.to_vec();
            self.size = size;
            self.compact = compact(positions, size);
        }
        let mut lists = self.compact.clone();
        lists.shuffle(&mut random(seed, iteration));
        lists
    }
}

/// Random numbers of an iteration.
fn random(seed: u64, iteration: usize) -> Pcg64Mcg {
    // The increment of SplitMix64 separates neighbouring streams.
    let stream = (iteration as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Pcg64Mcg::seed_from_u64(seed.wrapping_add(stream))
}

/// Number of lists of at most `size` of `frames` frames.
fn list_count(frames: usize, size: usize) -> usize {
    frames.div_ceil(size.max(1)).max(1)
}

/// Lists of frames beside each other.
fn compact(positions: &[[f64; 2]], size: usize) -> Vec<Vec<u32>> {
    let count = list_count(positions.len(), size);
    let mut frames: Vec<u32> = (0..positions.len() as u32).collect();
    let mut lists = Vec::with_capacity(count);
    let mut sort = |part: &mut [u32]| sort_along_longer_side(positions, part);
    split(&mut frames, count, &mut sort, &mut lists);
    lists
}

/// The batches of iteration `iteration` of a run: lists of at most `size` frames, whose lengths
/// differ by at most one. Every frame is in one of them. They depend on the arguments only.
#[must_use]
pub(crate) fn batches(
    order: BatchOrder,
    positions: &[[f64; 2]],
    size: usize,
    seed: u64,
    iteration: usize,
) -> Vec<Vec<u32>> {
    let mut random = random(seed, iteration);
    match order {
        BatchOrder::Spread => {
            let count = list_count(positions.len(), size);
            let mut frames: Vec<u32> = (0..positions.len() as u32).collect();
            let mut lists = Vec::with_capacity(count);
            frames.shuffle(&mut random);
            split(&mut frames, count, &mut |_| (), &mut lists);
            lists
        }
        BatchOrder::Compact => {
            let mut lists = compact(positions, size);
            lists.shuffle(&mut random);
            lists
        }
    }
}

/// Cuts `frames` into `count` lists of nearly equal length by halving the number of lists again and
/// again; `arrange` orders the frames before each cut.
fn split(
    frames: &mut [u32],
    count: usize,
    arrange: &mut dyn FnMut(&mut [u32]),
    lists: &mut Vec<Vec<u32>>,
) {
    if count <= 1 {
        lists.push(frames.to_vec());
        return;
    }
    arrange(frames);
    let first = count / 2;
    // The first lists are the longer ones.
    let (short, longer) = (frames.len() / count, frames.len() % count);
    let (low, high) = frames.split_at_mut(first * short + longer.min(first));
    split(low, first, arrange, lists);
    split(high, count - first, arrange, lists);
}

/// Cuts `frames` in two, the first with `first` frames, across the axis on which their positions
/// extend further.
pub(crate) fn split_in_two(
    positions: &[[f64; 2]],
    mut frames: Vec<u32>,
    first: usize,
) -> (Vec<u32>, Vec<u32>) {
    sort_along_longer_side(positions, &mut frames);
    let second = frames.split_off(first.min(frames.len()));
    (frames, second)
}

/// Sorts `part` along the axis on which its positions extend further.
fn sort_along_longer_side(positions: &[[f64; 2]], part: &mut [u32]) {
    let at = |frame: &u32, axis: usize| positions[*frame as usize][axis];
    let extent = |axis: usize| {
        let low = part.iter().map(|f| at(f, axis)).fold(f64::MAX, f64::min);
        let high = part.iter().map(|f| at(f, axis)).fold(f64::MIN, f64::max);
        high - low
    };
    let axis = usize::from(extent(1) > extent(0));
    part.sort_by(|a, b| at(a, axis).total_cmp(&at(b, axis)).then(a.cmp(b)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(side: usize) -> Vec<[f64; 2]> {
        (0..side * side)
            .map(|i| [(i / side) as f64, (i % side) as f64 * 2.0])
            .collect()
    }

    #[test]
    fn every_frame_is_in_one_batch_of_nearly_equal_length() {
        for order in [BatchOrder::Spread, BatchOrder::Compact] {
            for (side, size) in [(1, 1), (7, 10), (7, 49), (7, 1), (5, 100), (6, 7)] {
                let lists = batches(order, &grid(side), size, 3, 5);
                assert!(lists.iter().all(|list| list.len() <= size));
                let lengths = lists.iter().map(Vec::len);
                let (low, high) = (lengths.clone().min().unwrap(), lengths.max().unwrap());
                assert!(high - low <= 1, "{low} {high}");
                let mut all: Vec<u32> = lists.concat();
                all.sort_unstable();
                assert_eq!(all, (0..(side * side) as u32).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn compact_batches_are_compact_and_spread_ones_are_not() {
        let positions = grid(12);
        let width = |order| {
            let lists = batches(order, &positions, 16, 1, 2);
            let span = |list: &Vec<u32>| {
                let columns = list.iter().map(|f| positions[*f as usize][1]);
                columns.clone().fold(0.0, f64::max) - columns.fold(f64::MAX, f64::min)
            };
            lists.iter().map(span).sum::<f64>() / lists.len() as f64
        };
        assert!(width(BatchOrder::Compact) < 0.5 * width(BatchOrder::Spread));
    }

    #[test]
    fn kept_batches_are_those_of_the_present_positions_and_size() {
        let mut kept = KeptBatches::default();
        let moved: Vec<[f64; 2]> = grid(6).iter().map(|[r, c]| [*c, -r]).collect();
        for order in [BatchOrder::Compact, BatchOrder::Spread] {
            for (positions, size, iteration) in [
                (grid(6), 5, 1),
                (grid(6), 5, 2),
                (moved.clone(), 5, 3),
                (moved.clone(), 7, 4),
                (grid(6), 7, 4),
                (Vec::new(), 7, 5),
                (grid(1), 7, 6),
            ] {
                assert_eq!(
                    kept.of(order, &positions, size, 9, iteration),
                    batches(order, &positions, size, 9, iteration)
                );
            }
        }
    }

    #[test]
    fn the_seed_and_the_iteration_decide() {
        let of = |seed, iteration| batches(BatchOrder::Spread, &grid(6), 5, seed, iteration);
        assert_eq!(of(1, 1), of(1, 1));
        assert_ne!(of(1, 1), of(2, 1));
        assert_ne!(of(1, 1), of(1, 2));
    }
}
