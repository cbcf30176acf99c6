//! Small-angle scattering: the models, and the kernels that average them over orientations, sizes and pixels.
//!
//! A model is written once ([`model::Model`], a file each in [`models`]) over [`real::Real`] and compiled for the
//! GPU, the emulator and the CPU. `docs/adding-a-model.md` shows how one is added. Units: q in 1/Å, lengths in Å,
//! scattering length densities in 10⁻⁶/Å², angles in degrees in tables and radians in formulas, I in 1/cm.

#[cfg(not(target_arch = "nvptx64"))]
pub mod catalogue;
mod curve;
pub mod finish;
pub mod functions;
mod image;
#[cfg(not(target_arch = "nvptx64"))]
pub mod launches;
pub mod member;
mod mesh;
pub mod model;
pub mod model_kernels;
pub mod models;
pub mod quadrature;
pub mod radii;
pub mod real;
#[cfg(not(target_arch = "nvptx64"))]
pub mod simd;
pub mod smear;
#[cfg(not(target_arch = "nvptx64"))]
pub mod sums;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod registry;
#[cfg(not(target_arch = "nvptx64"))]
pub use registry::registry;
