//! The parts of the NUFFT shared by both back ends: the spreading kernel and its Fourier transform.

mod kernel;

pub use kernel::{Pieces, SpreadingKernel, WIDEST};
