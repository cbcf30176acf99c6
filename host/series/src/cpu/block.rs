//! Reduces eight short buckets at once: each bucket has a lane of the vector registers, each row
//! holds one value per bucket.
//!
//! Rows below a bucket's last value hold arbitrary data, from an earlier block or from the points
//! that follow the bucket. Nothing depends on it: sums replace it with −0, which changes no sum,
//! and the order replaces it with a key greater than that of any value.

use super::keys::{self, NONE, canonical_nan, keys, value};
use super::network::{self, LANES};
use super::statistics::{Content, Quantile, Statistics};
use pulp::Simd;
use warpstride_kernels::series::sums::SHORT;

/// Number of values of a bucket copied at once.
const COPY_LEN: usize = 8;

/// One number per bucket.
pub(super) type LaneValues = [f64; LANES];

/// Up to eight buckets of up to [`SHORT`] values each.
pub(super) struct Block {
    /// Number of values in each bucket; 0 for lanes without a bucket.
    counts: [u64; LANES],
    /// Least and greatest number of values in a bucket.
    full: usize,
    rows: usize,
    values: [LaneValues; SHORT],
    keys: [[i64; LANES]; SHORT],
}

/// Computed statistics of eight buckets.
pub(super) struct Results {
    pub(super) sums: LaneValues,
    pub(super) means: LaneValues,
    pub(super) deviations: LaneValues,
    pub(super) least: LaneValues,
    pub(super) greatest: LaneValues,
    pub(super) unique: LaneValues,
    /// Quantiles: (quantile, lane).
    pub(super) quantiles: Vec<LaneValues>,
}

impl Results {
    pub(super) fn new(quantiles: usize) -> Self {
        Self {
            sums: [0.0; LANES],
            means: [0.0; LANES],
            deviations: [0.0; LANES],
            least: [0.0; LANES],
            greatest: [0.0; LANES],
            unique: [0.0; LANES],
            quantiles: vec![[0.0; LANES]; quantiles],
        }
    }

    /// The results of a column that has to be computed.
    #[inline(always)]
    pub(super) fn of(&self, content: Content) -> &LaneValues {
        match content {
            Content::Mean => &self.means,
            Content::Deviation => &self.deviations,
            Content::Least => &self.least,
            Content::Greatest => &self.greatest,
            Content::Unique => &self.unique,
            Content::Quantile(quantile) => &self.quantiles[quantile],
            // The other contents are read from the points.
            _ => &self.sums,
        }
    }
}

/// Returns a vector of a row that consists of `vectors` vectors.
#[inline(always)]
fn of_row<T: Copy>(rows: &[T], row: usize, vectors: usize, vector: usize) -> T {
    rows[row * vectors + vector]
}

impl Block {
    pub(super) fn new() -> Self {
        Self {
            counts: [0; LANES],
            full: 0,
            rows: 0,
            values: [[0.0; LANES]; SHORT],
            keys: [[0; LANES]; SHORT],
        }
    }

    /// Loads the short buckets among up to eight buckets whose first points are `firsts`. Returns
    /// whether there are any.
    #[inline(always)]
    pub(super) fn load(&mut self, values: &[f64], firsts: &[u32], counts: &[u32]) -> bool {
        self.counts = [0; LANES];
        for (lane, (first, count)) in firsts.iter().zip(counts).enumerate() {
            let count = *count as usize;
            if count > SHORT {
                continue;
            }
            self.counts[lane] = count as u64;
            let mut behind = &values[*first as usize..];
            for rows in self.values[..count.next_multiple_of(COPY_LEN)].chunks_exact_mut(COPY_LEN) {
                if let Some((part, rest)) = behind.split_first_chunk::<COPY_LEN>() {
                    for (row, value) in rows.iter_mut().zip(part) {
                        row[lane] = *value;
                    }
                    behind = rest;
                } else {
                    for (row, value) in rows.iter_mut().zip(behind) {
                        row[lane] = *value;
                    }
                }
            }
        }
        let counts = || self.counts.iter().copied();
        self.full = counts().min().unwrap_or(0) as usize;
        self.rows = counts().max().unwrap_or(0) as usize;
        self.rows > 0
    }

    /// Computes all requested statistics of the buckets.
    #[inline(always)]
    pub(super) fn reduce<S: Simd>(
        &mut self,
        simd: S,
        statistics: &Statistics,
        results: &mut Results,
    ) {
        if statistics.sums {
            self.sums(simd, statistics.deviations, results);
        }
        if statistics.ordered() {
            self.find_keys(simd);
            network::sort(simd, &mut self.keys, self.rows);
            self.read_order(simd, statistics, results);
        } else if statistics.extremes {
            self.extremes(simd, results);
        }
    }

