//! What a science tells the program about itself, and its kernels as PTX.

use warpstride_cuda::cuda::Kernels;
use warpstride_device::launch::KernelInfo;
use warpstride_ptx::Packed;

/// What a science tells the program about itself.
#[derive(Debug, Clone, Copy)]
pub struct Science {
    /// Name of the science: of its Cargo feature, its module and its command.
    pub name: &'static str,
    /// The science in one line, as in `warpstride --help`.
    pub description: &'static str,
    /// What the names of its kernels, and of no other science's, begin with.
    pub kernel_prefix: &'static str,
    /// Its kernels as the host launches them.
    pub kernels: fn() -> &'static [KernelInfo],
    /// Its compiled kernels.
    pub ptx: &'static [Packed],
}

impl Science {
    /// Its compiled kernels, as a device loads them.
    #[must_use]
    pub fn unpacked(&self) -> Kernels {
        unpacked(self.ptx)
    }
}

/// The kernels of these texts.
#[must_use]
pub fn unpacked<'p>(texts: impl IntoIterator<Item = &'p Packed>) -> Kernels {
    texts
        .into_iter()
        .map(|packed| Kernels::new(packed.arch, packed.text()))
        .fold(Kernels::default(), Kernels::and)
}
