//! What the program knows of magnetic resonance imaging.

use warpstride_core::kernels::Science;

/// The science of [`crate`].
pub static SCIENCE: Science = Science {
    name: "mri",
    description: "Magnetic resonance imaging: reconstruct images from non-Cartesian samples of k-space",
    kernel_prefix: "mri_",
    kernels: warpstride_kernels::mri::registry,
    ptx: warpstride_ptx::MRI,
};
