//! Functions that form factors are made of, for any [`Real`].

mod baxter;
mod bessel;
mod elementary;
mod rare;
mod waves;

pub use baxter::{Core, factor, moments};
pub use bessel::{bessel_j0, bessel_j1, j1c};
pub use elementary::{cos, exp, ln, sin, sin_cos};
pub use rare::{asin, atan, atan2, cbrt, cosh, erf, expm1, gamma, ln_1p, ln_gamma, sinh, tanh};
pub use waves::{sinc, sine_integral, sphere_form};
