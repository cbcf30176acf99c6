//! `warpstride selftest`, as typed.

use clap::{Args, ValueEnum};

/// The self-test.
#[derive(Debug, Args)]
pub(crate) struct SelftestTyped {
    /// Where to run the kernels [default: auto; cuda where --device is given]
    #[arg(long, value_enum)]
    pub(crate) backend: Option<SelftestWord>,
    /// Number of the GPU [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<usize>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelftestWord {
    /// The GPU where there is one, else the emulator; says so
    Auto,
    /// An NVIDIA GPU, or an error
    Cuda,
    /// The emulator on the CPU, at small sizes
    Emulator,
}
