//! Functions that few models need, computed number by number.

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
        #[inline(always)]
        || {
            R::choose(
                y.less(R::zero()),
                #[inline(always)]
                || angle - half_turn,
                #[inline(always)]
                || angle + half_turn,
            )
        },
        #[inline(always)]
        || angle,
    )
}
