//! Quantiles by linear interpolation between neighbours in the sorted bucket.

use super::order::one_nan;
use warpstride_device::float::GpuFloat;

/// The position of the quantile `percent` (0 … 100) among `n` ≥ 1 sorted values: the index of the value below (from
/// 0), and the fraction of the way to the next.
///
/// (n − 1)·p is formed before the division, so that for integer percentages the fraction's only error is its
/// rounding.
#[inline(always)]
#[must_use]
pub fn position(n: u32, percent: f64) -> (u32, f64) {
    let hundredths = f64::from(n - 1).mul_rounded(percent);
    // Truncation rounds down, as nothing is negative. A quotient that was rounded up to the next integer is
    // corrected.
    let mut below = (hundredths / 100.0) as u32;
    let mut rest = hundredths - f64::from(below).mul_rounded(100.0);
    if rest < 0.0 {
        below -= 1;
        rest = hundredths - f64::from(below).mul_rounded(100.0);
    }
    if below >= n - 1 {
        return (n - 1, 0.0);
    }
    (below, rest / 100.0)
}

/// `a` + (`b` − `a`)·`fraction`, for `a` ≤ `b`; `a` itself if they are equal or the fraction is 0.
#[inline(always)]
#[must_use]
pub fn interpolate(a: f64, b: f64, fraction: f64) -> f64 {
    if fraction == 0.0 || a == b {
        return a;
    }
    let difference = b - a;
    if difference == f64::INFINITY && b < f64::INFINITY {
        if a == f64::NEG_INFINITY {
            return a;
        }
        // The difference overflows, the weighted mean does not.
        return a.mul_rounded(1.0 - fraction) + b.mul_rounded(fraction);
    }
    one_nan(a + difference.mul_rounded(fraction))
}

/// The median, given the two middle values `a` ≤ `b` (the same value twice for an odd number).
#[inline(always)]
#[must_use]
pub fn middle(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if sum.is_infinite() {
        // Halves of finite values do not overflow, and halves of infinite ones are infinite.
        return one_nan(a.mul_rounded(0.5) + b.mul_rounded(0.5));
    }
    if a == b {
        return a;
    }
    one_nan(sum.mul_rounded(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantile(sorted: &[f64], percent: f64) -> f64 {
        let (below, fraction) = position(sorted.len() as u32, percent);
        let below = below as usize;
        let above = (below + 1).min(sorted.len() - 1);
        interpolate(sorted[below], sorted[above], fraction)
    }

    #[test]
    fn published_values_to_the_digit() {
        for (values, percent, expected) in [
            (&[2.0, 3.0, 3.0, 5.0, 5.0][..], 56.0, 3.48),
            (&[8.0, 9.0, 10.0, 11.0, 22.0, 42.0], 56.0, 10.8),
            (&[2.0, 4.0], 56.0, 3.12),
            (&[3.0, 5.0, 6.0], 74.0, 5.48),
            (&[3.0, 5.0, 6.0], 95.0, 5.9),
        ] {
            assert_eq!(quantile(values, percent), expected);
        }
    }

    #[test]
    fn the_ends_are_the_least_and_the_greatest() {
        for n in [1_u32, 2, 3, 7, 100, 1_000_003, u32::MAX] {
            assert_eq!(position(n, 0.0), (0, 0.0));
            assert_eq!(position(n, 100.0), (n - 1, 0.0));
            for percent in [0.1, 33.3, 50.0, 66.7, 99.9, 99.999_999] {
                let (below, fraction) = position(n, percent);
                let exact = f64::from(n - 1) * percent / 100.0;
                assert!(below < n && (0.0..1.0).contains(&fraction));
                assert!(
                    (f64::from(below) + fraction - exact).abs() <= 1e-15 * exact.max(1.0) * 4.0
                );
            }
        }
    }

    #[test]
    fn infinities_and_overflow() {
        let (huge, inf) = (f64::MAX, f64::INFINITY);
        assert_eq!(interpolate(-huge, huge, 0.5), 0.0);
        assert_eq!(interpolate(inf, inf, 0.5), inf);
        assert_eq!(interpolate(-inf, 1.0, 0.25), -inf);
        assert_eq!(middle(huge, huge), huge);
        assert_eq!(middle(-inf, 3.0), -inf);
        let nan = f64::NAN.to_bits();
        assert_eq!(middle(-inf, inf).to_bits(), nan);
        assert_eq!(middle(1.0, f64::NAN).to_bits(), nan);
        assert_eq!(interpolate(-inf, inf, 0.5).to_bits(), nan);
        assert_eq!(interpolate(1.0, f64::NAN, 0.5).to_bits(), nan);
        assert_eq!(middle(1.0, 2.0), 1.5);
    }
}
