//! A kernel for tests of the CUDA layer with its typed launch, and helpers for similar kernels.

use std::ffi::c_void;

use warpstride_cuda::cuda::Kernels;
use warpstride_device::launch::{Cuda, ExtentError, KernelInfo, Launch, Write};

/// The kernels of `test.ptx`.
pub(crate) fn kernels() -> Kernels {
    Kernels::new(80, include_str!("test.ptx"))
}

/// `data[i] *= factor`
pub(crate) struct Scale<'a> {
    pub(crate) data: Write<'a, Cuda, f32>,
    pub(crate) count: u32,
    pub(crate) factor: f32,
}

/// The properties of a kernel with a one-dimensional block.
pub(crate) const fn info(entry: &'static str, threads: u32) -> KernelInfo {
    KernelInfo {
        entry,
        block: [threads, 1, 1],
        exact_block: false,
        min_blocks: 0,
        hot: false,
        f64_allowed: false,
        min_arch: 80,
        cluster: 1,
    }
}

/// # Errors
/// `data` has fewer elements than the launch needs.
pub(crate) fn fits(kernel: &'static str, needed: u32, found: usize) -> Result<(), ExtentError> {
    if needed as usize <= found {
        return Ok(());
    }
    Err(ExtentError {
        kernel,
        argument: "data",
        needed: needed as usize,
        found,
    })
}

// SAFETY: `check` compares every extent; the parameters are those of the PTX entry, in its order.
unsafe impl Launch<Cuda> for Scale<'_> {
    const INFO: KernelInfo = info("scale", 256);

    fn check(&self) -> Result<(), ExtentError> {
        fits("scale", self.count, self.data.len())
    }

    fn with_params<R>(&self, launch: impl FnOnce(&mut [*mut c_void]) -> R) -> R {
        let (mut data, mut count, mut factor) = (self.data.as_ptr(), self.count, self.factor);
        launch(&mut [
            (&raw mut data).cast(),
            (&raw mut count).cast(),
            (&raw mut factor).cast(),
        ])
    }

    fn dynamic_shared_bytes(&self, _: u32) -> usize {
        0
    }

    unsafe fn run_thread(&self) {}
}
