//! Transforms on the CPU, over rustfft. (On the GPU a transform is an operation of
//! [`Machine`](crate::gpu::Machine), over cuFFT.)

mod cpu;
mod pruned;

pub use cpu::{Fft2, FftScratch, Real, TransposedFft2};
pub use pruned::{PrunedFft, Sign};