    /// Σ `of`(v) of each bucket in a vector of lanes.
    #[inline(always)]
    fn sum<S: Simd>(&self, simd: S, vector: usize, of: impl Fn(S::f64s) -> S::f64s) -> S::f64s {
        let vectors = LANES / S::F64_LANES;
        let values = S::as_simd_f64s(self.values.as_flattened()).0;
        let counts = S::as_simd_u64s(&self.counts).0[vector];
        let mut sum = simd.splat_f64s(0.0);
        for row in 0..self.full {
            sum = simd.add_f64s(sum, of(of_row(values, row, vectors, vector)));
        }
        for row in self.full..self.rows {
            let inside = simd.less_than_u64s(simd.splat_u64s(row as u64), counts);
            let term = of(of_row(values, row, vectors, vector));
            sum = simd.add_f64s(sum, simd.select_f64s(inside, term, simd.splat_f64s(-0.0)));
        }
        sum
    }

    #[inline(always)]
    fn sums<S: Simd>(&self, simd: S, deviations: bool, results: &mut Results) {
        let lengths = self.counts.map(|count| count as f64);
        let lengths = S::as_simd_f64s(&lengths).0;
        let to_sums = S::as_mut_simd_f64s(&mut results.sums).0;
        let to_means = S::as_mut_simd_f64s(&mut results.means).0;
        let to_deviations = S::as_mut_simd_f64s(&mut results.deviations).0;
        for vector in 0..LANES / S::F64_LANES {
            // Closures must be compiled for the selected vector instructions too.
            let sum = self.sum(
                simd,
                vector,
                #[inline(always)]
                |v| v,
            );
            let mean = simd.div_f64s(sum, lengths[vector]);
            to_sums[vector] = canonical_nan(simd, sum);
            to_means[vector] = canonical_nan(simd, mean);
            if deviations {
                let squares = self.sum(
                    simd,
                    vector,
                    #[inline(always)]
                    |v| {
                        let difference = simd.sub_f64s(v, mean);
                        simd.mul_f64s(difference, difference)
                    },
                );
                let freedom = simd.sub_f64s(lengths[vector], simd.splat_f64s(1.0));
                let deviation = simd.sqrt_f64s(simd.div_f64s(squares, freedom));
                to_deviations[vector] = canonical_nan(simd, deviation);
            }
        }
    }

    /// Computes the keys of all rows that the network sorts.
    #[inline(always)]
    fn find_keys<S: Simd>(&mut self, simd: S) {
        let vectors = LANES / S::F64_LANES;
        let values = S::as_simd_f64s(self.values.as_flattened()).0;
        let counts = S::as_simd_u64s(&self.counts).0;
        let to = S::as_mut_simd_i64s(self.keys.as_flattened_mut()).0;
        for row in 0..network::size(self.rows) {
            for vector in 0..vectors {
                let inside = simd.less_than_u64s(simd.splat_u64s(row as u64), counts[vector]);
                let keys = keys(simd, of_row(values, row, vectors, vector));
                to[row * vectors + vector] = simd.select_i64s(inside, keys, simd.splat_i64s(NONE));
            }
        }
    }

    #[inline(always)]
    fn extremes<S: Simd>(&self, simd: S, results: &mut Results) {
        let vectors = LANES / S::F64_LANES;
        let values = S::as_simd_f64s(self.values.as_flattened()).0;
        let counts = S::as_simd_u64s(&self.counts).0;
        let to_least = S::as_mut_simd_f64s(&mut results.least).0;
        let to_greatest = S::as_mut_simd_f64s(&mut results.greatest).0;
        for vector in 0..vectors {
            let mut least = simd.splat_i64s(i64::MAX);
            let mut greatest = simd.splat_i64s(i64::MIN);
            for row in 0..self.rows {
                let inside = simd.less_than_u64s(simd.splat_u64s(row as u64), counts[vector]);
                let keys = keys(simd, of_row(values, row, vectors, vector));
                least = simd.min_i64s(least, simd.select_i64s(inside, keys, least));
                greatest = simd.max_i64s(greatest, simd.select_i64s(inside, keys, greatest));
            }
            to_least[vector] = keys::values(simd, least);
            to_greatest[vector] = keys::values(simd, greatest);
        }
    }

