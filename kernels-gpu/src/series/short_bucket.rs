//! The methods of one pass of a short bucket, by one thread: its values are added one after the other.

use super::methods::{self, COUNT, FIRST, LAST, MAX, MEAN, MIN, STD, SUM};
use super::order;

/// Where value `place` of a tile is staged: buckets of one length begin in different banks, and pairs stay pairs.
#[inline(always)]
pub(super) const fn staged_at(place: u32) -> u32 {
    place + place / 32 * 2
}

/// Calls `with` for the `n` values that are staged from `from` on, one after the other. The next one is fetched meanwhile; behind the last that is one of nobody.
///
/// # Safety
/// `staged` has the values, and room behind them.
#[inline(always)]
unsafe fn for_each(staged: *const f64, from: u32, n: u32, mut with: impl FnMut(f64)) {
    // Bytes; `turn` is the last before the next 32.
    let (mut at, turn) = (8 * staged_at(from), 8 * staged_at(from | 31));
    // SAFETY: the caller's.
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

/// Values of the shortest buckets, which are fetched together.
const FEW: usize = 8;

/// The values that are staged from `from` on; behind the bucket's they are others, or those of nobody.
///
/// # Safety
/// `staged` has room for them.
#[inline(always)]
unsafe fn few(staged: *const f64, from: u32) -> [f64; FEW] {
    // Behind `turn` values there are two of nobody.
    let turn = 32 - from % 32;
    // SAFETY: the caller's.
    let before = unsafe { staged.add(staged_at(from) as usize) };
    let behind = before.wrapping_add(2);
    let mut values = [0.0; FEW];
    for k in 0..FEW {
        let at = if (k as u32) < turn { before } else { behind };
        // SAFETY: the caller's. Volatile, so that they are on their way together before the first is looked at.
        values[k] = unsafe { at.add(k).read_volatile() };
    }
    values
}

/// What the values of a bucket tell together.
struct Looks {
    sum: f64,
    least: f64,
    greatest: f64,
    signs: u32,
}

impl Looks {
    const NOTHING: Self = Self {
        sum: 0.0,
        least: f64::INFINITY,
        greatest: f64::NEG_INFINITY,
        signs: 0,
    };

    /// One more value.
    #[inline(always)]
    fn at(&mut self, value: f64, compares: bool) {
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

    /// Of the first `n` of a few values.
    #[inline(always)]
    fn few<const COMPARES: bool>(values: &[f64; FEW], n: u32) -> Self {
        let mut looks = Self {
            sum: 0.0 + values[0],
            least: values[0],
            greatest: values[0],
            signs: (values[0].to_bits() >> 32) as u32,
        };
        // The next value is looked at inside: so that it is one branch for each, and none behind the last.
        macro_rules! one {
            ($k:literal $($more:literal)*) => {
                if n > $k {
                    looks.at(values[$k], COMPARES);
                    one!($($more)*);
                }
            };
            () => {};
        }
        one!(1 2 3 4 5 6 7);
        looks
    }

    /// Whether the comparisons did not tell the least and the greatest: with NaN, which the sum shows, and zeros of both
    /// signs.
    #[inline(always)]
    fn missed(&self) -> bool {
        let zero = self.signs >> 31 != 0 && (self.least == 0.0 || self.greatest == 0.0);
        zero || self.sum.is_nan()
    }
}

/// Squares of what the first `n` of a few values are from their mean, added up.
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

/// Writes the methods of the `n` values (1 … 32) that are staged from `from` on: `column` is the bucket's place in the
/// first column, and columns are `stride` apart. Where points are counted only, no value is looked at.
///
/// # Safety
/// `staged` has the values, and the places are the caller's.
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
                // SAFETY: the caller's.
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
    let mut looks;
    let first;
    let mean;
    let mut squares = 0.0;
    if n <= FEW as u32 {
        // SAFETY: the caller's.
        let values = unsafe { few(staged, from) };
        first = values[0];
        looks = if compares {
            Looks::few::<true>(&values, n)
        } else {
            Looks::few::<false>(&values, n)
        };
        mean = looks.sum / count;
        if methods & STD != 0 {
            squares = squares_of_few(&values, n, mean);
        }
    } else {
        // SAFETY: the caller's.
        first = unsafe { *staged.add(staged_at(from) as usize) };
        looks = Looks::NOTHING;
        // SAFETY: the caller's.
        unsafe { for_each(staged, from, n, |value| looks.at(value, compares)) };
        mean = looks.sum / count;
        if methods & STD != 0 {
            let add = |value: f64| squares += methods::square_from(mean, value);
            // SAFETY: the caller's.
            unsafe { for_each(staged, from, n, add) };
        }
    }
    if compares && looks.missed() {
        let (mut low, mut high) = (u64::MAX, 0);
        let look = |value: f64| {
            let key = order::key(value);
            low = low.min(key);
            high = high.max(key);
        };
        // SAFETY: the caller's.
        unsafe { for_each(staged, from, n, look) };
        (looks.least, looks.greatest) = (order::value(low), order::value(high));
    }
    put!(SUM, order::one_nan(looks.sum));
    put!(MEAN, order::one_nan(mean));
    put!(MIN, looks.least);
    put!(MAX, looks.greatest);
    put!(FIRST, first);
    // The caller's: the last of the values.
    put!(LAST, *staged.add(staged_at(from + n - 1) as usize));
    if methods & STD != 0 {
        // SAFETY: the caller's.
        unsafe { *column = methods::deviation(squares, n) };
    }
}
