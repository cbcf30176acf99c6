//! Functions that form factors consist of, for any [`Real`](super::real::Real).

mod baxter;
mod bessel;
mod elementary;
mod geometry;
mod powers;
mod rare;
mod waves;

pub use baxter::{Core, factor, moments};
pub use bessel::{bessel_j0, bessel_j1, j1c};
pub use elementary::{cos, exp, ln, sin, sin_cos};
pub use geometry::{Caps, ball, cap, hypot, rod, spheroid, two_caps};
pub use powers::{debye, power_of};
pub use rare::{asin, atan, atan2, cbrt, cosh, erf, expm1, gamma, ln_1p, ln_gamma, sinh, tanh};
pub use waves::{sinc, sine_integral, sphere_form};
