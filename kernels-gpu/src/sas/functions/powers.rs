//! Powers, and exponential functions for polymers.

use crate::sas::real::Real;

/// xᵉ for x ≥ 0, finite at 0: there it is 10^(−37 e).
#[inline(always)]
pub fn power_of<R: Real>(x: R, e: R) -> R {
    x.max(R::of(1e-37)).powf(e)
}

/// Debye's function of Gaussian coils, 2 (e^−z + z − 1)/z²; 1 at 0.
#[inline(always)]
pub fn debye<R: Real>(z: R) -> R {
    R::choose(
        z.less(R::one()),
        #[inline(always)]
        || {
            // Σ 2 (−z)ᵏ/(k + 2)!
            let mut sum = R::one();
            for k in (1..16_u32).rev() {
                sum = (sum * z).times(-1.0 / f64::from(k + 2)).plus(1.0);
            }
            sum
        },
        #[inline(always)]
        || ((-z).exp() + z.plus(-1.0)).times(2.0) / z.squared(),
    )
}
