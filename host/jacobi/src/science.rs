//! What the program knows of Jacobi relaxation.

use warpstride_core::kernels::Science;

/// The science of [`crate`].
pub static SCIENCE: Science = Science {
    name: "jacobi",
    description: "Solve Laplace's or Poisson's equation on a grid by Jacobi relaxation, \
                  on one or several GPUs",
    kernel_prefix: "jacobi_",
    kernels: warpstride_kernels::jacobi::registry,
    ptx: warpstride_ptx::JACOBI,
};
