//! All device code of warpstride, one folder per science.
//!
//! Compiled twice: by `cargo xtask build-ptx` for `nvptx64-nvidia-cuda`, and as an ordinary crate
//! for the host, where every kernel is a typed launch ([`warpstride_device::launch::Launch`]) that
//! the CUDA fence or the emulator takes. `docs/adding-a-kernel.md` shows how one is added.

#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
#![allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "a kernel's contract covers its whole body: raw addresses with checked extents"
)]
#![allow(
    clippy::needless_range_loop,
    reason = "loops over constant ranges are unrolled, so that their arrays are registers; iterators leave some of them in local memory"
)]

pub mod jacobi;
pub mod mri;
pub mod ptycho;
mod registry;
pub mod sas;
pub mod series;

#[cfg(not(target_arch = "nvptx64"))]
pub use registry::registry;
