//! Small-angle scattering: the models, and the kernels that average them over orientations, sizes and pixels.
//!
//! A model is written once ([`model::Model`], a file each in [`models`]) over [`real::Real`] and compiled for the
//! GPU, the emulator and the CPU. `docs/adding-a-model.md` shows how one is added. Units: q in 1/Å, lengths in Å,
//! scattering length densities in 10⁻⁶/Å², angles in degrees in tables and radians in formulas, I in 1/cm.

#[cfg(not(target_arch = "nvptx64"))]
pub mod catalogue;
pub mod functions;
#[cfg(not(target_arch = "nvptx64"))]
pub mod lanes;
pub mod model;
pub mod models;
pub mod quadrature;
pub mod radii;
pub mod real;
#[cfg(not(target_arch = "nvptx64"))]
pub mod sums;
