//! The registration of ptychography.

#[cfg(feature = "cli")]
use crate::cli::ScienceCommand;
#[cfg(all(feature = "cli", feature = "hdf5"))]
use crate::cli::args::PtychoCommand;
#[cfg(all(feature = "cli", feature = "hdf5"))]
use crate::cli::ptycho::{demo, run};
#[cfg(all(feature = "cli", feature = "hdf5"))]
use crate::cli::{parsed, with_subcommands};
use crate::cuda::Kernels;
use crate::gpu::{Device, GpuError};
use crate::kernels::unpacked;
use crate::science::Science;
use crate::selftest::{self, Bench, Size};
use crate::selftest::{CaseCallback, CaseResult, SelftestError};
use warpstride_device::launch::KernelInfo;

/// The science of [`crate::ptycho`].
pub(crate) struct Ptycho;

impl Science for Ptycho {
    const NAME: &'static str = "ptycho";
    const DESCRIPTION: &'static str =
        "Ptychography: reconstruct a specimen from overlapping diffraction patterns";
    const KERNEL_PREFIX: &'static str = "ptycho_";
    const HELP_POSITION: usize = 0;

    fn kernels() -> Kernels {
        unpacked(warpstride_ptx::PTYCHO)
    }

    fn registry() -> &'static [KernelInfo] {
        warpstride_kernels::ptycho::registry()
    }

    fn kernel_cases<D: Device>(bench: &mut Bench<'_, D>, size: Size) -> Result<(), GpuError> {
        selftest::ptycho::cases(bench, size)
    }

    fn engine_cases<D: Device>(
        device: &D,
        size: Size,
        on_case: CaseCallback<'_>,
    ) -> Result<Vec<CaseResult>, SelftestError> {
        selftest::engines::cases(device, size, on_case)
    }

    #[cfg(feature = "cli")]
    fn command() -> Option<ScienceCommand> {
        #[cfg(feature = "hdf5")]
        let command = Some(ScienceCommand {
            definition: with_subcommands::<PtychoCommand>(Self::NAME),
            run: |options| run(parsed(options)?),
            demo,
        });
        // Every file that the command reads or writes is HDF5.
        #[cfg(not(feature = "hdf5"))]
        let command = None;
        command
    }
}
