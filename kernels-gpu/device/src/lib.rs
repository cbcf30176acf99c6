//! The vocabulary that kernels are written in.

#![expect(
    unsafe_code,
    reason = "device code: raw addresses are what a kernel works on"
)]

#[cfg(not(target_arch = "nvptx64"))]
pub mod launch;
