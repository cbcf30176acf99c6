//! Non-Cartesian MRI: images from k-space samples that lie on no grid.
//!
//! The samples of coil c are d_c = F S_c ρ + noise, with ρ the image, S_c the coil's sensitivity
//! and F the [encoding](Encoding) of the trajectory. A [`Problem`] holds the measured data, a
//! [`Recipe`] the parameters of the reconstruction, and an [`Engine`] of [`cpu`] or [`cuda`]
//! computes it. `docs/mri.md` has the mathematics.
//!
//! # Example
//! ```
//! use warpstride_mri::cpu::CpuEngine;
//! use warpstride_mri::{Engine, Method, OperatorName, Problem, Recipe, grid_of};
//! use warpstride_mri::{SimulateOptions, metrics, simulate};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let options = SimulateOptions { matrix: 16, coils: 2, ..Default::default() };
//!
//! // Or `io::ismrmrd::read(path, &ReadOptions::default())?.kspace`.
//! let simulated = simulate(&options)?;
//! let kspace = &simulated.kspace;
//! let coils = kspace.coils();
//! let maps = simulated.truth.coil_maps.to_shape((coils, 16 * 16))?.to_owned();
//! let problem = Problem::new(
//!     grid_of(kspace),
//!     kspace.trajectory().clone(), // (sample, axis), cycles/pixel
//!     kspace.samples().clone(),    // (coil, sample)
//! )?
//! .with_maps(maps)?;
//! let recipe = Recipe {
//!     operator: OperatorName::Nufft,
//!     method: Method::Cg,
//!     iterations: 10,
//!     lambda: 0.0,
//!     tolerance: 1e-5,
//!     trigonometry: Default::default(),
//!     intensity_correction: false,
//!     min_residual: 0.0,
//!     min_iterations: 0,
//!     rounding: 0.0,
//! };
//! let mut engine = CpuEngine::<f64>::new(&problem, &recipe)?;
//! while engine.done() < engine.planned() {
//!     engine.advance()?; // |r|²/|b|² of each iteration
//! }
//! let image = engine.image()?; // (slice, row, column)
//! let metrics = metrics::compare(&image, &simulated.truth.image);
//! # assert!(metrics.is_some_and(|metrics| metrics.nrmse < 0.4), "{metrics:?}");
//! # Ok(())
//! # }
//! ```

#![cfg_attr(
    not(all(feature = "hdf5", feature = "plots", feature = "selftest")),
    allow(
        dead_code,
        unused_imports,
        reason = "a build without some features leaves out who uses these parts"
    )
)]

pub mod coil_maps;
mod coil_noise;
mod coverage;
pub mod cpu;
pub mod cuda;
pub mod data;
pub mod density;
mod diagnosis;
mod encoding;
mod engine;
mod grid;
#[cfg(feature = "hdf5")]
pub mod io;
pub mod ladder;
mod memory_estimate;
pub mod metrics;
pub mod nufft;
pub mod phantom;
mod plans;
mod preparation;
mod problem;
mod recipe;
#[cfg(feature = "plots")]
pub mod report;
mod run;
mod science;
#[cfg(feature = "selftest")]
pub mod selftest;
mod simulate;
mod summary;
pub mod toeplitz;
pub mod trajectory;
mod wrong_strength;

pub use coverage::{Coverage, Spokes, Uneven, grid_of};
pub use diagnosis::diagnose;
pub use encoding::Encoding;
pub use engine::{Engine, MriError, Residual};
pub use grid::Grid;
pub use memory_estimate::MemorySizes;
pub use plans::Plans;
pub use preparation::{ChosenDensity, Density, EstimatedMaps, MapDoubt, MapEstimation, Options};
pub use problem::{FieldBasis, Problem, ProblemError};
pub use recipe::{Method, OperatorName, Recipe, Trigonometry};
pub use run::{ReconstructionSteps, Run};
pub use science::SCIENCE;
pub use simulate::{SimulateError, SimulateOptions, Simulated, simulate};
pub use summary::{ImageSummary, MriSummary};
