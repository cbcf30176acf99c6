//! Fourier transforms on the CPU, built on rustfft. On the GPU, [`Device`](crate::gpu::Device)
//! transforms with cuFFT.

mod cpu;
mod pruned;

pub use cpu::{Fft2, FftScratch, Real, TransposedFft2};
pub use pruned::{PrunedFft, Sign};
