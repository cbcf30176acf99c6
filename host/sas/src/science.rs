//! What the program knows of small-angle scattering.

use warpstride_core::kernels::Science;

/// The science of [`crate`].
pub static SCIENCE: Science = Science {
    name: "sas",
    description: "Small-angle scattering: compute intensities of models and fit them to data",
    kernel_prefix: "sas_",
    kernels: warpstride_kernels::sas::registry,
    ptx: warpstride_ptx::SAS,
};
