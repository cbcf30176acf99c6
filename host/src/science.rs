//! The registration of the sciences: one trait, and one list that the rest of the program iterates.
//!
//! A science implements `Science` in `<science>/science.rs` and has one line in
//! `for_each_science`. The self-test, the command line and the demo go through that list;
//! `docs/adding-a-science.md` shows how a science is added.

#[cfg(feature = "cli")]
use crate::cli::ScienceCommand;
use crate::cuda::Kernels;
use crate::gpu::{Device, GpuError};
use crate::selftest::{Bench, CaseCallback, CaseResult, SelftestError, Size};
use warpstride_device::launch::KernelInfo;

/// What the program knows of a science.
pub(crate) trait Science {
    /// Name of the science: of its Cargo feature, its module and its command.
    const NAME: &'static str;

    /// The science in one line, as in `warpstride --help`.
    const DESCRIPTION: &'static str;

    /// What the names of its kernels, and of no other science's, begin with.
    const KERNEL_PREFIX: &'static str;

    /// Position of its command in `warpstride --help` and in the demo, from 0. Sciences with the
    /// same position stand in the order of the list.
    const HELP_POSITION: usize = 1;

    /// Its compiled kernels.
    fn kernels() -> Kernels;

    /// Its kernels as the host launches them.
    fn registry() -> &'static [KernelInfo];

    /// Tests each of its kernels against its definition.
    fn kernel_cases<D: Device>(bench: &mut Bench<'_, D>, size: Size) -> Result<(), GpuError>;

    /// Tests its engines on `device` against those on the CPU; calls `on_case` with each case.
    fn engine_cases<D: Device>(
        _device: &D,
        _size: Size,
        _on_case: CaseCallback<'_>,
    ) -> Result<Vec<CaseResult>, SelftestError> {
        Ok(Vec::new())
    }

    /// Its command and its part of the demo, unless this build lacks what they need.
    #[cfg(feature = "cli")]
    fn command() -> Option<ScienceCommand>;
}

/// Evaluates an expression once per science of this build: in `for_each_science!(|S| …)`, `S` is the
/// type that implements [`Science`].
macro_rules! for_each_science {
    (|$science:ident| $action:expr) => {
        $crate::science::for_each_science! { @expand |$science| $action;
            "jacobi" => $crate::jacobi::science::Jacobi,
            "mri" => $crate::mri::science::Mri,
            "sas" => $crate::sas::science::Sas,
            "series" => $crate::series::science::Series,
            "ptycho" => $crate::ptycho::science::Ptycho,
        }
    };
    (@expand |$science:ident| $action:expr; $($feature:literal => $implementation:path,)*) => {
        $(
            #[cfg(feature = $feature)]
            {
                type $science = $implementation;
                $action;
            }
        )*
    };
}
pub(crate) use for_each_science;

/// A science of this build.
#[derive(Debug, Clone, Copy)]
pub struct ScienceInfo {
    /// Name of the science: of its Cargo feature, its module and its command.
    pub name: &'static str,
    /// The science in one line.
    pub description: &'static str,
    /// What the names of its kernels, and of no other science's, begin with.
    pub kernel_prefix: &'static str,
    /// Its kernels.
    pub kernels: &'static [KernelInfo],
}

/// The sciences of this build, in the order of the self-test.
#[must_use]
pub fn all() -> Vec<ScienceInfo> {
    let mut sciences = Vec::new();
    for_each_science!(|S| sciences.push(ScienceInfo {
        name: S::NAME,
        description: S::DESCRIPTION,
        kernel_prefix: S::KERNEL_PREFIX,
        kernels: S::registry(),
    }));
    sciences
}

/// The kernels of all sciences of this build, in the order of the self-test.
pub fn registry() -> impl Iterator<Item = &'static KernelInfo> {
    all().into_iter().flat_map(|science| science.kernels)
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
            assert!(!science.kernels.is_empty(), "{}", science.name);
            for kernel in science.kernels {
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
        for_each_science!(|S| {
            let kernels = S::kernels();
            for kernel in S::registry() {
                assert!(kernels.names().contains(kernel.entry), "{}", kernel.entry);
            }
        });
    }
}
