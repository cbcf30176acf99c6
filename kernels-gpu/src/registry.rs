//! The list of all kernels.

#![cfg(not(target_arch = "nvptx64"))]

use warpstride_device::launch::{Emulated, KernelInfo, Launch};

use crate::ptycho;

const fn info<L: Launch<Emulated>>() -> KernelInfo {
    L::INFO
}

/// Every kernel of the crate, in the order of the source tree. `tests/registry.rs` compares it with
/// the sources.
#[must_use]
pub fn registry() -> &'static [KernelInfo] {
    const KERNELS: &[KernelInfo] = &[info::<
        ptycho::exit_wave_build::ExitWaveBuild<'static, Emulated>,
    >()];
    KERNELS
}
