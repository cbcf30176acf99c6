//! The kernels, type-checked against the published `cuda_std` 0.2.2 on the host target:
//! `cargo check --manifest-path kernels-gpu/dialect-check/Cargo.toml`.
//!
//! This crate replaces `warpstride_device` for the kernels' sources. Every name that `cuda_std` has
//! comes from `cuda_std`: a kernel that calls one with another signature does not compile here.
//!
//! The check covers indices and dimensions, barriers, `sync_warp` and `lane_id`, `shared_array!` and
//! `dynamic_shared_mem`. It does not cover what `cuda_std` 0.2.2 lacks (strides, warp exchanges,
//! reductions, clusters, float atomics without a result, aligned complex numbers, phases, read-only loads),
//! which comes from `warpstride-device`. `GpuFloat` is ours, since `cuda_std`'s has no
//! `round_ties_even` (the functions that both have are compared by type below), and so is `#[kernel]`,
//! since `cuda_std`'s has no extents. Nothing is compiled for the device, where `cuda_std`
//! needs `rustc_codegen_nvvm`.

extern crate self as warpstride_device;

pub use cuda_std::shared_array;
pub use own_device::{
    Complex32, Complex32x2, F32x4, F64x2, GpuFloat, atomic, cluster, float, kernel, launch, mem,
    phase, reduce,
};

/// `cuda_std`'s, and the strides.
pub mod thread {
    pub use cuda_std::thread::{
        block_dim, block_dim_x, block_dim_y, block_dim_z, block_idx, block_idx_x, block_idx_y,
        block_idx_z, device_fence, first, grid_dim, grid_dim_x, grid_dim_y, grid_dim_z, index_1d,
        index_2d, index_3d, sync_threads, sync_threads_and, sync_threads_count, sync_threads_or,
        thread_idx, thread_idx_x, thread_idx_y, thread_idx_z, warp_size,
    };
    pub use own_device::thread::{
        block_stride, block_threads, cluster_stride, every, grid_stride, hidden, index_in_block, pause,
        recomputed, thread_stride, warp_stride,
    };
}

/// `cuda_std`'s, the exchanges and the largest value of a warp.
pub mod warp {
    pub use cuda_std::warp::{lane_id, sync_warp};
    pub use own_device::warp::{
        FULL, SIZE, all, any, ballot, lanes, max_u32, shuffle_down, shuffle_idx, shuffle_up,
        shuffle_xor, warp_id,
    };
}

/// `cuda_std`'s.
pub mod shared {
    pub use cuda_std::shared::dynamic_shared_mem;
}

/// As `warpstride_device::prelude`.
pub mod prelude {
    pub use crate::{
        Complex32, Complex32x2, F32x4, F64x2, GpuFloat, atomic, cluster, float, kernel, mem, phase,
        reduce, shared, shared_array, thread, warp,
    };
}

/// Calls of the parts of `cuda_std` that kernels may use, so that their signatures are checked even if
/// no kernel uses them yet.
mod vocabulary {
    use crate::prelude::*;

    type Unary = fn(f32) -> f32;
    type Ternary = fn(f32, f32, f32) -> f32;

    /// The functions that both traits have, with one type each.
    #[allow(dead_code, reason = "only type-checked")]
    const UNARY: [[Unary; 2]; 3] = [
        [<f32 as GpuFloat>::sqrt, <f32 as cuda_std::GpuFloat>::sqrt],
        [<f32 as GpuFloat>::floor, <f32 as cuda_std::GpuFloat>::floor],
        [<f32 as GpuFloat>::ceil, <f32 as cuda_std::GpuFloat>::ceil],
    ];

    #[allow(dead_code, reason = "only type-checked")]
    const TERNARY: [Ternary; 2] = [
        <f32 as GpuFloat>::mul_add,
        <f32 as cuda_std::GpuFloat>::mul_add,
    ];

    /// # Safety
    /// Never called: `cuda_std` has no body for it on the host.
    #[allow(dead_code, reason = "only type-checked")]
    unsafe fn calls() {
        let block: *mut f32 = shared_array![f32; 64];
        let dynamic: *mut u32 = shared::dynamic_shared_mem::<u32>();
        let at: u32 = thread::index_1d() + thread::index_2d().y + thread::thread_idx().x;
        let all: u32 = thread::sync_threads_count(1) + thread::sync_threads_and(1);
        thread::sync_threads();
        // SAFETY: never run.
        unsafe {
            warp::sync_warp(warp::FULL);
            *block.add(at as usize) = thread::warp_size() as f32;
            *dynamic = all + warp::lane_id();
        }
    }
}

/// `warpstride_kernels::info`, for the list of kernels.
pub(crate) const fn info<L: launch::Launch<launch::Emulated>>() -> launch::KernelInfo {
    L::INFO
}

#[path = "../../src/fft/mod.rs"]
#[allow(
    unsafe_op_in_unsafe_fn,
    reason = "a kernel's contract covers its whole body"
)]
pub mod fft;
#[path = "../../src/ptycho/mod.rs"]
#[allow(
    unsafe_op_in_unsafe_fn,
    reason = "a kernel's contract covers its whole body"
)]
pub mod ptycho;
