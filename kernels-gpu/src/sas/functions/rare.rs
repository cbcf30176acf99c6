//! Functions that few models need, number by number.

use crate::sas::real::Real;

macro_rules! mapped {
    ($($(#[$doc:meta])* $name:ident = $of:path;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub fn $name<R: Real>(x: R) -> R {
            x.map($of)
        })*
    };
}

mapped! {
    /// Γ(x).
    gamma = libm::tgamma;
    /// ln |Γ(x)|.
    ln_gamma = libm::lgamma;
    /// The error function.
    erf = libm::erf;
    /// The cube root.
    cbrt = libm::cbrt;
    /// Arc sine.
    asin = libm::asin;
    /// Arc tangent.
    atan = libm::atan;
    /// Hyperbolic sine.
    sinh = libm::sinh;
    /// Hyperbolic cosine.
    cosh = libm::cosh;
    /// Hyperbolic tangent.
    tanh = libm::tanh;
    /// eˣ − 1.
    expm1 = libm::expm1;
    /// ln(1 + x).
    ln_1p = libm::log1p;
}

/// The angle of (x, y), from −π to π.
#[inline(always)]
pub fn atan2<R: Real>(y: R, x: R) -> R {
    // Only the quadrant needs both signs.
    let angle = atan(y / x);
    let half_turn = R::of(core::f64::consts::PI);
    R::choose(
        x.less(R::zero()),
        || {
            R::choose(
                y.less(R::zero()),
                || angle - half_turn,
                || angle + half_turn,
            )
        },
        || angle,
    )
}

/// Si(x): Taylor's series below 16 by terms of one sign each, the asymptotic one beyond.
pub(super) fn sine_integral(x: f64) -> f64 {
    let size = if x < 0.0 { -x } else { x };
    let value = if size < 16.0 {
        let mut term = size;
        let mut sum = size;
        let mut k = 1.0;
        while k < 80.0 {
            term *= -size * size / ((2.0 * k) * (2.0 * k + 1.0));
            sum += term / (2.0 * k + 1.0);
            k += 1.0;
        }
        sum
    } else {
        let z = 1.0 / (size * size);
        let (mut f, mut g) = (1.0, 1.0);
        let (mut tf, mut tg) = (1.0, 1.0);
        let mut k = 1.0;
        while k < 7.0 {
            tf *= -z * (2.0 * k - 1.0) * (2.0 * k);
            tg *= -z * (2.0 * k) * (2.0 * k + 1.0);
            f += tf;
            g += tg;
            k += 1.0;
        }
        let (sin, cos) = libm::sincos(size);
        core::f64::consts::FRAC_PI_2 - cos / size * f - sin * z * g
    };
    if x < 0.0 { -value } else { value }
}
