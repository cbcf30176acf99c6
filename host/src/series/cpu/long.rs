//! Sums and extremes of a bucket of more than a few values, by the chunks of [`warpstride_kernels::series::sums`].

use rayon::prelude::*;
use warpstride_kernels::series::order;
use warpstride_kernels::series::sums::{LANES, SHORT, across, chunk_range, chunks};

/// Values of a bucket beyond which all threads take part in it.
pub(super) const SHARED: usize = 1 << 18;

/// Σ `of`(v) in the order of additions.
pub(super) fn sum(values: &[f64], of: impl Fn(f64) -> f64 + Sync + Copy) -> f64 {
    let n = values.len();
    if n <= SHORT {
        return values.iter().fold(0.0, |sum, value| sum + of(*value));
    }
    let arch = pulp::Arch::new();
    let chunk = |chunk| {
        let (first, end) = chunk_range(n, chunk);
        let values = &values[first..end];
        arch.dispatch(
            #[inline(always)]
            || chunk_sum(values, of),
        )
    };
    if chunks(n) == 1 {
        return chunk(0);
    }
    let sums: Vec<f64> = if n > SHARED {
        (0..chunks(n)).into_par_iter().map(chunk).collect()
    } else {
        (0..chunks(n)).map(chunk).collect()
    };
    plain_sum(&sums)
}

/// Σ v in the order of additions.
pub(super) fn plain_sum(values: &[f64]) -> f64 {
    sum(values, std::convert::identity)
}

#[inline(always)]
fn chunk_sum(values: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let (rows, rest) = values.as_chunks::<LANES>();
    for row in rows {
        for lane in 0..LANES {
            lanes[lane] += of(row[lane]);
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane += of(*value);
    }
    across(lanes)
}

/// Keys of the least and the greatest value.
pub(super) fn extremes(values: &[f64]) -> (u64, u64) {
    let arch = pulp::Arch::new();
    let of = |values: &[f64]| {
        arch.dispatch(
            #[inline(always)]
            || part_extremes(values),
        )
    };
    if values.len() <= SHARED {
        return of(values);
    }
    values
        .par_chunks(SHARED / 8)
        .map(of)
        .reduce(|| (u64::MAX, 0), |a, b| (a.0.min(b.0), a.1.max(b.1)))
}

#[inline(always)]
fn part_extremes(values: &[f64]) -> (u64, u64) {
    // Signed, as vector units compare them.
    let (mut least, mut greatest) = ([i64::MAX; LANES], [i64::MIN; LANES]);
    let (rows, rest) = values.as_chunks::<LANES>();
    let key = |value: f64| (order::key(value) ^ 1 << 63) as i64;
    for row in rows {
        for lane in 0..LANES {
            let key = key(row[lane]);
            least[lane] = least[lane].min(key);
            greatest[lane] = greatest[lane].max(key);
        }
    }
    for (lane, value) in rest.iter().enumerate() {
        let key = key(*value);
        least[lane] = least[lane].min(key);
        greatest[lane] = greatest[lane].max(key);
    }
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for lane in 0..LANES {
        (low, high) = (low.min(least[lane]), high.max(greatest[lane]));
    }
    (low as u64 ^ 1 << 63, high as u64 ^ 1 << 63)
}
