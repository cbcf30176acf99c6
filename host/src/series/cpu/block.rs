//! Eight short buckets at once: one in each lane of vector registers, a value of each in a row.
//!
//! Rows below a bucket's last value hold what lay there before. Nothing reads it: sums take −0 in its place, which
//! changes no sum, and keys the greatest one, which no value has.

use super::network::{self, Keys};
use super::statistics::{Content, Quantile, Statistics, deviation, plain};
use warpstride_kernels::series::order;
use warpstride_kernels::series::sums::SHORT;

/// Buckets at once: doubles of the widest vector registers.
pub(super) const LANES: usize = 8;

/// One number of each bucket.
pub(super) type Lanes = [f64; LANES];

/// Up to eight buckets of up to [`SHORT`] values.
pub(super) struct Block {
    /// Values of each bucket; 0 of lanes without one.
    counts: [u64; LANES],
    /// Most values of a bucket.
    rows: usize,
    values: [Lanes; SHORT],
    keys: [Keys; SHORT],
}

/// What eight buckets have for the columns.
pub(super) struct Results {
    pub(super) sums: Lanes,
    pub(super) means: Lanes,
    pub(super) deviations: Lanes,
    pub(super) least: Lanes,
    pub(super) greatest: Lanes,
    pub(super) unique: Lanes,
    /// (quantile).
    pub(super) quantiles: Vec<Lanes>,
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

    /// Those of a column that must be computed.
    #[inline(always)]
    pub(super) fn of(&self, content: Content) -> &Lanes {
        match content {
            Content::Sum => &self.sums,
            Content::Mean => &self.means,
            Content::Deviation => &self.deviations,
            Content::Least => &self.least,
            Content::Greatest => &self.greatest,
            Content::Unique => &self.unique,
            Content::Quantile(quantile) => &self.quantiles[quantile],
            Content::Count | Content::First | Content::Last => unreachable!("read, not computed"),
        }
    }
}

impl Block {
    pub(super) fn new() -> Self {
        Self {
            counts: [0; LANES],
            rows: 0,
            values: [[0.0; LANES]; SHORT],
            keys: [[0; LANES]; SHORT],
        }
    }

    /// Takes the short ones of up to eight buckets, of which `firsts` are the first points. Whether there are any.
    #[inline(always)]
    pub(super) fn load(&mut self, values: &[f64], firsts: &[u32], counts: &[u32]) -> bool {
        self.counts = [0; LANES];
        self.rows = 0;
        for (lane, (first, count)) in firsts.iter().zip(counts).enumerate() {
            let count = *count as usize;
            if count <= SHORT {
                self.counts[lane] = count as u64;
                self.rows = self.rows.max(count);
                let values = &values[*first as usize..][..count];
                for (row, value) in self.values.iter_mut().zip(values) {
                    row[lane] = *value;
                }
            }
        }
        self.rows > 0
    }

    /// All that is wanted of the buckets.
    #[inline(always)]
    pub(super) fn reduce(&mut self, wanted: &Statistics, results: &mut Results) {
        if wanted.sums {
            results.sums = self.sums();
            for lane in 0..LANES {
                results.means[lane] = results.sums[lane] / self.counts[lane] as f64;
            }
        }
        if wanted.deviations {
            results.deviations = self.deviations(&results.means);
        }
        for lanes in [&mut results.sums, &mut results.means] {
            *lanes = lanes.map(plain);
        }
        if wanted.extremes || wanted.ordered() {
            self.find_keys();
        }
        if wanted.ordered() {
            network::sort(&mut self.keys[..self.rows.next_power_of_two()]);
            self.read_order(wanted, results);
        } else if wanted.extremes {
            self.extremes(results);
        }
    }

    /// Whether a bucket has a value in this row.
    #[inline(always)]
    fn inside(&self, row: usize, lane: usize) -> bool {
        (row as u64) < self.counts[lane]
    }

    #[inline(always)]
    fn sums(&self) -> Lanes {
        let mut sums = [0.0; LANES];
        for (row, values) in self.values[..self.rows].iter().enumerate() {
            for lane in 0..LANES {
                sums[lane] += if self.inside(row, lane) {
                    values[lane]
                } else {
                    -0.0
                };
            }
        }
        sums
    }

    #[inline(always)]
    fn deviations(&self, means: &Lanes) -> Lanes {
        let mut squares = [0.0; LANES];
        for (row, values) in self.values[..self.rows].iter().enumerate() {
            for lane in 0..LANES {
                let difference = values[lane] - means[lane];
                let square = difference * difference;
                squares[lane] += if self.inside(row, lane) { square } else { -0.0 };
            }
        }
        std::array::from_fn(|lane| deviation(squares[lane], self.counts[lane] as u32))
    }

    #[inline(always)]
    fn find_keys(&mut self) {
        for row in 0..self.rows.next_power_of_two() {
            for lane in 0..LANES {
                let key = signed(order::key(self.values[row][lane]));
                self.keys[row][lane] = if self.inside(row, lane) {
                    key
                } else {
                    i64::MAX
                };
            }
        }
    }

    #[inline(always)]
    fn extremes(&self, results: &mut Results) {
        let (mut least, mut greatest) = ([i64::MAX; LANES], [i64::MIN; LANES]);
        for (row, keys) in self.keys[..self.rows].iter().enumerate() {
            for lane in 0..LANES {
                least[lane] = least[lane].min(keys[lane]);
                let key = if self.inside(row, lane) {
                    keys[lane]
                } else {
                    i64::MIN
                };
                greatest[lane] = greatest[lane].max(key);
            }
        }
        results.least = least.map(value);
        results.greatest = greatest.map(value);
    }

    /// What sorted rows tell.
    #[inline(always)]
    fn read_order(&self, wanted: &Statistics, results: &mut Results) {
        if wanted.extremes {
            results.least = self.keys[0].map(value);
            let last = |lane| (self.counts[lane] as usize).max(1) - 1;
            results.greatest = std::array::from_fn(|lane| value(self.keys[last(lane)][lane]));
        }
        if wanted.unique {
            results.unique = self.unique();
        }
        for lane in 0..LANES {
            if self.counts[lane] == 0 {
                continue;
            }
            let places = wanted.short_places(self.counts[lane] as usize);
            let quantiles = wanted.quantiles.iter().zip(places);
            for ((quantile, place), to) in quantiles.zip(&mut results.quantiles) {
                let at = |row: usize| value(self.keys[row][lane]);
                let (below, above) = (at(place.below), at(place.above));
                to[lane] = Quantile::between(*quantile, below, above, place.fraction);
            }
        }
    }

    /// Distinct values of sorted rows.
    #[inline(always)]
    fn unique(&self) -> Lanes {
        let mut unique = [1.0; LANES];
        for row in 1..self.rows {
            for (lane, unique) in unique.iter_mut().enumerate() {
                let key = |row: usize| joined(self.keys[row][lane]);
                let new = key(row) != key(row - 1) && self.inside(row, lane);
                *unique += f64::from(u8::from(new));
            }
        }
        unique
    }
}

/// Keys as signed numbers, which vector units compare.
#[inline(always)]
fn signed(key: u64) -> i64 {
    (key ^ 1 << 63) as i64
}

/// The value of a signed key.
#[inline(always)]
fn value(key: i64) -> f64 {
    order::value(key as u64 ^ 1 << 63)
}

/// −0's signed key made that of +0.
#[inline(always)]
fn joined(key: i64) -> i64 {
    if key == -1 { 0 } else { key }
}
