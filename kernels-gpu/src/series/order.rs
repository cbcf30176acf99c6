//! The order of values: −∞ … −0, +0 … +∞, NaN.
//!
//! All NaNs count as one value, the greatest, as in NumPy's sort. Because the order is total, the least value, the
//! greatest value and every quantile have the same bits whatever the order of the points.

/// An integer that compares as the value does.
#[inline(always)]
#[must_use]
pub fn key(value: f64) -> u64 {
    let bits = if value.is_nan() {
        f64::NAN.to_bits() & (u64::MAX >> 1)
    } else {
        value.to_bits()
    };
    // A negative value has all its bits inverted, any other only its sign.
    bits ^ (((bits as i64) >> 63) as u64 | 1 << 63)
}

/// The value of a key.
#[inline(always)]
#[must_use]
pub fn value(key: u64) -> f64 {
    f64::from_bits(key ^ (((!key as i64) >> 63) as u64 | 1 << 63))
}

/// The same as [`key`], but equal for both zeros: the values that `nunique` distinguishes.
#[inline(always)]
#[must_use]
pub fn unique_key(value: f64) -> u64 {
    key(value + 0.0)
}

/// The value, with the same bits for every NaN: processors differ in the NaNs that arithmetic produces.
///
/// The comparison uses integers: a compiler regards all NaNs as equivalent and would remove a choice between two.
#[inline(always)]
#[must_use]
pub fn one_nan(value: f64) -> f64 {
    let bits = value.to_bits();
    f64::from_bits(if bits & (u64::MAX >> 1) > f64::INFINITY.to_bits() {
        f64::NAN.to_bits()
    } else {
        bits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_compare_as_values_and_come_back() {
        let ascending = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -1.0,
            -f64::MIN_POSITIVE,
            -5e-324,
            -0.0,
            0.0,
            5e-324,
            1.0,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ];
        for pair in ascending.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{pair:?}");
        }
        for v in ascending {
            let back = value(key(v));
            assert!(back.to_bits() == v.to_bits() || back.is_nan() && v.is_nan());
        }
        let odd_nan = f64::from_bits(0xfff0_0000_0000_0001);
        assert_eq!(key(odd_nan), key(f64::NAN));
        assert_eq!(one_nan(odd_nan).to_bits(), f64::NAN.to_bits());
        for v in [-0.0, 5e-324, -1.5, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(one_nan(v).to_bits(), v.to_bits());
        }
        assert_eq!(unique_key(-0.0), unique_key(0.0));
        assert_ne!(unique_key(-5e-324), unique_key(5e-324));
    }
}
