//! Non-Cartesian MRI.
//!
//! Arrays are complex, (image, slice, row, column) and (image, sample), with the last index running fastest; x, y, z
//! are columns, rows and slices. Two-dimensional images have one slice. The images that several coils see are a batch
//! of images. Voxel n of an axis of N lies at n − ⌊N/2⌋.

pub mod cg_curvature;
pub mod cg_direction;
pub mod cg_step;
pub mod coil_combine;
pub mod coil_images;
pub mod direct_adjoint;
mod direct_axes;
pub mod direct_forward;
pub mod direct_gather;
pub mod direct_ladder_global;
pub mod direct_ladder_rows;
pub mod direct_ladder_staged;
pub mod direct_sum_parts;
pub mod fista_extrapolate;
pub mod fista_point;
pub mod nufft_gather;
pub mod nufft_interpolate;
pub mod nufft_modes;
pub mod nufft_spread;
pub mod nufft_tile;
pub mod scaled_copy;
pub mod soft_threshold;
pub mod squares;
mod sums;
pub mod toeplitz;
pub mod tv_dual_step;
pub mod tv_primal;
mod voxel;
pub mod wavelet_pass;
pub mod weigh_samples;

pub use sums::PARTIAL_SUMS;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod registry;
#[cfg(not(target_arch = "nvptx64"))]
pub use registry::registry;
