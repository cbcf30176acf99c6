//! Resolution: a sparse matrix whose rows cover ranges of the finer points, times the intensities at those points.
//!
//! A warp processes one row of one vector: its lanes cover the range and add pairwise, so that neighbours read
//! adjacent elements. 16 bytes an element (weight and intensity), which several rows or vectors read, so mostly from
//! caches. Block of 128.

use super::finish::FINALS;
use warpstride_device::prelude::*;

/// `out` (vector, row) from `fine` (vector, fine point), plus each vector's background (number 3 of its [`FINALS`]).
/// Row r takes `weights[offsets[r]…offsets[r + 1]]` and the points from `first[r]`.
#[kernel(block = 128, hot, f64)]
#[allow(clippy::too_many_arguments, reason = "a matrix and two batches")]
pub unsafe fn sas_smear(
    #[len(vectors * rows)] out: *mut f64,
    #[len(vectors * fine_points)] fine: *const f64,
    #[len(weight_count)] weights: *const f64,
    #[len(rows + 1)] offsets: *const u32,
    #[len(rows)] first: *const u32,
    #[len(vectors * FINALS)] finals: *const f64,
    weight_count: u32,
    rows: u32,
    fine_points: u32,
    vectors: u32,
) {
    let _ = weight_count;
    let warps = thread::block_threads() / warp::SIZE;
    let items = rows * vectors;
    if warps == 0 || rows == 0 {
        return;
    }
    for group in thread::block_stride(items.div_ceil(warps)) {
        let item = group * warps + warp::warp_id();
        // This is equal for all lanes.
        if item >= items {
            continue;
        }
        let (vector, row) = ((item / rows) as usize, (item % rows) as usize);
        let (start, end) = (*offsets.add(row), *offsets.add(row + 1));
        let values = fine
            .add(vector * fine_points as usize)
            .add(*first.add(row) as usize);
        let weights = weights.add(start as usize);
        let mut sum = 0.0;
        let mut k = warp::lane_id();
        while k < end - start {
            sum += *weights.add(k as usize) * *values.add(k as usize);
            k += warp::SIZE;
        }
        let sum = reduce::warp_sum_f64(sum);
        if warp::lane_id() == 0 {
            *out.add(item as usize) = sum + *finals.add(vector * FINALS + 3);
        }
    }
}
