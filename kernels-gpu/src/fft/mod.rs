//! Fourier transforms: in registers, of whole frames through a block's shared memory, and kernels for rows, columns and
//! frames of 64 to 512 values a side.
//!
//! The forward transform has exp(−2πi …); nothing is normalised.

pub mod cluster_frame;
#[cfg(feature = "fft")]
pub mod columns;
pub mod frame;
#[cfg(feature = "fft")]
pub mod frames;
pub mod line;
pub mod mixed_radix;
pub mod registers;
#[cfg(all(feature = "fft", not(target_arch = "nvptx64")))]
pub mod registry;
#[cfg(feature = "fft")]
pub mod rows;

#[cfg(all(feature = "fft", not(target_arch = "nvptx64")))]
pub use registry::registry;
