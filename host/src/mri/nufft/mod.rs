//! What both halves of the NUFFT share: the spreading kernel and its Fourier transform.

mod kernel;

pub use kernel::{Pieces, SpreadingKernel, WIDEST};
