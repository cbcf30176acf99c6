//! Quantiles of buckets of more than 4096 points, by selection digit by digit.
//!
//! A quantile needs the values of one or two *ranks* in the sorted bucket. Each launch is a pass: it counts the next
//! eight bits of the keys that begin with the bits known so far, and the last block to count for a bucket finds in
//! which of the 256 bins the rank lies. After eight passes all bits are known. Ranks whose known bits are equal share
//! their counts. If only one candidate is left, the next pass takes its complete key, and later passes do not read
//! the bucket any more; with distinct values this takes three or four passes.
//!
//! A block processes a tile of 4096 points at a time: it counts in shared memory and adds its counts to the bucket's
//! by atomic additions of integers, whose order does not matter. Each pass that is needed reads 8 bytes a point.
//! Block of 256: one bin a thread when counts are added; 16 KiB of shared memory allow eight blocks.

use super::order;
use super::order_long::{Part, is_last};
use super::order_query::{LONG, LONGEST, NUNIQUE, OrderQuery};
use bytemuck::{Pod, Zeroable};
use warpstride_device::prelude::*;

/// Bins for a digit.
pub const BINS: usize = 256;
/// Bits in a digit.
const BITS: u32 = 8;
/// Number of passes.
pub const PASSES: u32 = 8;
/// The most queries in a launch.
pub const QUERIES: usize = 8;
/// The most ranks of a bucket.
const RANKS: usize = 2 * QUERIES;

/// What is known about the key of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SelectState {
    /// The upper bits; all bits once the key is found.
    pub prefix: u64,
    /// The rank among the keys that begin with these bits.
    pub rank: u32,
    /// The number of keys that begin with these bits; 0 once the key is found.
    pub left: u32,
}

/// The ranks that are counted, in shared memory.
struct Counted {
    /// (rank), the known bits.
    prefixes: *mut u64,
    /// (rank), how many keys are left.
    left: *mut u32,
    /// (rank), the row with its counts; `RANKS` if it needs none.
    row_of: *mut u32,
    /// (row), the rank that it belongs to.
    rank_of: *mut u32,
    /// Number of rows.
    rows: *mut u32,
    /// (row, bin).
    bins: *mut u32,
}

impl Counted {
    /// Determines which ranks need counts in this pass. All threads of the block call it together.
    #[inline(always)]
    unsafe fn prepare(
        &self,
        states: *const SelectState,
        wanted: *const OrderQuery,
        ranks: u32,
        pass: u32,
        n: u32,
    ) {
        for r in thread::thread_stride(ranks) {
            let r = r as usize;
            let state = if (*wanted.add(r / 2)).kind == NUNIQUE {
                SelectState {
                    prefix: 0,
                    rank: 0,
                    left: 0,
                }
            } else if pass == 0 {
                SelectState {
                    prefix: 0,
                    rank: 0,
                    left: n,
                }
            } else {
                *states.add(r)
            };
            *self.prefixes.add(r) = state.prefix;
            *self.left.add(r) = state.left;
        }
        thread::sync_threads();
        if thread::index_in_block() == 0 {
            let mut rows = 0;
            for r in 0..ranks as usize {
                let mut row = RANKS as u32;
                if *self.left.add(r) > 0 {
                    row = 0;
                    while row < rows
                        && *self.prefixes.add(*self.rank_of.add(row as usize) as usize)
                            != *self.prefixes.add(r)
                    {
                        row += 1;
                    }
                    if row == rows {
                        *self.rank_of.add(row as usize) = r as u32;
                        rows += 1;
                    }
                }
                *self.row_of.add(r) = row;
            }
            *self.rows = rows;
        }
        thread::sync_threads();
        for bin in thread::thread_stride(*self.rows * BINS as u32) {
            *self.bins.add(bin as usize) = 0;
        }
        thread::sync_threads();
    }

