//! Sums and extremes of a long bucket, by the chunks of [`warpstride_kernels::series::sums`].

use super::keys::keys;
use pulp::{NullaryFnOnce, Simd, WithSimd};
use rayon::prelude::*;
use warpstride_kernels::series::order;
use warpstride_kernels::series::sums::{LANES, SHORT, across, chunk_range, chunks};

/// Number of values of a bucket beyond which all threads share its work.
pub(super) const SHARED: usize = 1 << 18;

/// Σ `of`(v) in the prescribed order of additions.
pub(super) fn sum(values: &[f64], of: impl Fn(f64) -> f64 + Sync + Copy) -> f64 {
    let n = values.len();
    if n <= SHORT {
        return values.iter().fold(0.0, |sum, value| sum + of(*value));
    }
    let arch = pulp::Arch::new();
    let chunk = |chunk| {
        let (first, end) = chunk_range(n, chunk);
        let values = &values[first..end];
        arch.dispatch(ChunkSum { values, of })
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

/// Σ v in the prescribed order of additions.
pub(super) fn plain_sum(values: &[f64]) -> f64 {
    sum(values, std::convert::identity)
}

/// The sum of a chunk.
struct ChunkSum<'a, F> {
    values: &'a [f64],
    of: F,
}

impl<F: Fn(f64) -> f64> NullaryFnOnce for ChunkSum<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        chunk_sum(self.values, self.of)
    }
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

/// Keys of the smallest and the largest value.
pub(super) fn extremes(values: &[f64]) -> (u64, u64) {
    let arch = pulp::Arch::new();
    let of = |values: &[f64]| arch.dispatch(PartExtremes(values));
    if values.len() <= SHARED {
        return of(values);
    }
    values
        .par_chunks(SHARED / 8)
        .map(of)
        .reduce(|| (u64::MAX, 0), |a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Keys of the smallest and the largest value, single-threaded.
struct PartExtremes<'a>(&'a [f64]);

impl WithSimd for PartExtremes<'_> {
    type Output = (u64, u64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (u64, u64) {
        // Several independent vectors, because each comparison depends on the one before.
        const AT_ONCE: usize = 4;
        let mut least = [simd.splat_i64s(i64::MAX); AT_ONCE];
        let mut greatest = [simd.splat_i64s(i64::MIN); AT_ONCE];
        let (vectors, rest) = S::as_simd_f64s(self.0);
        let (rows, few) = vectors.as_chunks::<AT_ONCE>();
        for row in rows {
            for vector in 0..AT_ONCE {
                let keys = keys(simd, row[vector]);
                least[vector] = simd.min_i64s(least[vector], keys);
                greatest[vector] = simd.max_i64s(greatest[vector], keys);
            }
        }
        for values in few {
            let keys = keys(simd, *values);
            least[0] = simd.min_i64s(least[0], keys);
            greatest[0] = simd.max_i64s(greatest[0], keys);
        }
        let lanes = |vectors: &[S::i64s]| bytemuck::cast_slice::<_, i64>(vectors).to_vec();
        let of_rest = rest
            .iter()
            .map(|value| (order::key(*value) ^ 1 << 63) as i64);
        let low = lanes(&least).into_iter().chain(of_rest.clone()).min();
        let high = lanes(&greatest).into_iter().chain(of_rest).max();
        let key = |signed: Option<i64>| signed.unwrap_or(0) as u64 ^ 1 << 63;
        (key(low), key(high))
    }
}
