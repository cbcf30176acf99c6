//! The registration of small-angle scattering.

#[cfg(feature = "cli")]
use crate::cli::args::SasCommand;
#[cfg(feature = "cli")]
use crate::cli::sas::{demo, run};
#[cfg(feature = "cli")]
use crate::cli::{ScienceCommand, parsed, with_subcommands};
use crate::cuda::Kernels;
use crate::gpu::{Device, GpuError};
use crate::kernels::unpacked;
use crate::science::Science;
use crate::selftest::{self, Bench, Size};
use warpstride_device::launch::KernelInfo;

/// The science of [`crate::sas`].
pub(crate) struct Sas;

impl Science for Sas {
    const NAME: &'static str = "sas";
    const DESCRIPTION: &'static str =
        "Small-angle scattering: compute intensities of models and fit them to data";
    const KERNEL_PREFIX: &'static str = "sas_";

    fn kernels() -> Kernels {
        unpacked(warpstride_ptx::SAS)
    }

    fn registry() -> &'static [KernelInfo] {
        warpstride_kernels::sas::registry()
    }

    fn kernel_cases<D: Device>(bench: &mut Bench<'_, D>, size: Size) -> Result<(), GpuError> {
        selftest::sas::cases(bench, size)
    }

    #[cfg(feature = "cli")]
    fn command() -> Option<ScienceCommand> {
        Some(ScienceCommand {
            definition: with_subcommands::<SasCommand>(Self::NAME),
            run: |options| run(parsed(options)?),
            demo,
        })
    }
}
