//! The registration of time series.

#[cfg(feature = "cli")]
use crate::cli::args::SeriesCommand;
#[cfg(feature = "cli")]
use crate::cli::series::{demo, run};
#[cfg(feature = "cli")]
use crate::cli::{ScienceCommand, parsed, with_subcommands};
use crate::cuda::Kernels;
use crate::gpu::{Device, GpuError};
use crate::kernels::unpacked;
use crate::science::Science;
use crate::selftest::{self, Bench, Size};
use warpstride_device::launch::KernelInfo;

/// The science of [`crate::series`].
pub(crate) struct Series;

impl Science for Series {
    const NAME: &'static str = "series";
    const DESCRIPTION: &'static str =
        "Time series: aggregate many series over time buckets, at several granularities at once";
    const KERNEL_PREFIX: &'static str = "series_";

    fn kernels() -> Kernels {
        unpacked(warpstride_ptx::SERIES)
    }

    fn registry() -> &'static [KernelInfo] {
        warpstride_kernels::series::registry()
    }

    fn kernel_cases<D: Device>(bench: &mut Bench<'_, D>, size: Size) -> Result<(), GpuError> {
        selftest::series::cases(bench, size)
    }

    #[cfg(feature = "cli")]
    fn command() -> Option<ScienceCommand> {
        Some(ScienceCommand {
            definition: with_subcommands::<SeriesCommand>(Self::NAME),
            run: |options| run(parsed(options)?),
            demo,
        })
    }
}
