//! Non-Cartesian MRI: images from samples of k-space that lie on no grid.
//!
//! The model of the samples of coil c is d_c = F S_c ρ + noise: ρ the image, S_c the coil's
//! sensitivity, F the [encoding](Encoding) of the trajectory. A [`Problem`] holds what was measured, a
//! [`Recipe`] what to do with it; an [`Engine`] of [`cpu`] or [`cuda`] does it. `docs/mri.md` has the
//! mathematics.

pub mod coil_maps;
mod course;
mod coverage;
pub mod cpu;
pub mod cuda;
pub mod density;
mod encoding;
mod engine;
mod grid;
pub mod ladder;
pub mod metrics;
mod need;
pub mod nufft;
pub mod phantom;
mod problem;
mod recipe;
mod simulate;
pub mod toeplitz;
pub mod trajectory;

pub use course::Course;
pub use coverage::{Coverage, Spokes, grid_of};
pub use encoding::Encoding;
pub use engine::{Engine, MriError, Residual, Setup};
pub use grid::Grid;
pub use need::Need;
pub use problem::{FieldBasis, Problem, ProblemError};
pub use recipe::{Method, OperatorName, Recipe, Trigonometry};
pub use simulate::{SimulateError, SimulateOptions, Simulated, simulate};
