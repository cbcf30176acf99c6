//! The table of options: names, kinds and help, nothing of what they mean.

mod jacobi;
mod machine;
mod mri;
mod ptycho;
mod sas;
mod selftest;
mod series;
mod series_store;

pub(crate) use jacobi::{BoundaryWord, JacobiTyped, SchemeWord};
pub(crate) use machine::{BackendWord, KernelBackendWord, KernelMachineTyped, MachineTyped};
pub(crate) use mri::{
    DensityWord, MethodWord, MriCommand, MriInfoTyped, MriLadderTyped, MriReconstructTyped,
    MriSimulateTyped, OperatorWord, TrajectoryWord, TrigWord,
};
pub(crate) use ptycho::{
    CompareTyped, InfoTyped, PatternWord, PrecisionWord, PtychoCommand, ReconstructTyped,
    SimulateTyped,
};
pub(crate) use sas::{
    FitMethodWord, QUnitWord, SasCommand, SasEvaluateTyped, SasFitTyped, SasInfoTyped,
    SasModelTyped, SasModelsTyped, SmearOnWord,
};
pub(crate) use selftest::SelftestTyped;
pub(crate) use series::{
    NanWord, OnErrorWord, PointsTyped, ResampleTyped, SeriesCommand, SeriesLadderTyped,
    TimeUnitWord, TimestampsWord,
};
pub(crate) use series_store::{IngestTyped, SeriesInfoTyped, SeriesQueryTyped};

use clap::{Parser, Subcommand};

/// What was typed.
#[derive(Debug, Parser)]
#[command(
    name = "warpstride",
    version,
    about = "Images from diffraction data and from magnetic resonance, small-angle scattering, relaxation on grids, and time series, on the CPU and on NVIDIA GPUs",
    after_help = "\
Examples:
  warpstride ptycho simulate scan.cxi
  warpstride ptycho info scan.cxi
  warpstride ptycho reconstruct scan.cxi -o result.h5 --report result.html
  warpstride ptycho compare result.h5 scan.cxi
  warpstride mri simulate phantom.h5 --trajectory golden --spokes 55
  warpstride mri reconstruct phantom.h5 -o image.h5 --png image.png
  warpstride sas evaluate cylinder --set radius=30 --pd radius=0.1 --plot curve.png
  warpstride sas fit sphere data.txt --fit radius=20:100 --fit scale --report fit.html
  warpstride jacobi --devices all --plot field.png
  warpstride series resample cpu.csv -o hours.csv --granularity 1h --aggregate mean,max,95pct
  warpstride devices
  warpstride selftest

Exit codes: 0, 1 bad input or a failure, 2 wrong usage, 130 stopped by Ctrl-C."
)]
pub(crate) struct Typed {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The sciences and the tools.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ptychography: a specimen from overlapping diffraction patterns
    #[command(after_help = "\
Examples:
  warpstride ptycho simulate scan.cxi --frame 64 --positions 40
  warpstride ptycho reconstruct scan.cxi -o result.h5
  warpstride ptycho compare result.h5 scan.cxi")]
    Ptycho {
        #[command(subcommand)]
        command: Box<PtychoCommand>,
    },
    /// Relax Laplace's or Poisson's equation on a grid, over several GPUs
    #[command(after_help = "\
Examples:
  warpstride jacobi --nx 2048 --ny 2048 -o field.npy --plot field.png
  warpstride jacobi --devices all --check-every 100 --efficiency
  warpstride jacobi --devices 0,1 --scheme events --profile timeline.json
  warpstride jacobi --boundary dirichlet --restart start.npy --source f.npy -o solution.npy
  warpstride jacobi --restart field.npy -o further.npy --iterations 5000 --json
  warpstride jacobi --nx 40 --ny 30 --backend emulator --devices 0,1,2 --scheme overlap

A sweep computes new = (E + W + N + S + f) / 4 in rows 1 to ny-2 and columns 1 to nx-2; the norm
is the square root of the sum of (new - old)^2 over them. Naming devices, a scheme, --p2p, --no-p2p,
--profile or --efficiency means --backend cuda, unless the emulator is named. Ctrl-C saves the field
to -o, and --restart goes on bit for bit.")]
    Jacobi(Box<JacobiTyped>),
    /// Magnetic resonance: an image from samples of k-space that lie on no grid
    #[command(after_help = "\
Examples:
  warpstride mri simulate phantom.h5 --trajectory golden --spokes 55 --noise 30
  warpstride mri info phantom.h5
  warpstride mri reconstruct phantom.h5 -o image.h5 --png image.png --reference phantom.h5")]
    Mri {
        #[command(subcommand)]
        command: Box<MriCommand>,
    },
    /// Small-angle scattering: intensities of models, and fits of them to data
    #[command(after_help = "\
Examples:
  warpstride sas models
  warpstride sas evaluate sphere --set radius=60 --pd radius=0.1 --plot curve.png
  warpstride sas info data.txt
  warpstride sas fit sphere data.txt --fit radius=20:100 --fit scale --report fit.html")]
    Sas {
        #[command(subcommand)]
        command: Box<SasCommand>,
    },
    /// Time series: aggregates of time buckets, for many series, granularities and statistics at once
    #[command(after_help = "\
Examples:
  warpstride series resample cpu.csv -o minutes.csv
  warpstride series resample *.csv.gz -o out.parquet --granularity 5m,1h,1d --aggregate all
  warpstride series ingest metrics.store cpu.csv --policy medium
  warpstride series query metrics.store --series cpu --granularity 1h --aggregate mean
  warpstride series ladder")]
    Series {
        #[command(subcommand)]
        command: Box<SeriesCommand>,
    },
    /// List the GPUs that can be used, or say why there are none
    #[command(after_help = "\
Examples:
  warpstride devices
  warpstride devices --json")]
    Devices {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare every kernel and engine of a GPU, or of the emulator, with the CPU
    #[command(after_help = "\
Examples:
  warpstride selftest
  warpstride selftest --backend emulator --json

Exit codes: 0 everything agrees, 1 something does not or there is no such GPU.")]
    Selftest(SelftestTyped),
}
