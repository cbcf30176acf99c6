//! The CPU back end: rayon and rustfft, single or double precision. It is the reference of
//! [`super::cuda`].
//!
//! Sums are evaluated in an order that does not depend on the number of threads.

mod conjugate_gradients;
pub mod direct;
mod engine;
mod fista;
mod lines;
mod nufft;
mod sense;
mod toeplitz;
mod total_variation;
mod vectors;
mod wavelet;

pub use conjugate_gradients::ConjugateGradients;
pub use direct::Direct;
pub use engine::CpuEngine;
pub use fista::{Fista, Regulariser};
pub use nufft::Nufft;
pub use sense::{Gram, Sense, intensity, intensity_corrected};
pub use toeplitz::Toeplitz;
pub use total_variation::{TotalVariation, total_variation};
pub use vectors::{largest_modulus, norm_squared, real_product};
pub use wavelet::Wavelet;

pub(super) use engine::{adjoint_image, combined};
pub(super) use fista::{EIGENVALUE_MARGIN, POWER_STEPS};
pub(super) use total_variation::INNER_STEPS;
pub(crate) use wavelet::{Level, coarsest, levels};

#[cfg(test)]
mod tests;

use super::{Engine, MriError, Plans, Problem, Recipe};

/// [`CpuEngine::with_plans`] in single or double precision, as a trait object. It is compiled once,
/// in this crate, and not again in every program that uses it.
///
/// # Errors
/// Like [`CpuEngine::with_plans`].
pub fn on_cpu(
    problem: &Problem,
    recipe: &Recipe,
    plans: &mut Plans,
    double: bool,
) -> Result<Box<dyn Engine>, MriError> {
    Ok(match double {
        false => Box::new(CpuEngine::<f32>::with_plans(problem, recipe, plans)?),
        true => Box::new(CpuEngine::<f64>::with_plans(problem, recipe, plans)?),
    })
}
