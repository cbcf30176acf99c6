//! Jacobi relaxation on a regular grid.
//!
//! A device has a block of `rows` rows (row, column) of the grid, with `halo` rows of its neighbours above and below:
//! row y of the block is row y + halo of the buffer, and y may be negative. A row has `pitch` vectors
//! ([`F32x4`](warpstride_device::F32x4) or [`F64x2`](warpstride_device::F64x2)); columns beyond the grid's `nx` are
//! always 0 (with periodic columns they have no meaning).

mod block;
mod cells;
pub mod fixed_columns;
mod level;
pub mod norms;
pub mod pass;
mod strip;
mod window;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod registry;
#[cfg(not(target_arch = "nvptx64"))]
pub use registry::registry;