    /// Counts a key in each row that it belongs to; `None` if the lane has no key. All lanes of the warp call it
    /// together.
    #[inline(always)]
    unsafe fn count(&self, key: Option<u64>, pass: u32, found: *mut u64) {
        let shift = 64 - BITS * (pass + 1);
        for row in 0..*self.rows {
            let rank = *self.rank_of.add(row as usize) as usize;
            let prefix = *self.prefixes.add(rank);
            let known = |key: u64| pass == 0 || key >> (shift + BITS) == prefix;
            let mut digit = BINS as u32;
            if let Some(key) = key.filter(|key| known(*key)) {
                digit = (key >> shift) as u32 % BINS as u32;
                if *self.left.add(rank) == 1 {
                    *found.add(rank) = key;
                }
            }
            let bins = self.bins.add(row as usize * BINS);
            // Upper digits are often equal in all lanes, and then take one addition.
            let of_first = warp::shuffle_idx(warp::FULL, digit, 0);
            if warp::all(warp::FULL, digit == of_first) {
                if warp::lane_id() == 0 && digit < BINS as u32 {
                    atomic::add_u32(bins.add(digit as usize), warp::SIZE);
                }
            } else if digit < BINS as u32 {
                atomic::add_u32(bins.add(digit as usize), 1);
            }
        }
    }
}

/// What is known about a rank after a pass, from the counts of all tiles. All lanes of the warp call it together.
#[inline(always)]
unsafe fn narrowed(state: SelectState, bins: *mut u32, found: *mut u64, pass: u32) -> SelectState {
    const OF_LANE: usize = BINS / warp::SIZE as usize;
    if state.left <= 1 {
        let prefix = if state.left == 1 {
            atomic::load_u64(found)
        } else {
            state.prefix
        };
        return SelectState {
            prefix,
            rank: 0,
            left: 0,
        };
    }
    let lane = warp::lane_id();
    let mut counts = [0; OF_LANE];
    let mut sum = 0;
    for i in 0..OF_LANE {
        counts[i] = atomic::load_u32(bins.add(lane as usize * OF_LANE + i));
        sum += counts[i];
    }
    let mut through = sum;
    let mut distance = 1;
    while distance < warp::SIZE {
        let below = warp::shuffle_up(warp::FULL, through, distance);
        if lane >= distance {
            through += below;
        }
        distance *= 2;
    }
    let mut before = through - sum;
    let mine = state.rank >= before && state.rank < through;
    let (mut digit, mut rank, mut left) = (0, 0, 0);
    for i in 0..OF_LANE {
        if state.rank >= before && state.rank < before + counts[i] {
            digit = lane * OF_LANE as u32 + i as u32;
            rank = state.rank - before;
            left = counts[i];
        }
        before += counts[i];
    }
    let from = warp::ballot(warp::FULL, mine).trailing_zeros();
    let digit = warp::shuffle_idx(warp::FULL, digit, from);
    SelectState {
        prefix: state.prefix << BITS | u64::from(digit),
        rank: warp::shuffle_idx(warp::FULL, rank, from),
        left: if pass == PASSES - 1 {
            0
        } else {
            warp::shuffle_idx(warp::FULL, left, from)
        },
    }
}

