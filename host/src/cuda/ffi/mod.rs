//! Tables of foreign functions: the driver's (linked through the shim), cuFFT's and NCCL's (opened
//! at run time).

pub mod cufft;
pub(super) mod driver;
mod library;
pub mod nccl;
