//! Fourier transforms inside kernels: in registers, and of whole frames through a block's shared memory.
//!
//! The forward transform has exp(−2πi …); nothing is normalised.

pub mod frame;
pub mod registers;
