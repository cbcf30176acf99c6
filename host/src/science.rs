//! The list of the sciences that this build contains.
//!
//! A science describes itself in `<science>/science.rs`. Besides this list, the self-test has its
//! cases (`selftest::kernel_cases`, `selftest::engines`), and the command line its command
//! (`cli::science_commands`); `docs/adding-a-science.md` shows how a science is added.

pub use warpstride_core::kernels::Science;
use warpstride_device::launch::KernelInfo;

/// The sciences of this build, in the order of the self-test.
#[must_use]
pub fn all() -> Vec<&'static Science> {
    vec![
        #[cfg(feature = "jacobi")]
        &crate::jacobi::SCIENCE,
        #[cfg(feature = "mri")]
        &crate::mri::SCIENCE,
        #[cfg(feature = "sas")]
        &crate::sas::SCIENCE,
        #[cfg(feature = "series")]
        &crate::series::SCIENCE,
        #[cfg(feature = "ptycho")]
        &crate::ptycho::SCIENCE,
    ]
}

/// The kernels of all sciences of this build, in the order of the self-test.
pub fn registry() -> impl Iterator<Item = &'static KernelInfo> {
    all().into_iter().flat_map(|science| (science.kernels)())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The sciences to which a kernel belongs by its name.
    fn owners(entry: &str) -> Vec<&'static str> {
        let sciences = all().into_iter();
        let own = sciences.filter(|science| entry.starts_with(science.kernel_prefix));
        own.map(|science| science.name).collect()
    }

    #[test]
    fn names_and_prefixes_are_unique() {
        let all = all();
        let names: HashSet<_> = all.iter().map(|science| science.name).collect();
        let prefixes: HashSet<_> = all.iter().map(|science| science.kernel_prefix).collect();
        assert_eq!((names.len(), prefixes.len()), (all.len(), all.len()));
    }

    #[test]
    fn every_kernel_belongs_to_one_science_by_its_prefix() {
        for science in all() {
            let kernels = (science.kernels)();
            assert!(!kernels.is_empty(), "{}", science.name);
            for kernel in kernels {
                assert_eq!(owners(kernel.entry), [science.name], "{}", kernel.entry);
            }
        }
    }

    /// The workspace builds `warpstride-kernels` with the features of this crate or with more.
    #[test]
    fn every_kernel_of_an_enabled_science_is_listed() {
        let listed: HashSet<_> = registry().map(|kernel| kernel.entry).collect();
        for kernel in warpstride_kernels::registry() {
            let known = listed.contains(kernel.entry);
            assert_eq!(known, !owners(kernel.entry).is_empty(), "{}", kernel.entry);
        }
    }

    #[test]
    fn every_kernel_is_compiled() {
        for science in all() {
            let compiled = science.unpacked();
            for kernel in (science.kernels)() {
                assert!(compiled.names().contains(kernel.entry), "{}", kernel.entry);
            }
        }
    }
}
