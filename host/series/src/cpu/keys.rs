//! The order of values in vector registers: [`order::key`] with its first bit inverted, so that
//! signed integers compare as the values do.

use pulp::Simd;
use warpstride_kernels::series::order;

/// Greater than the key of any value.
pub(super) const NONE: i64 = i64::MAX;

/// Keys of values.
#[inline(always)]
pub(super) fn keys<S: Simd>(simd: S, values: S::f64s) -> S::i64s {
    let bits = simd.transmute_u64s_f64s(canonical_nan(simd, values));
    let negative = simd.less_than_i64s(simd.transmute_i64s_u64s(bits), simd.splat_i64s(0));
    let turned = simd.xor_u64s(bits, simd.splat_u64s(i64::MAX as u64));
    simd.transmute_i64s_u64s(simd.select_u64s(negative, turned, bits))
}

/// Values of keys.
#[inline(always)]
pub(super) fn values<S: Simd>(simd: S, keys: S::i64s) -> S::f64s {
    let bits = simd.transmute_u64s_i64s(keys);
    let negative = simd.less_than_i64s(keys, simd.splat_i64s(0));
    let turned = simd.xor_u64s(bits, simd.splat_u64s(i64::MAX as u64));
    simd.transmute_f64s_u64s(simd.select_u64s(negative, turned, bits))
}

/// Replaces every NaN by the same NaN.
#[inline(always)]
pub(super) fn canonical_nan<S: Simd>(simd: S, values: S::f64s) -> S::f64s {
    let numbers = simd.equal_f64s(values, values);
    simd.select_f64s(numbers, values, simd.splat_f64s(f64::NAN))
}

/// The value of a key.
#[inline(always)]
pub(super) fn value(key: i64) -> f64 {
    order::value(key as u64 ^ 1 << 63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::{Arch, WithSimd};

    /// Computes keys and converts them back to values.
    struct Both<'a>(&'a [f64; 8]);

    impl WithSimd for Both<'_> {
        type Output = ([i64; 8], [f64; 8]);

        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let (mut to_keys, mut to_values) = ([0; 8], [0.0; 8]);
            let to = S::as_mut_simd_i64s(&mut to_keys).0.iter_mut();
            let back = S::as_mut_simd_f64s(&mut to_values).0;
            for ((from, to), back) in S::as_simd_f64s(self.0).0.iter().zip(to).zip(back) {
                *to = keys(simd, *from);
                *back = values(simd, *to);
            }
            (to_keys, to_values)
        }
    }

    #[test]
    fn vector_keys_match_scalar_keys() {
        let odd_nan = f64::from_bits(0xfff0_0000_0000_0001);
        let all = [
            f64::NEG_INFINITY,
            -1.5,
            -0.0,
            0.0,
            5e-324,
            f64::MAX,
            f64::INFINITY,
            odd_nan,
        ];
        let (keys, values) = Arch::new().dispatch(Both(&all));
        for ((key, back), v) in keys.into_iter().zip(values).zip(all) {
            assert_eq!(key as u64 ^ 1 << 63, order::key(v));
            assert_eq!(back.to_bits(), value(key).to_bits());
            assert!(key < NONE && (back.to_bits() == v.to_bits() || v.is_nan()));
        }
    }
}
