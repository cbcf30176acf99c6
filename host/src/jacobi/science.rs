//! The registration of Jacobi relaxation.

#[cfg(feature = "cli")]
use crate::cli::args::JacobiArgs;
#[cfg(feature = "cli")]
use crate::cli::jacobi::{Relaxation, demo};
#[cfg(feature = "cli")]
use crate::cli::{ScienceCommand, parsed};
use crate::cuda::Kernels;
use crate::gpu::{Device, GpuError};
use crate::kernels::unpacked;
use crate::science::Science;
use crate::selftest::{self, Bench, Size};
#[cfg(feature = "cli")]
use clap::{Args, Command};
use warpstride_device::launch::KernelInfo;

/// The science of [`crate::jacobi`].
pub(crate) struct Jacobi;

impl Science for Jacobi {
    const NAME: &'static str = "jacobi";
    const DESCRIPTION: &'static str = "Solve Laplace's or Poisson's equation on a grid by Jacobi relaxation, on one or several GPUs";
    const KERNEL_PREFIX: &'static str = "jacobi_";

    fn kernels() -> Kernels {
        unpacked(warpstride_ptx::JACOBI)
    }

    fn registry() -> &'static [KernelInfo] {
        warpstride_kernels::jacobi::registry()
    }

    fn kernel_cases<D: Device>(bench: &mut Bench<'_, D>, size: Size) -> Result<(), GpuError> {
        selftest::jacobi::cases(bench, size)
    }

    #[cfg(feature = "cli")]
    fn command() -> Option<ScienceCommand> {
        let options = Command::new(Self::NAME);
        Some(ScienceCommand {
            definition: JacobiArgs::augment_args(options),
            run: |options| Relaxation::from_args(&parsed(options)?)?.run(),
            demo,
        })
    }
}
