//! The registration of magnetic resonance imaging.

#[cfg(feature = "cli")]
use crate::cli::ScienceCommand;
#[cfg(all(feature = "cli", feature = "hdf5"))]
use crate::cli::args::MriCommand;
#[cfg(all(feature = "cli", feature = "hdf5"))]
use crate::cli::mri::{demo, run};
#[cfg(all(feature = "cli", feature = "hdf5"))]
use crate::cli::{parsed, with_subcommands};
use crate::cuda::Kernels;
use crate::gpu::{Device, GpuError};
use crate::kernels::unpacked;
use crate::science::Science;
use crate::selftest::{self, Bench, Size};
use warpstride_device::launch::KernelInfo;

/// The science of [`crate::mri`].
pub(crate) struct Mri;

impl Science for Mri {
    const NAME: &'static str = "mri";
    const DESCRIPTION: &'static str =
        "Magnetic resonance imaging: reconstruct images from non-Cartesian samples of k-space";
    const KERNEL_PREFIX: &'static str = "mri_";

    fn kernels() -> Kernels {
        unpacked(warpstride_ptx::MRI)
    }

    fn registry() -> &'static [KernelInfo] {
        warpstride_kernels::mri::registry()
    }

    fn kernel_cases<D: Device>(bench: &mut Bench<'_, D>, size: Size) -> Result<(), GpuError> {
        selftest::mri_direct::cases(bench, size)?;
        selftest::mri_methods::cases(bench, size)?;
        selftest::mri_nufft::cases(bench, size)
    }

    #[cfg(feature = "cli")]
    fn command() -> Option<ScienceCommand> {
        #[cfg(feature = "hdf5")]
        let command = Some(ScienceCommand {
            definition: with_subcommands::<MriCommand>(Self::NAME),
            run: |options| run(parsed(options)?),
            demo,
        });
        // Every file that the command reads or writes is HDF5.
        #[cfg(not(feature = "hdf5"))]
        let command = None;
        command
    }
}
