//! Foreign functions of the CUDA driver (linked through the shim), and of cuFFT and NCCL (loaded at
//! run time).

pub mod cufft;
pub(super) mod driver;
mod library;
pub mod nccl;
