//! CPU back end: the reference for tests of the GPU, and fast in its own right.
//!
//! The order of every sum is independent of the number of threads and of ranks ([`crate::Ranks`]),
//! so that the same input gives the same bits on any computer with the same arithmetic.

mod arrays;
mod batches;
#[cfg(test)]
mod combined_models;
mod engine;
mod likelihood;
mod model;
mod positions;
mod projections;
#[cfg(test)]
mod test_problem;
#[cfg(test)]
mod tests;
mod updates;

pub use engine::CpuEngine;
pub(crate) use updates::centring::centring_shift;
pub(crate) use updates::constraints::{disc, disc_at_origin};

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
