//! Order statistics requested for every bucket, and their values given the sorted bucket.

use super::{order, quantile};
use bytemuck::{Pod, Zeroable};

/// Index in the facts about buckets: the number of buckets.
pub const BUCKETS: usize = 0;
/// Index in the facts about buckets: the number of points in the longest.
pub const LONGEST: usize = 1;

/// The longest bucket that one thread sorts, in points.
pub const SHORT: u32 = 32;
/// The longest bucket that one warp sorts.
pub const WARP: u32 = 512;
/// The longest bucket that one block sorts; from longer ones the requested values are selected.
pub const LONG: u32 = 4096;
/// Points between entries of `covering`: entry i is the bucket of point `WINDOW`·i.
pub const WINDOW: u32 = 32;

/// The number of entries of `covering`.
#[inline(always)]
#[must_use]
pub const fn windows(points: usize) -> usize {
    points.div_ceil(WINDOW as usize)
}

/// The [`OrderQuery::kind`] of a percentile.
pub const PERCENTILE: u32 = 0;
/// The [`OrderQuery::kind`] of the median.
pub const MEDIAN: u32 = 1;
/// The [`OrderQuery::kind`] of the number of distinct values.
pub const NUNIQUE: u32 = 2;

/// One statistic, and the column for it.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct OrderQuery {
    /// 0 … 100, for a [`PERCENTILE`].
    pub percent: f64,
    /// [`PERCENTILE`], [`MEDIAN`] or [`NUNIQUE`].
    pub kind: u32,
    /// The column of the results.
    pub column: u32,
}

/// Two neighbours among sorted values, and the fraction of the way from one to the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between {
    /// Index of the lower value.
    pub below: u32,
    /// Index of the upper value; equal to `below` at the end.
    pub above: u32,
    /// 0 … 1.
    pub fraction: f64,
}

impl OrderQuery {
    /// The values among `n` ≥ 1 sorted ones that a quantile needs.
    #[inline(always)]
    #[must_use]
    pub fn between(&self, n: u32) -> Between {
        if self.kind == MEDIAN {
            return Between {
                below: (n - 1) / 2,
                above: n / 2,
                fraction: 0.5,
            };
        }
        let (below, fraction) = quantile::position(n, self.percent);
        let above = (below + 1).min(n - 1);
        Between {
            below,
            above,
            fraction,
        }
    }

    /// The quantile, from the keys of the two values.
    #[inline(always)]
    #[must_use]
    pub fn quantile(&self, below: u64, above: u64, fraction: f64) -> f64 {
        let (a, b) = (order::value(below), order::value(above));
        if self.kind == MEDIAN {
            quantile::middle(a, b)
        } else {
            quantile::interpolate(a, b, fraction)
        }
    }
}

/// Whether two neighbours among sorted keys are distinct values; both zeros are the same value.
#[inline(always)]
#[must_use]
pub fn distinct(below: u64, above: u64) -> bool {
    const ZERO: u64 = 1 << 63;
    below != above && !(above == ZERO && below == ZERO - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_neighbours_and_one_value() {
        let keys = [-1.0, -5e-324, -0.0, 0.0, 5e-324, f64::NAN].map(order::key);
        let found: Vec<bool> = keys.windows(2).map(|k| distinct(k[0], k[1])).collect();
        assert_eq!(found, [true, true, false, true, true]);
        assert!(!distinct(keys[2], keys[2]));
    }

    #[test]
    fn medians_lie_between_the_middle_two() {
        let median = OrderQuery {
            percent: 0.0,
            kind: MEDIAN,
            column: 0,
        };
        for (n, below, above) in [(1, 0, 0), (2, 0, 1), (7, 3, 3), (8, 3, 4)] {
            let between = median.between(n);
            assert_eq!((between.below, between.above), (below, above));
        }
        let percentile = OrderQuery {
            percent: 100.0,
            kind: PERCENTILE,
            column: 0,
        };
        let end = percentile.between(5);
        assert_eq!((end.below, end.above, end.fraction), (4, 4, 0.0));
    }
}