/// One pass; eight of them, `pass` 0 … 7, find the quantiles of the buckets of more than 4096 points. At most
/// [`QUERIES`] queries; numbers of distinct values are left out.
///
/// `first`: (bucket + 1), first points; `covering`: (window of 32 points), the bucket of its first point; `facts`:
/// the number of buckets, and the points of the longest; `out`: (column, bucket). `histograms`: (slot, query, end,
/// bin), 0 before the first pass and after the last; `states`, `found`: (slot, query, end); `done`: (slot), 0 at the
/// same times as `histograms`.
#[kernel(block = 256, hot, f64)]
pub unsafe fn series_order_select(
    #[len(points)] values: *const f64,
    #[len(capacity + 1)] first: *const u32,
    #[len(super::order_query::windows(points))] covering: *const u32,
    #[len(2)] facts: *const u32,
    #[len(queries)] wanted: *const OrderQuery,
    #[len(slots * 2 * queries * BINS)] histograms: *mut u32,
    #[len(slots * 2 * queries)] states: *mut SelectState,
    #[len(slots * 2 * queries)] found: *mut u64,
    #[len(slots)] done: *mut u32,
    #[len(columns * stride)] out: *mut f64,
    points: u32,
    capacity: u32,
    slots: u32,
    queries: u32,
    columns: u32,
    stride: u32,
    pass: u32,
) {
    let _ = (capacity, columns);
    if *facts.add(LONGEST) <= LONG {
        return;
    }
    let counted = Counted {
        prefixes: shared_array![u64; RANKS],
        left: shared_array![u32; RANKS],
        row_of: shared_array![u32; RANKS],
        rank_of: shared_array![u32; RANKS],
        rows: shared_array![u32; 1],
        bins: shared_array![u32; RANKS * BINS],
    };
    let queries = queries.min(QUERIES as u32);
    let ranks = 2 * queries;
    let threads = thread::block_threads();
    for item in thread::block_stride(slots * 2) {
        let Some(part) = Part::of(item / 2, item % 2, points, first, covering) else {
            continue;
        };
        let at = part.slot * ranks as usize;
        let (states, found) = (states.add(at), found.add(at));
        let histograms = histograms.add(at * BINS);
        counted.prepare(states, wanted, ranks, pass, part.n);
        let rows = *counted.rows;
        if rows == 0 {
            continue;
        }
        let values = values.add(part.from as usize);
        let mut begin = 0;
        while begin < part.count {
            let i = begin + thread::index_in_block();
            let key = (i < part.count).then(|| order::key(*values.add(i as usize)));
            counted.count(key, pass, found);
            begin += threads;
        }
        thread::sync_threads();
        for bin in thread::thread_stride(rows * BINS as u32) {
            let count = *counted.bins.add(bin as usize);
            if count > 0 {
                let rank = *counted.rank_of.add(bin as usize / BINS) as usize;
                atomic::add_u32(histograms.add(rank * BINS + bin as usize % BINS), count);
            }
        }
        if !is_last(done.add(part.slot), part.tiles) {
            continue;
        }
        let mut q = warp::warp_id();
        while q < queries {
            let query = *wanted.add(q as usize);
            if query.kind != NUNIQUE {
                let between = query.between(part.n);
                let mut ends = [between.below, between.above];
                let mut keys = [0; 2];
                let (mut before, mut after) = (0, 0);
                for end in 0..2 {
                    let r = 2 * q as usize + end;
                    let old = SelectState {
                        prefix: *counted.prefixes.add(r),
                        rank: if pass == 0 {
                            ends[end]
                        } else {
                            (*states.add(r)).rank
                        },
                        left: *counted.left.add(r),
                    };
                    // A rank that has been found has no row, and its counts are not used.
                    let row = (*counted.row_of.add(r)).min(rows - 1) as usize;
                    let leader = *counted.rank_of.add(row) as usize;
                    let new = narrowed(old, histograms.add(leader * BINS), found.add(leader), pass);
                    before |= old.left;
                    after |= new.left;
                    keys[end] = new.prefix;
                    ends[end] = new.rank;
                    // All lanes have read the old state.
                    warp::sync_warp(warp::FULL);
                    if warp::lane_id() == 0 {
                        *states.add(r) = new;
                    }
                }
                if before > 0 && after == 0 && warp::lane_id() == 0 {
                    let place = query.column as usize * stride as usize + part.bucket;
                    *out.add(place) = query.quantile(keys[0], keys[1], between.fraction);
                }
            }
            q += threads / warp::SIZE;
        }
        thread::sync_threads();
        for bin in thread::thread_stride(rows * BINS as u32) {
            let rank = *counted.rank_of.add(bin as usize / BINS) as usize;
            *histograms.add(rank * BINS + bin as usize % BINS) = 0;
        }
        if thread::index_in_block() == 0 {
            *done.add(part.slot) = 0;
        }
    }
}
