//! Methods whose results one pass over a bucket gives: bits of a set, and the results for one bucket.
//!
//! For a set of methods, each method has a column, in the order of the bits.

use super::order;
use warpstride_device::prelude::*;

/// Number of points.
pub const COUNT: u32 = 1;
/// Σv, in the order of [`super::sums`].
pub const SUM: u32 = 1 << 1;
/// Σv/n.
pub const MEAN: u32 = 1 << 2;
/// The least value, in the order of [`super::order`].
pub const MIN: u32 = 1 << 3;
/// The greatest value.
pub const MAX: u32 = 1 << 4;
/// The value of the first point.
pub const FIRST: u32 = 1 << 5;
/// The value of the last point.
pub const LAST: u32 = 1 << 6;
/// √(Σ(v − mean)²/(n − 1)), NaN for one point; both sums in the order of [`super::sums`].
pub const STD: u32 = 1 << 7;

/// Number of columns for a set of methods.
#[inline(always)]
#[must_use]
pub const fn columns_of(methods: usize) -> usize {
    methods.count_ones() as usize
}

/// What one pass computes of a bucket. Only the fields that the requested methods need are valid.
#[derive(Clone, Copy)]
pub(super) struct Statistics {
    pub(super) n: u32,
    pub(super) sum: f64,
    pub(super) least: f64,
    pub(super) greatest: f64,
    pub(super) first: f64,
    pub(super) last: f64,
    /// Σ(v − mean)².
    pub(super) squares: f64,
}

impl Statistics {
    /// Writes the results of one bucket; `column` points to its element of the first column.
    ///
    /// # Safety
    ///
    /// The elements, `stride` apart, must be valid for writes.
    #[inline(always)]
    pub(super) unsafe fn write(&self, mut column: *mut f64, stride: u32, methods: u32) {
        // Only requested methods are computed.
        macro_rules! put {
            ($($method:ident: $answer:expr,)*) => {$(
                if methods & $method != 0 {
                    // SAFETY: the caller guarantees the element.
                    unsafe { *column = $answer };
                    column = column.wrapping_add(stride as usize);
                }
            )*};
        }
        put! {
            COUNT: f64::from(self.n),
            SUM: order::one_nan(self.sum),
            MEAN: order::one_nan(mean(self.sum, self.n)),
            MIN: self.least,
            MAX: self.greatest,
            FIRST: self.first,
            LAST: self.last,
            STD: deviation(self.squares, self.n),
        }
        let _ = column;
    }
}

/// Σv/n.
#[inline(always)]
pub(super) fn mean(sum: f64, n: u32) -> f64 {
    sum / f64::from(n)
}

/// √(`squares`/(n − 1)).
#[inline(always)]
pub(super) fn deviation(squares: f64, n: u32) -> f64 {
    order::one_nan((squares / (f64::from(n) - 1.0)).sqrt())
}

/// (v − mean)², with each operation rounded separately.
#[inline(always)]
pub(super) fn square_from(mean: f64, value: f64) -> f64 {
    let difference = value - mean;
    difference.mul_rounded(difference)
}
