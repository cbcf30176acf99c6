//! Order statistics that are wanted of every bucket, and what they are of its sorted values.

use super::{order, quantile};
use bytemuck::{Pod, Zeroable};

/// Place in the facts of buckets: how many there are.
pub const BUCKETS: usize = 0;
/// Place in the facts of buckets: points of the longest.
pub const LONGEST: usize = 1;

/// Points of a bucket that one thread sorts.
pub const SHORT: u32 = 32;
/// Points of a bucket that one warp sorts.
pub const WARP: u32 = 512;
/// Points of a bucket that one block sorts; values of longer ones are selected.
pub const LONG: u32 = 4096;
/// Points from one place of `covering` to the next: it has the bucket that point `WINDOW`·i lies in.
pub const WINDOW: u32 = 32;

/// Places of `covering`.
#[inline(always)]
#[must_use]
pub const fn windows(points: usize) -> usize {
    points.div_ceil(WINDOW as usize)
}

/// [`OrderQuery::kind`] of `percent`.
pub const PERCENTILE: u32 = 0;
/// [`OrderQuery::kind`] of the middle value.
pub const MEDIAN: u32 = 1;
/// [`OrderQuery::kind`] of the number of distinct values.
pub const NUNIQUE: u32 = 2;

/// One statistic, and where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct OrderQuery {
    /// 0 … 100, of a [`PERCENTILE`].
    pub percent: f64,
    /// [`PERCENTILE`], [`MEDIAN`] or [`NUNIQUE`].
    pub kind: u32,
    /// Which column of the results.
    pub column: u32,
}

/// Two neighbours among sorted values, and how far from the one to the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between {
    /// The lower one's place.
    pub below: u32,
    /// The upper one's; the same at the end.
    pub above: u32,
    /// 0 … 1.
    pub fraction: f64,
}

impl OrderQuery {
    /// Which of `n` ≥ 1 sorted values a quantile needs.
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

    /// The quantile, of the keys of the two values.
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

/// Whether two neighbours among sorted keys are distinct values: both zeros are one.
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