    /// Reads the requested statistics from the sorted rows.
    #[inline(always)]
    fn read_order<S: Simd>(&self, simd: S, statistics: &Statistics, results: &mut Results) {
        if statistics.extremes {
            results.least = self.keys[0].map(value);
            for (lane, greatest) in results.greatest.iter_mut().enumerate() {
                let last = (self.counts[lane] as usize).max(1) - 1;
                *greatest = value(self.keys[last][lane]);
            }
        }
        if statistics.unique {
            self.unique(simd, &mut results.unique);
        }
        let quantiles = statistics.quantiles.iter().zip(&mut results.quantiles);
        for (number, (quantile, to)) in quantiles.enumerate() {
            // LaneValues without a bucket use the position for one value.
            let position =
                |lane: usize| statistics.short_position(self.counts[lane].max(1) as usize, number);
            let fractions: LaneValues = std::array::from_fn(|lane| position(lane).fraction);
            let below: [i64; LANES] =
                std::array::from_fn(|lane| self.keys[position(lane).below][lane]);
            let above: [i64; LANES] =
                std::array::from_fn(|lane| self.keys[position(lane).above][lane]);
            let below = S::as_simd_i64s(&below).0;
            let above = S::as_simd_i64s(&above).0;
            let fractions = S::as_simd_f64s(&fractions).0;
            let to = S::as_mut_simd_f64s(to).0;
            for (vector, to) in to.iter_mut().enumerate() {
                let a = keys::values(simd, below[vector]);
                let b = keys::values(simd, above[vector]);
                *to = between(simd, *quantile, a, b, fractions[vector]);
            }
        }
    }

    /// Counts the distinct values of sorted rows.
    #[inline(always)]
    fn unique<S: Simd>(&self, simd: S, to: &mut LaneValues) {
        let vectors = LANES / S::F64_LANES;
        let keys = S::as_simd_i64s(self.keys.as_flattened()).0;
        let counts = S::as_simd_u64s(&self.counts).0;
        for (vector, to) in S::as_mut_simd_f64s(to).0.iter_mut().enumerate() {
            // Values compare as −0 = +0. NaN does not equal itself, but the keys of NaNs are equal.
            let mut unique = simd.splat_f64s(1.0);
            let mut before = keys[vector];
            for row in 1..self.rows {
                let inside = simd.less_than_u64s(simd.splat_u64s(row as u64), counts[vector]);
                let key = of_row(keys, row, vectors, vector);
                let same_key = simd.equal_u64s(
                    simd.transmute_u64s_i64s(key),
                    simd.transmute_u64s_i64s(before),
                );
                let same = simd.equal_f64s(keys::values(simd, key), keys::values(simd, before));
                let new = simd.select_f64s(inside, simd.splat_f64s(1.0), simd.splat_f64s(0.0));
                let new = simd.select_f64s(same_key, simd.splat_f64s(0.0), new);
                unique = simd.add_f64s(unique, simd.select_f64s(same, simd.splat_f64s(0.0), new));
                before = key;
            }
            *to = unique;
        }
    }
}

/// Interpolates quantiles between the values `a` and `b` of each lane.
#[inline(always)]
fn between<S: Simd>(
    simd: S,
    quantile: Quantile,
    a: S::f64s,
    b: S::f64s,
    fractions: S::f64s,
) -> S::f64s {
    let zero = simd.splat_f64s(0.0);
    let on_the_way = match quantile {
        Quantile::Median => simd.mul_f64s(simd.add_f64s(a, b), simd.splat_f64s(0.5)),
        Quantile::Percent(_) => simd.add_f64s(a, simd.mul_f64s(simd.sub_f64s(b, a), fractions)),
    };
    let there = simd.equal_f64s(a, b);
    let result = simd.select_f64s(there, a, on_the_way);
    let result = match quantile {
        Quantile::Median => result,
        Quantile::Percent(_) => simd.select_f64s(simd.equal_f64s(fractions, zero), a, result),
    };
    // x − x is 0 for finite numbers only. Infinities, NaN and overflows are computed by the
    // definition.
    let finite = simd.equal_f64s(simd.sub_f64s(result, result), zero);
    let other = simd.select_f64s(finite, zero, simd.splat_f64s(1.0));
    if simd.reduce_max_f64s(other) == 0.0 {
        return result;
    }
    let mut exact = [0.0; LANES];
    let numbers = |lanes: S::f64s| {
        let mut numbers = [0.0; LANES];
        S::as_mut_simd_f64s(&mut numbers).0[0] = lanes;
        numbers
    };
    let (a, b, fractions) = (numbers(a), numbers(b), numbers(fractions));
    for lane in 0..S::F64_LANES {
        exact[lane] = quantile.between(a[lane], b[lane], fractions[lane]);
    }
    S::as_simd_f64s(&exact).0[0]
}
