//! CPU back end: the reference for tests of the GPU, and fast in its own right.
//!
//! The order of every sum is independent of the number of threads and of ranks ([`crate::Ranks`]),
//! so that the same input gives the same bits on any computer with the same arithmetic.

mod annealing;
mod batch_engine;
mod centring;
#[cfg(test)]
mod combined_models;
mod complex_products;
mod constraints;
mod detector;
mod engine;
mod exact_positions;
mod fourier_projection;
mod likelihood;
mod model;
mod model_deviation;
mod multislice;
mod normalisation;
mod object_modes;
mod object_update;
mod part_sums;
mod probe_update;
mod propagation;
mod refinement;
mod regions;
mod scratch_pool;
mod shift;
mod simd;
mod slices;
mod smoothness;
#[cfg(test)]
mod test_problem;
#[cfg(test)]
mod tests;
mod variable_probe;
mod variations;
mod window;

pub(crate) use centring::centring_shift;
pub(crate) use constraints::{disc, disc_at_origin};
pub use engine::CpuEngine;

use crate::{Engine, Precision, Problem, Ranks};
use warpstride_core::system::ScratchError;

/// [`CpuEngine::among`] in a precision, as a trait object. It is compiled once, in this crate, and
/// not again in every program that uses it.
///
/// # Errors
/// Like [`CpuEngine::among`].
pub fn on_cpu(
    problem: &Problem,
    precision: Precision,
    ranks: Ranks,
) -> Result<Box<dyn Engine>, ScratchError> {
    Ok(match precision {
        Precision::F32 => Box::new(CpuEngine::<f32>::among(problem, ranks)?),
        Precision::F64 => Box::new(CpuEngine::<f64>::among(problem, ranks)?),
    })
}
