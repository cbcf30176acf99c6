//! Order statistics of buckets of 513 … 4096 points.
//!
//! A block examines as many windows of 32 points as it has threads, finds buckets as
//! [`order_warp`](super::order_warp) does, and sorts one after the other: its warps sort runs of 512 keys in
//! registers, and the runs are merged bitonically, over distances of 512 and more in shared memory, below that in
//! registers. Reads 8 bytes a point, writes 8 bytes for each bucket and query.
//!
//! 4096 keys take 32 KiB. One element in seventeen stays empty, so that lanes that each access sixteen consecutive
//! keys use different banks. Block of 128: six share a multiprocessor, and the shorter of these buckets still occupy
//! two warps.

use super::order_query::{LONG, LONGEST, NUNIQUE, OrderQuery, WARP, distinct, windows};
use super::warp_sort;
use warpstride_device::prelude::*;

/// Keys in a lane.
const K: usize = 16;
/// Elements of shared memory for keys.
const PLACES: usize = LONG as usize / K * (K + 1);
/// The most warps in a block.
const WARPS: usize = 32;

/// Position of a key in shared memory.
#[inline(always)]
fn place(rank: u32) -> usize {
    (rank + rank / K as u32) as usize
}

/// Puts the lesser of the keys at `a` < `b` first.
#[inline(always)]
unsafe fn exchange(keys: *mut u64, a: u32, b: u32) {
    let (x, y) = (*keys.add(place(a)), *keys.add(place(b)));
    if y < x {
        *keys.add(place(a)) = y;
        *keys.add(place(b)) = x;
    }
}

/// Sorts the `n` values, `WARP` < n ≤ `LONG`, into `keys`; padding keys follow them.
#[inline(always)]
unsafe fn sort(keys: *mut u64, values: *const f64, n: u32) {
    let (lane, warps) = (warp::lane_id(), thread::block_threads() / warp::SIZE);
    let size = n.next_power_of_two();
    let mut run = warp::warp_id();
    while run < size / WARP {
        let from = run * WARP;
        let mut mine = [u64::MAX; K];
        if from < n {
            mine = warp_sort::load::<K>(values.add(from as usize), n - from);
            warp_sort::sort(&mut mine);
        }
        for j in 0..K {
            *keys.add(place(from + lane * K as u32 + j as u32)) = mine[j];
        }
        run += warps;
    }
    thread::sync_threads();
    let mut length = WARP;
    while length < size {
        for t in thread::thread_stride(size / 2) {
            let (start, i) = (2 * (t & !(length - 1)), t & (length - 1));
            exchange(keys, start + i, start + 2 * length - 1 - i);
        }
        thread::sync_threads();
        let mut distance = length / 2;
        while distance >= WARP {
            for t in thread::thread_stride(size / 2) {
                let a = 2 * (t & !(distance - 1)) + (t & (distance - 1));
                exchange(keys, a, a + distance);
            }
            thread::sync_threads();
            distance /= 2;
        }
        let mut run = warp::warp_id();
        while run < size / WARP {
            let from = run * WARP + lane * K as u32;
            let mut mine = [0; K];
            for j in 0..K {
                mine[j] = *keys.add(place(from + j as u32));
            }
            warp_sort::merge(&mut mine, warp::SIZE / 2);
            for j in 0..K {
                *keys.add(place(from + j as u32)) = mine[j];
            }
            run += warps;
        }
        thread::sync_threads();
        length *= 2;
    }
}

/// Quantiles and numbers of distinct values for buckets of 513 … 4096 points; arguments as for
/// [`series_order_warp`](super::order_warp::series_order_warp).
#[kernel(block = 128, min_blocks = 5, hot, f64)]
pub unsafe fn series_order_block(
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
    if *facts.add(LONGEST) <= WARP {
        return;
    }
    let keys = shared_array![u64; PLACES];
    let masks = shared_array![u32; WARPS];
    let windows = windows(points as usize) as u32;
    let threads = thread::block_threads();
    for group in thread::block_stride(windows.div_ceil(threads)) {
        let window = group * threads + thread::index_in_block();
        let mut n = 0;
        if window < windows {
            let bucket = *covering.add(window as usize);
            if window == 0 || *covering.add(window as usize - 1) != bucket {
                n = *first.add(bucket as usize + 1) - *first.add(bucket as usize);
            }
        }
        let found = warp::ballot(warp::FULL, n > WARP && n <= LONG);
        if warp::lane_id() == 0 {
            *masks.add(warp::warp_id() as usize) = found;
        }
        thread::sync_threads();
        for part in 0..threads / warp::SIZE {
            let mut found = *masks.add(part as usize);
            while found != 0 {
                let window = group * threads + part * warp::SIZE + found.trailing_zeros();
                found &= found - 1;
                let bucket = *covering.add(window as usize) as usize;
                let lo = *first.add(bucket);
                let n = *first.add(bucket + 1) - lo;
                sort(keys, values.add(lo as usize), n);
                for q in 0..queries {
                    let query = *wanted.add(q as usize);
                    let value = if query.kind == NUNIQUE {
                        let mut count = 0_u32;
                        for i in thread::thread_stride(n) {
                            let mine = *keys.add(place(i));
                            count += u32::from(i == 0 || distinct(*keys.add(place(i - 1)), mine));
                        }
                        // Integers of this size are exact in single precision.
                        f64::from(reduce::block_sum(count as f32))
                    } else {
                        let between = query.between(n);
                        let below = *keys.add(place(between.below));
                        let above = *keys.add(place(between.above));
                        query.quantile(below, above, between.fraction)
                    };
                    if thread::index_in_block() == 0 {
                        *out.add(query.column as usize * stride as usize + bucket) = value;
                    }
                }
                thread::sync_threads();
            }
        }
        // All threads have read the masks.
        thread::sync_threads();
    }
}
