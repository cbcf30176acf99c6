//! Non-Cartesian MRI: images from samples of k-space that lie on no grid.
//!
//! The model of the samples of coil c is d_c = F S_c ρ + noise: ρ the image, S_c the coil's
//! sensitivity, F the [encoding](Encoding) of the trajectory. A [`Problem`] holds what was measured, a
//! [`Recipe`] what to do with it; an [`Engine`] of [`cpu`] or [`cuda`] does it. `docs/mri.md` has the
//! mathematics.

pub mod coil_maps;
pub mod cpu;
pub mod cuda;
mod encoding;
mod engine;
mod grid;
pub mod metrics;
pub mod nufft;
mod problem;
mod recipe;
pub mod toeplitz;

pub use encoding::Encoding;
pub use engine::{Engine, MriError, Residual, Setup};
pub use grid::Grid;
pub use problem::{FieldBasis, Problem, ProblemError};
pub use recipe::{Method, OperatorName, Recipe, Trigonometry};
