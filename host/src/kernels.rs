//! The kernels that the crate contains, as PTX.

use crate::cuda::Kernels;
use warpstride_ptx::Packed;

/// The kernels of these texts.
pub(crate) fn unpacked<'p>(texts: impl IntoIterator<Item = &'p Packed>) -> Kernels {
    texts
        .into_iter()
        .map(|packed| Kernels::new(packed.arch, packed.text()))
        .fold(Kernels::default(), Kernels::and)
}
