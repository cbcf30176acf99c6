//! The order of additions in a bucket, which depends on nothing but the bucket.
//!
//! Up to [`SHORT`] values are added one after the other. More values are divided into *chunks* of [`CHUNK`] values
//! from the bucket's first on; the last chunk takes the remainder (so a chunk has more than [`SHORT`] values and less
//! than twice [`CHUNK`]). In a chunk, lane l of [`LANES`] adds the values l, l + 32, l + 64 … in this order; then
//! lane l adds lane l + 16, then l + 8, 4, 2, 1. The sums of several chunks are added by the same rule as the values
//! of a bucket.
//!
//! The error is at most that of adding n values one after the other, n·ε·Σ|v|. Neither the launch, nor the number of
//! threads, nor other computations change a bit of the result.

/// The most values that are added one after the other.
pub const SHORT: usize = 32;
/// Values in a chunk.
pub const CHUNK: usize = 1024;
/// Lanes that add a chunk.
pub const LANES: usize = 32;

/// The number of chunks in a bucket of `n` values; 0 for a short bucket, which has none.
#[inline(always)]
#[must_use]
pub const fn chunks(n: usize) -> usize {
    if n <= SHORT {
        0
    } else if n < CHUNK {
        1
    } else {
        n / CHUNK
    }
}

/// The range of chunk `chunk` in a bucket of `n` values: its first value, and the first of the next chunk.
#[inline(always)]
#[must_use]
pub const fn chunk_range(n: usize, chunk: usize) -> (usize, usize) {
    let last = chunk + 1 >= chunks(n);
    (chunk * CHUNK, if last { n } else { (chunk + 1) * CHUNK })
}

/// The sum over the lanes of a chunk.
#[inline]
#[must_use]
pub fn across(mut lanes: [f64; LANES]) -> f64 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// The sum of `of(0) … of(n − 1)`, written as in the definition.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn ordered_sum(n: usize, of: &dyn Fn(usize) -> f64) -> f64 {
    if n <= SHORT {
        return (0..n).fold(0.0, |sum, i| sum + of(i));
    }
    let of_chunk = |chunk| {
        let (first, end) = chunk_range(n, chunk);
        let mut lanes = [0.0; LANES];
        for (place, i) in (first..end).enumerate() {
            lanes[place % LANES] += of(i);
        }
        across(lanes)
    };
    let sums: Vec<f64> = (0..chunks(n)).map(of_chunk).collect();
    match sums[..] {
        [only] => only,
        _ => ordered_sum(sums.len(), &|i| sums[i]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_a_bucket_once() {
        for n in [0, 1, 32, 33, 1023, 1024, 1025, 2047, 2048, 2049, 100_000] {
            let mut next = 0;
            for chunk in 0..chunks(n) {
                let (first, end) = chunk_range(n, chunk);
                assert_eq!(first, next);
                assert!(end - first > SHORT && end - first < 2 * CHUNK);
                next = end;
            }
            assert_eq!(next, if n <= SHORT { 0 } else { n });
        }
    }

    #[test]
    fn sums_of_whole_numbers_are_exact() {
        for n in [0_usize, 1, 31, 32, 33, 1000, 1024, 5000, 70_000, 1_100_000] {
            let expected = n * n.saturating_sub(1) / 2;
            assert_eq!(ordered_sum(n, &|i| i as f64), expected as f64);
        }
    }
}
