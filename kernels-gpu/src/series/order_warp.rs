//! Order statistics of buckets of 33 … 512 points.
//!
//! A warp examines eight windows of 32 points at a time. A bucket of this length covers the first point of at least
//! one window, and the first such window is where it is found, so no list of buckets is needed. The warp sorts one
//! bucket after the other in its registers (`warp_sort.rs`) and answers all queries. Reads 8 bytes a point and 4 for
//! a window and a bucket, writes 8 bytes for each bucket and query. Block of 128: registers are the limit, as in
//! [`order_short`](super::order_short).

use super::order_query::{LONGEST, NUNIQUE, OrderQuery, SHORT, WARP, distinct, windows};
use super::sorting_network::{Merged, Registers};
use super::warp_sort;
use warpstride_device::prelude::*;

/// Windows that a warp examines at a time.
const WINDOWS: u32 = 8;

/// The queries and the memory for their answers.
struct Answers {
    wanted: *const OrderQuery,
    queries: u32,
    out: *mut f64,
    stride: u32,
}

/// Writes all answers for the `n` ≤ 32·K points from `values` on. All lanes of the warp call it together.
#[inline(always)]
unsafe fn answer<const K: usize>(values: *const f64, n: u32, bucket: u32, to: &Answers)
where
    [u64; K]: Registers + Merged,
{
    let lane = warp::lane_id();
    let mut keys = warp_sort::load::<K>(values, n);
    warp_sort::sort(&mut keys);
    for q in 0..to.queries {
        let query = *to.wanted.add(q as usize);
        let value = if query.kind == NUNIQUE {
            let mut before = warp::shuffle_up(warp::FULL, keys[K - 1], 1);
            let mut count = 0_u32;
            for j in 0..K {
                let rank = lane * K as u32 + j as u32;
                count += u32::from(rank < n && (rank == 0 || distinct(before, keys[j])));
                before = keys[j];
            }
            // Integers of this size are exact in single precision.
            f64::from(reduce::warp_sum(count as f32))
        } else {
            let between = query.between(n);
            let below = warp_sort::at(&keys, between.below);
            let above = warp_sort::at(&keys, between.above);
            query.quantile(below, above, between.fraction)
        };
        if lane == 0 {
            *to.out
                .add(query.column as usize * to.stride as usize + bucket as usize) = value;
        }
    }
}

/// Quantiles and numbers of distinct values for buckets of 33 … 512 points.
///
/// `first`: (bucket + 1), first points; `covering`: (window of 32 points), the bucket of its first point; `facts`:
/// the number of buckets, and the points of the longest; `out`: (column, bucket).
#[kernel(block = 128, min_blocks = 5, hot, f64)]
pub unsafe fn series_order_warp(
    #[len(points)] values: *const f64,
    #[len(capacity + 1)] first: *const u32,
    #[len(windows(points))] covering: *const u32,
    #[len(2)] facts: *const u32,
    #[len(queries)] wanted: *const OrderQuery,
    #[len(columns * stride)] out: *mut f64,
    points: u32,
    capacity: u32,
    queries: u32,
    columns: u32,
    stride: u32,
) {
    let _ = (capacity, columns);
    if *facts.add(LONGEST) <= SHORT {
        return;
    }
    let to = Answers {
        wanted,
        queries,
        out,
        stride,
    };
    let lane = warp::lane_id();
    let windows = windows(points as usize) as u32;
    let warps = thread::block_threads() / warp::SIZE;
    let mut group = thread::block_idx_x() * warps + warp::warp_id();
    while group < windows.div_ceil(WINDOWS) {
        let window = group * WINDOWS + lane;
        let (mut bucket, mut lo, mut n) = (0, 0, 0);
        if lane < WINDOWS && window < windows {
            bucket = *covering.add(window as usize);
            if window == 0 || *covering.add(window as usize - 1) != bucket {
                lo = *first.add(bucket as usize);
                n = *first.add(bucket as usize + 1) - lo;
            }
        }
        let mut found = warp::ballot(warp::FULL, n > SHORT && n <= WARP);
        while found != 0 {
            let from = found.trailing_zeros();
            found &= found - 1;
            let bucket = warp::shuffle_idx(warp::FULL, bucket, from);
            let n = warp::shuffle_idx(warp::FULL, n, from);
            let values = values.add(warp::shuffle_idx(warp::FULL, lo, from) as usize);
            if n <= 64 {
                answer::<2>(values, n, bucket, &to);
            } else if n <= 128 {
                answer::<4>(values, n, bucket, &to);
            } else if n <= 256 {
                answer::<8>(values, n, bucket, &to);
            } else {
                answer::<16>(values, n, bucket, &to);
            }
        }
        group += thread::grid_dim_x() * warps;
    }
}
