//! Sines over their arguments.

use crate::sas::real::Real;

/// sin x / x; 1 at 0.
#[inline(always)]
pub fn sinc<R: Real>(x: R) -> R {
    R::choose(
        x.abs().less(R::of(1e-4)),
        || R::one() - x.squared().times(1.0 / 6.0),
        || x.sin() / x,
    )
}

/// 3 (sin x − x cos x)/x³, the amplitude of a sphere; 1 at 0. By its series where the difference cancels.
#[inline(always)]
pub fn sphere_form<R: Real>(x: R) -> R {
    R::choose(
        x.abs().less(R::of(0.5)),
        || {
            let z = x.squared();
            // Σ 3 (−1)ᵏ (2k+2)/(2k+3)! x²ᵏ
            let mut series = R::zero();
            for k in (0..8_u32).rev() {
                let mut factorial = 1.0;
                let mut i = 2;
                while i <= 2 * k + 3 {
                    factorial *= f64::from(i);
                    i += 1;
                }
                let sign = if k % 2 == 0 { 3.0 } else { -3.0 };
                series = series.mul_add(z, R::of(sign * f64::from(2 * k + 2) / factorial));
            }
            series
        },
        || {
            let (sin, cos) = x.sin_cos();
            (sin - x * cos).times(3.0) / x.cubed()
        },
    )
}

/// Si(x) = ∫₀ˣ sin t / t dt.
#[inline(always)]
pub fn sine_integral<R: Real>(x: R) -> R {
    x.map(super::rare::sine_integral)
}
