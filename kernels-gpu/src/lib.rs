//! All device code of warpstride, one folder per science.
//!
//! The crate is compiled twice: by `cargo xtask build-ptx` for `nvptx64-nvidia-cuda`, and as an ordinary
//! crate for the host, where every kernel is a typed launch ([`warpstride_device::launch::Launch`]) for
//! a CUDA device or the emulator. Each science is a feature. `docs/adding-a-kernel.md` shows how to add
//! a kernel.

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

// Only the time series have unit tests; the other sciences are tested from `tests/`. Leaving them out of the unit tests'
// build saves two minutes of compiling.
#[cfg(all(any(feature = "fft", feature = "ptycho"), not(test)))]
pub mod fft;
#[cfg(all(feature = "jacobi", not(test)))]
pub mod jacobi;
#[cfg(all(feature = "mri", not(test)))]
pub mod mri;
#[cfg(all(feature = "ptycho", not(test)))]
pub mod ptycho;
#[cfg(not(target_arch = "nvptx64"))]
mod registry;
#[cfg(all(feature = "sas", not(test)))]
pub mod sas;
#[cfg(feature = "series")]
pub mod series;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use registry::info;
#[cfg(not(target_arch = "nvptx64"))]
pub use registry::registry;
#[cfg(all(feature = "sas", not(test), not(target_arch = "nvptx64")))]
pub(crate) use registry::{concatenate, count};
