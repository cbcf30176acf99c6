//! Non-Cartesian MRI.
//!
//! Images are complex (image, slice, row, column), samples (image, sample); an image of several coils is a
//! batch of images. Voxel n of an axis of N lies at n − ⌊N/2⌋.

pub mod cg_curvature;
pub mod cg_direction;
pub mod cg_step;
pub mod coil_combine;
pub mod coil_images;
mod sums;
pub mod weigh_samples;

pub use sums::PARTIAL_SUMS;
pub mod direct_adjoint;
mod direct_axes;
pub mod direct_forward;
pub mod direct_gather;
pub mod direct_sum_parts;
pub mod nufft_gather;
pub mod nufft_interpolate;
pub mod nufft_modes;
pub mod nufft_spread;
pub mod nufft_tile;
pub mod toeplitz;
