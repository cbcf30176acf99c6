//! Definitions of all options with their help. The commands check and interpret the values.

#[cfg(all(feature = "ptycho", feature = "hdf5"))]
mod at_least_one;
mod backend;
mod demo;
#[cfg(feature = "jacobi")]
mod jacobi;
#[cfg(all(feature = "mri", feature = "hdf5"))]
mod mri;
mod precision;
#[cfg(all(feature = "ptycho", feature = "hdf5"))]
mod ptycho;
#[cfg(feature = "sas")]
mod sas;
mod selftest;
#[cfg(feature = "series")]
mod series;
#[cfg(feature = "store")]
mod series_store;

pub(crate) use backend::{
    BackendArg, BackendArgs, DevicesArgs, KernelBackendArg, KernelBackendArgs,
};
pub(crate) use demo::DemoArgs;
#[cfg(feature = "jacobi")]
pub(crate) use jacobi::{BoundaryArg, JacobiArgs, SchemeArg};
#[cfg(all(feature = "mri", feature = "hdf5"))]
pub(crate) use mri::{
    DensityArg, MethodArg, MriCommand, MriInfoArgs, MriLadderArgs, MriReconstructArgs,
    MriSimulateArgs, NiftiArg, OperatorArg, TrajectoryArg, TrigArg,
};
pub(crate) use precision::PrecisionArg;
#[cfg(all(feature = "ptycho", feature = "hdf5"))]
pub(crate) use ptycho::{
    BeamArgs, CompareArgs, DetectorArgs, ExportArgs, FileOrderArg, ImportArgs, InfoArgs, LayerArgs,
    NearFieldArgs, OpticsArgs, PairArg, PatternArg, PositionArgs, PositionMethodArg, PredictArgs,
    PrepareArgs, PtychoCommand, RecipeArgs, ReconstructArgs, ResolutionArgs, ScanArgs,
    SimulateArgs, SliceArgs, StopArg,
};
#[cfg(feature = "sas")]
pub(crate) use sas::{
    FitMethodArg, QUnitArg, SasCommand, SasEvaluateArgs, SasFitArgs, SasInfoArgs, SasModelArgs,
    SasModelsArgs, SmearOnArg,
};
pub(crate) use selftest::SelftestArgs;
#[cfg(feature = "series")]
pub(crate) use series::{
    AmbiguousArg, DuplicatesArg, NanArg, OnErrorArg, PointsArgs, ResampleArgs, SeriesCommand,
    SeriesLadderArgs, TimeUnitArg, TimestampsArg,
};
#[cfg(feature = "store")]
pub(crate) use series_store::{IngestArgs, SeriesInfoArgs, SeriesQueryArgs};

use clap::Subcommand;

/// What the program computes, for `--help`.
pub(crate) const ABOUT: &str = "Ptychography, magnetic resonance imaging, small-angle scattering, relaxation on grids, and time series, on the CPU and on NVIDIA GPUs";

/// What follows the options in `--help`. Examples of commands that this build lacks are left out.
pub(crate) const AFTER_HELP: &str = "\
Examples:
  warpstride ptycho simulate scan.cxi
  warpstride ptycho info scan.cxi
  warpstride ptycho reconstruct scan.cxi -o result.h5 --report result.html
  warpstride ptycho compare result.h5 scan.cxi
  warpstride mri simulate phantom.h5 --trajectory golden --spokes 55
  warpstride mri reconstruct phantom.h5 -o image.h5 --png image.png
  warpstride sas evaluate cylinder --set radius=30 --pd radius=0.1 \\
      --plot curve.png
  warpstride sas fit sphere data.txt --fit radius=20:100 --fit scale \\
      --report fit.html
  warpstride jacobi --devices all --plot field.png
  warpstride series resample cpu.csv -o hours.csv --granularity 1h \\
      --aggregate mean,max,95pct
  warpstride devices
  warpstride selftest

Exit codes: 0 success, 1 bad input or a failure, 2 wrong usage, 130 stopped by Ctrl-C.";

/// The commands that belong to no science.
#[derive(Debug, Subcommand)]
pub(crate) enum Tool {
    /// List the available GPUs, or the reason why there are none
    #[command(after_help = "\
Examples:
  warpstride devices
  warpstride devices --json")]
    Devices {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare all kernels and engines on a GPU, or in the emulator, with the CPU
    #[command(after_help = "\
Examples:
  warpstride selftest
  warpstride selftest --device 1 --only ptycho
  warpstride selftest --backend emulator --json

Exit codes: 0 all cases agree, 1 a case does not agree or the GPU is not available.")]
    Selftest(SelftestArgs),
    /// Compute an example of every science, with pictures and reports
    #[command(after_help = "\
Examples:
  warpstride demo
  warpstride demo -o somewhere")]
    Demo(DemoArgs),
}
