//! The table of options: names, kinds and help, nothing of what they mean.

mod ptycho;
mod selftest;

pub(crate) use ptycho::{
    BackendWord, CompareTyped, InfoTyped, PatternWord, PrecisionWord, PtychoCommand,
    ReconstructTyped, SimulateTyped,
};
pub(crate) use selftest::{SelftestTyped, SelftestWord};

use clap::{Parser, Subcommand};

/// What was typed.
#[derive(Debug, Parser)]
#[command(
    name = "warpstride",
    version,
    about = "Images from diffraction data, on the CPU and on NVIDIA GPUs",
    after_help = "\
Examples:
  warpstride ptycho simulate scan.cxi
  warpstride ptycho info scan.cxi
  warpstride ptycho reconstruct scan.cxi -o result.h5 --report result.html
  warpstride ptycho compare result.h5 scan.cxi
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
