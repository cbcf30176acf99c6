//! What the program knows of ptychography.

use warpstride_core::kernels::Science;

/// The science of [`crate`].
pub static SCIENCE: Science = Science {
    name: "ptycho",
    description: "Ptychography: reconstruct a specimen from overlapping diffraction patterns",
    kernel_prefix: "ptycho_",
    kernels: warpstride_kernels::ptycho::registry,
    ptx: warpstride_ptx::PTYCHO,
};
