//! Volumes of bodies, Å³, and the caps at the ends of cylinders.

use super::j1c;
use crate::sas::quadrature::{RULE_20, RULE_76};
use crate::sas::real::Real;
use core::f64::consts::PI;

/// Volume of a sphere.
#[inline(always)]
pub fn ball<R: Real>(radius: R) -> R {
    radius.cubed().times(4.0 / 3.0 * PI)
}

/// Volume of an ellipsoid of revolution.
#[inline(always)]
pub fn spheroid<R: Real>(polar: R, equatorial: R) -> R {
    (polar * equatorial.squared()).times(4.0 / 3.0 * PI)
}

/// Volume of a cylinder.
#[inline(always)]
pub fn rod<R: Real>(radius: R, length: R) -> R {
    (radius.squared() * length).times(PI)
}

/// Volume that a plane cuts off a sphere, given its height.
#[inline(always)]
pub fn cap<R: Real>(height: R, radius: R) -> R {
    height.squared() * (radius.times(3.0) - height).times(PI / 3.0)
}

/// √(a² + b²) of numbers, such as phases, whose squares neither vanish nor overflow.
#[inline(always)]
pub fn hypot<R: Real>(a: R, b: R) -> R {
    a.mul_add(a, b * b).sqrt()
}

/// Parts of spheres at both ends of a cylinder.
#[derive(Debug, Clone, Copy)]
pub struct Caps<R> {
    /// Half the length of the cylinder.
    pub base: R,
    /// Height of each part above the end of the cylinder, 0 … 2 radius.
    pub height: R,
    /// Radius of the sphere.
    pub radius: R,
}

/// Amplitude of both caps, Å³: 2π ∫ cos(q∥ z) ρ² J(q⊥ ρ) dz over one, ρ the radius of the disc at z and
/// J(x) = 2 J₁(x)/x. H. Kaya, J. Appl. Cryst. 37 (2004) 223. Accurate while q times the greater of half the height
/// and the radius of the widest disc is below about 80; the amplitude is tiny beyond.
#[inline(always)]
pub fn two_caps<R: Real>(across: R, along: R, q: R, caps: &Caps<R>) -> R {
    // By the distance from the pole, where ρ² cancels nothing.
    let top = caps.base + caps.height;
    let integrand = |t: R| {
        let depth = t * caps.height;
        let squared = depth * (caps.radius.times(2.0) - depth);
        let disc = squared * j1c(across * squared.max(R::zero()).sqrt());
        disc * (along * (top - depth)).cos()
    };
    let integral = R::choose(
        (q * widest(caps).max(caps.height.times(0.5))).less(R::of(12.0)),
        #[inline(always)]
        || RULE_20.integrate(integrand),
        #[inline(always)]
        || RULE_76.integrate(integrand),
    );
    integral * caps.height.times(2.0 * PI)
}

/// Radius of the widest disc.
#[inline(always)]
fn widest<R: Real>(caps: &Caps<R>) -> R {
    let depth = caps.height.min(caps.radius);
    (depth * (caps.radius.times(2.0) - depth))
        .max(R::zero())
        .sqrt()
}
