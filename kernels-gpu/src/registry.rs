//! The list of all kernels: the lists of the enabled sciences, one after the other.

use warpstride_device::launch::{Emulated, KernelInfo, Launch};

/// The entry of a kernel's list for the launch type `L`.
pub(crate) const fn info<L: Launch<Emulated>>() -> KernelInfo {
    L::INFO
}

/// The number of kernels in `lists`.
pub(crate) const fn count(lists: &[&[KernelInfo]]) -> usize {
    let (mut total, mut list) = (0, 0);
    while list < lists.len() {
        total += lists[list].len();
        list += 1;
    }
    total
}

/// The kernels of `lists` as one array; `COUNT` is their [`count`].
pub(crate) const fn concatenate<const COUNT: usize>(
    lists: &[&[KernelInfo]],
) -> [KernelInfo; COUNT] {
    const EMPTY: KernelInfo = KernelInfo {
        entry: "",
        block: [1; 3],
        exact_block: false,
        min_blocks: 0,
        hot: false,
        f64_allowed: false,
        min_arch: 80,
        cluster: 1,
    };
    let mut all = [EMPTY; COUNT];
    let (mut written, mut list) = (0, 0);
    while list < lists.len() {
        let mut kernel = 0;
        while kernel < lists[list].len() {
            all[written] = lists[list][kernel];
            written += 1;
            kernel += 1;
        }
        list += 1;
    }
    all
}

const SCIENCES: &[&[KernelInfo]] = &[
    #[cfg(all(feature = "fft", not(test)))]
    crate::fft::registry::KERNELS,
    #[cfg(all(feature = "jacobi", not(test)))]
    crate::jacobi::registry::KERNELS,
    #[cfg(all(feature = "mri", not(test)))]
    crate::mri::registry::KERNELS,
    #[cfg(all(feature = "ptycho", not(test)))]
    crate::ptycho::registry::KERNELS,
    #[cfg(all(feature = "sas", not(test)))]
    crate::sas::registry::KERNELS,
    #[cfg(feature = "series")]
    crate::series::registry::KERNELS,
];

/// Every kernel of the enabled sciences, science by science in alphabetical order.
/// `tests/registry.rs` compares the list with the built PTX.
#[must_use]
pub fn registry() -> &'static [KernelInfo] {
    static ALL: [KernelInfo; count(SCIENCES)] = concatenate(SCIENCES);
    &ALL
}
