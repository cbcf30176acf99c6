//! Order statistics of buckets of up to 32 points.
//!
//! A thread processes one bucket: it loads the values into registers, sorts their keys with a network for 4, 8, 16 or
//! 32 of them, and answers all queries. Reads 8 bytes a point and 4 a bucket (16 for each query, from the cache),
//! writes 8 bytes for each bucket and query.
//!
//! The values of a warp's buckets are adjacent: its first load brings the lines into the multiprocessor's cache, from
//! which the other loads take theirs, one access for two points at 7 points a bucket. Staging through shared memory
//! would save less than its barrier costs. There are two kernels because 32 keys take 64 registers, which halves the
//! number of resident threads; the second ends at once if no bucket has more than 8 points. Block of 128: registers
//! are the limit, and small blocks waste the fewest.
//!
//! 7 340 032 points in buckets of 7: 59 MB of values, 4 MB of buckets, 8 MB for each query.

use super::order;
use super::order_query::{BUCKETS, LONGEST, NUNIQUE, OrderQuery, SHORT, distinct};
use super::sorting_network::Registers;
use warpstride_device::prelude::*;

/// The most points in a bucket that needs few registers.
pub const FEW: u32 = 8;

/// The queries and the memory for their answers.
struct Answers {
    wanted: *const OrderQuery,
    queries: u32,
    out: *mut f64,
    stride: u32,
}

/// Writes all answers for the `n` points from `values` on, 1 ≤ n ≤ N.
#[inline(always)]
unsafe fn answer<const N: usize>(values: *const f64, n: u32, bucket: usize, to: &Answers)
where
    [u64; N]: Registers,
{
    let mut keys = [0; N];
    for i in 0..N {
        // Reads the last value again instead of values that do not exist: loads without branches are issued together.
        let value = *values.add(i.min(n as usize - 1));
        keys[i] = if (i as u32) < n {
            order::key(value)
        } else {
            u64::MAX
        };
    }
    keys.sort();
    for q in 0..to.queries {
        let query = *to.wanted.add(q as usize);
        let value = if query.kind == NUNIQUE {
            let mut count = 1_u32;
            for i in 1..N {
                count += u32::from((i as u32) < n && distinct(keys[i - 1], keys[i]));
            }
            f64::from(count)
        } else {
            let between = query.between(n);
            let (mut below, mut above) = (keys[0], keys[0]);
            for i in 1..N {
                if i as u32 == between.below {
                    below = keys[i];
                }
                if i as u32 == between.above {
                    above = keys[i];
                }
            }
            query.quantile(below, above, between.fraction)
        };
        *to.out
            .add(query.column as usize * to.stride as usize + bucket) = value;
    }
}

/// Quantiles and numbers of distinct values for buckets of 1 … 8 points.
///
/// `first`: (bucket + 1), first points; `facts`: the number of buckets, and the points of the longest; `out`:
/// (column, bucket).
#[kernel(block = 128, hot, f64)]
pub unsafe fn series_order_8(
    #[len(points)] values: *const f64,
    #[len(capacity + 1)] first: *const u32,
    #[len(2)] facts: *const u32,
    #[len(queries)] wanted: *const OrderQuery,
    #[len(columns * stride)] out: *mut f64,
    points: u32,
    capacity: u32,
    queries: u32,
    columns: u32,
    stride: u32,
) {
    let _ = (points, columns);
    let to = Answers {
        wanted,
        queries,
        out,
        stride,
    };
    let buckets = (*facts.add(BUCKETS)).min(capacity);
    for bucket in thread::grid_stride(buckets as usize) {
        let lo = *first.add(bucket);
        let n = *first.add(bucket + 1) - lo;
        let values = values.add(lo as usize);
        if n <= 4 {
            answer::<4>(values, n, bucket, &to);
        } else if n <= FEW {
            answer::<8>(values, n, bucket, &to);
        }
    }
}

/// Quantiles and numbers of distinct values for buckets of 9 … 32 points; see [`series_order_8`].
#[kernel(block = 128, hot, f64)]
pub unsafe fn series_order_32(
    #[len(points)] values: *const f64,
    #[len(capacity + 1)] first: *const u32,
    #[len(2)] facts: *const u32,
    #[len(queries)] wanted: *const OrderQuery,
    #[len(columns * stride)] out: *mut f64,
    points: u32,
    capacity: u32,
    queries: u32,
    columns: u32,
    stride: u32,
) {
    let _ = (points, columns);
    if *facts.add(LONGEST) <= FEW {
        return;
    }
    let to = Answers {
        wanted,
        queries,
        out,
        stride,
    };
    let buckets = (*facts.add(BUCKETS)).min(capacity);
    for bucket in thread::grid_stride(buckets as usize) {
        let lo = *first.add(bucket);
        let n = *first.add(bucket + 1) - lo;
        let values = values.add(lo as usize);
        if n > FEW && n <= 16 {
            answer::<16>(values, n, bucket, &to);
        } else if n > FEW && n <= SHORT {
            answer::<32>(values, n, bucket, &to);
        }
    }
}
