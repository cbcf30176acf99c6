//! The vocabulary of kernels, with two implementations.
//!
//! For `nvptx64` every item becomes the GPU's own instruction. On the host the same items work inside the
//! [`emulator`], which runs a launch block by block on the CPU, so that a kernel's own source is tested without a
//! GPU. Names follow Rust-CUDA's `cuda_std` 0.2.2 where it has an equivalent ([`thread`], [`warp`],
//! [`shared_array!`], [`GpuFloat`]).
//!
//! A kernel is an `unsafe fn` with the attribute [`kernel`]; `docs/your-own-kernels.md` shows a complete program.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx),
    allow(internal_features, reason = "LLVM's intrinsics have no stable names")
)]
#![expect(
    unsafe_code,
    reason = "device code: raw addresses are what a kernel works on"
)]

// `#[kernel]` generates paths that begin with `::warpstride_device`.
#[cfg(test)]
extern crate self as warpstride_device;

pub mod atomic;
pub mod cluster;
mod complex;
pub mod float;
mod half;
pub mod mem;
pub mod phase;
pub mod reduce;
pub mod shared;
mod stride;
pub mod thread;
mod vector;
pub mod warp;

#[cfg(not(target_arch = "nvptx64"))]
pub mod emulator;
#[cfg(not(target_arch = "nvptx64"))]
pub mod launch;
#[cfg(target_arch = "nvptx64")]
mod nvptx;

pub use complex::{Complex32, Complex32x2};
pub use float::GpuFloat;
pub use stride::Stride;
pub use vector::{F32x4, F64x2, U32x4, U64x2};
pub use warpstride_macros::kernel;

/// The items that nearly every kernel uses: `use warpstride_device::prelude::*;`.
pub mod prelude {
    pub use crate::{
        Complex32, Complex32x2, F32x4, F64x2, GpuFloat, U32x4, U64x2, atomic, cluster, float,
        kernel, mem, phase, reduce, shared, shared_array, thread, warp,
    };
}
