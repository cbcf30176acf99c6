//! Bessel functions of the first kind.

use crate::sas::real::Real;

/// J₀(x).
#[inline(always)]
pub fn bessel_j0<R: Real>(x: R) -> R {
    x.map(libm::j0)
}

/// J₁(x).
#[inline(always)]
pub fn bessel_j1<R: Real>(x: R) -> R {
    x.map(libm::j1)
}

/// 2 J₁(x)/x, the amplitude of a disc; 1 at 0.
#[inline(always)]
pub fn j1c<R: Real>(x: R) -> R {
    R::choose(
        x.abs().less(R::of(1e-4)),
        || R::one() - x.squared().times(0.125),
        || bessel_j1(x).times(2.0) / x,
    )
}
