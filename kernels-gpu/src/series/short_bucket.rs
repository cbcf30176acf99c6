//! One-pass methods of a short bucket, computed by one thread: its values are added one after the other.

use super::methods::{self, COUNT, FIRST, LAST, MAX, MEAN, MIN, STD, SUM};
use super::order;

/// Position of value `place` of a tile in shared memory: buckets of equal length begin in different banks, and pairs
/// stay together.
#[inline(always)]
pub(super) const fn staged_at(place: u32) -> u32 {
    place + place / 32 * 2
}

/// Calls `with` for the `n` values staged from `from` on, one after the other. The next value is loaded meanwhile;
/// after the last one that is an unused element.
///
/// # Safety
///
/// `staged` must have the values and one more element.
#[inline(always)]
unsafe fn for_each(staged: *const f64, from: u32, n: u32, mut with: impl FnMut(f64)) {
    // In bytes; `turn` is the last value before the next 32.
    let (mut at, turn) = (8 * staged_at(from), 8 * staged_at(from | 31));
    // SAFETY: the caller guarantees the element.
    let value_at = |at: u32| unsafe { *staged.byte_add(at as usize) };
    let mut next = value_at(at);
    let mut left = n;
    loop {
        let value = next;
        at += if at == turn { 24 } else { 8 };
        next = value_at(at);
        with(value);
        left -= 1;
        if left == 0 {
            return;
        }
    }
}

/// The number of values that are loaded together for the shortest buckets.
const FEW: usize = 8;

/// The values staged from `from` on. Those after the end of the bucket are arbitrary.
///
/// # Safety
///
/// `staged` must have the elements.
#[inline(always)]
unsafe fn few(staged: *const f64, from: u32) -> [f64; FEW] {
    // Two unused elements follow `turn` values.
    let turn = 32 - from % 32;
    // SAFETY: the caller guarantees the elements.
    let before = unsafe { staged.add(staged_at(from) as usize) };
    let behind = before.wrapping_add(2);
    let mut values = [0.0; FEW];
    for k in 0..FEW {
        let at = if (k as u32) < turn { before } else { behind };
        // SAFETY: the caller guarantees the elements. Volatile, so that all loads are issued before the first value
        // is used.
        values[k] = unsafe { at.add(k).read_volatile() };
    }
    values
}

/// Sum and range of a bucket's values.
struct Summary {
    sum: f64,
    least: f64,
    greatest: f64,
    signs: u32,
}

impl Summary {
    const EMPTY: Self = Self {
        sum: 0.0,
        least: f64::INFINITY,
        greatest: f64::NEG_INFINITY,
        signs: 0,
    };

    /// Adds one value.
    #[inline(always)]
    fn add(&mut self, value: f64, compares: bool) {
        self.sum += value;
        if compares {
            if value < self.least {
                self.least = value;
            }
            if value > self.greatest {
                self.greatest = value;
            }
            self.signs |= (value.to_bits() >> 32) as u32;
        }
    }

    /// The summary of the first `n` of a few values.
    #[inline(always)]
    fn few<const COMPARES: bool>(values: &[f64; FEW], n: u32) -> Self {
        let mut summary = Self {
            sum: 0.0 + values[0],
            least: values[0],
            greatest: values[0],
            signs: (values[0].to_bits() >> 32) as u32,
        };
        // The next value is handled inside the branch: one branch for each value, and none after the last.
        macro_rules! one {
            ($k:literal $($more:literal)*) => {
                if n > $k {
                    summary.add(values[$k], COMPARES);
                    one!($($more)*);
                }
            };
            () => {};
        }
        one!(1 2 3 4 5 6 7);
        summary
    }

    /// Whether comparisons cannot decide the least and the greatest value: with NaN, which the sum shows, and with
    /// zeros of both signs.
    #[inline(always)]
    fn is_undecided(&self) -> bool {
        let zero = self.signs >> 31 != 0 && (self.least == 0.0 || self.greatest == 0.0);
        zero || self.sum.is_nan()
    }
}

/// The sum of the squared deviations of the first `n` of a few values.
#[inline(always)]
fn squares_of_few(values: &[f64; FEW], n: u32, mean: f64) -> f64 {
    let mut squares = 0.0 + methods::square_from(mean, values[0]);
    macro_rules! one {
        ($k:literal $($more:literal)*) => {
            if n > $k {
                squares += methods::square_from(mean, values[$k]);
                one!($($more)*);
            }
        };
        () => {};
    }
    one!(1 2 3 4 5 6 7);
    squares
}

/// Writes the methods of the `n` values (1 … 32) staged from `from` on. `column` points to the bucket's element of
/// the first column; columns are `stride` apart. If only points are counted, no value is read.
///
/// # Safety
///
/// `staged` must have the values, and the elements must be valid for writes.
#[inline(always)]
pub(super) unsafe fn write(
    staged: *const f64,
    from: u32,
    n: u32,
    mut column: *mut f64,
    stride: u32,
    methods: u32,
) {
    macro_rules! put {
        ($method:ident, $answer:expr) => {
            let is_wanted = methods & $method != 0;
            if is_wanted {
                // SAFETY: the caller guarantees the element.
                unsafe { *column = $answer };
            }
            column = column.wrapping_add(if is_wanted { stride as usize } else { 0 });
        };
    }
    let count = f64::from(n);
    put!(COUNT, count);
    if methods & !COUNT == 0 {
        return;
    }
    let compares = methods & (MIN | MAX) != 0;
    let mut summary;
    let first;
    let mean;
    let mut squares = 0.0;
    if n <= FEW as u32 {
        // SAFETY: the caller guarantees the values.
        let values = unsafe { few(staged, from) };
        first = values[0];
        summary = if compares {
            Summary::few::<true>(&values, n)
        } else {
            Summary::few::<false>(&values, n)
        };
        mean = summary.sum / count;
        if methods & STD != 0 {
            squares = squares_of_few(&values, n, mean);
        }
    } else {
        // SAFETY: the caller guarantees the values.
        first = unsafe { *staged.add(staged_at(from) as usize) };
        summary = Summary::EMPTY;
        // SAFETY: the caller guarantees the values.
        unsafe { for_each(staged, from, n, |value| summary.add(value, compares)) };
        mean = summary.sum / count;
        if methods & STD != 0 {
            let add = |value: f64| squares += methods::square_from(mean, value);
            // SAFETY: the caller guarantees the values.
            unsafe { for_each(staged, from, n, add) };
        }
    }
    if compares && summary.is_undecided() {
        let (mut low, mut high) = (u64::MAX, 0);
        let compare = |value: f64| {
            let key = order::key(value);
            low = low.min(key);
            high = high.max(key);
        };
        // SAFETY: the caller guarantees the values.
        unsafe { for_each(staged, from, n, compare) };
        (summary.least, summary.greatest) = (order::value(low), order::value(high));
    }
    put!(SUM, order::one_nan(summary.sum));
    put!(MEAN, order::one_nan(mean));
    put!(MIN, summary.least);
    put!(MAX, summary.greatest);
    put!(FIRST, first);
    // The caller guarantees the values; this is the last.
    put!(LAST, *staged.add(staged_at(from + n - 1) as usize));
    if methods & STD != 0 {
        // SAFETY: the caller guarantees the element.
        unsafe { *column = methods::deviation(squares, n) };
    }
}
