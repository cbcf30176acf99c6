//! Non-Cartesian MRI.
//!
//! Arrays are (image, slice, row, column), the last index running fastest; x, y, z are columns, rows
//! and slices. Images of two dimensions have one slice.

pub mod nufft_gather;
pub mod nufft_interpolate;
pub mod nufft_modes;
pub mod nufft_spread;
pub mod nufft_tile;
pub mod toeplitz;
