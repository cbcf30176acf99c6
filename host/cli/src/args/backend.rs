//! Options for the back end that several commands share.
//!
//! `ptycho reconstruct`, whose back end may come from a checkpoint, and `jacobi`, which can use
//! several devices, have their own.

use clap::{Args, ValueEnum};

/// The back end of a calculation on one device.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct BackendArgs {
    /// Where to compute
    #[arg(long, value_enum, default_value_t = BackendArg::Auto, help_heading = "Where to compute")]
    pub(crate) backend: BackendArg,
    /// GPU number [default: 0]
    #[arg(long, value_name = "N", help_heading = "Where to compute")]
    pub(crate) device: Option<usize>,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", help_heading = "Where to compute")]
    pub(crate) threads: Option<usize>,
}

/// The back end of a calculation on one device or several.
#[derive(Debug, Clone, Args)]
pub(crate) struct DevicesArgs {
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    /// GPU numbers (0,2,3), or all [default: one GPU]
    #[arg(
        long,
        value_name = "LIST|all",
        conflicts_with = "device",
        help_heading = "Where to compute"
    )]
    pub(crate) devices: Option<String>,
}

impl From<BackendArgs> for DevicesArgs {
    fn from(backend: BackendArgs) -> Self {
        Self {
            backend,
            devices: None,
        }
    }
}

/// A GPU or the emulator, for commands that test kernels.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct KernelBackendArgs {
    /// Where to run the kernels [default: auto; cuda with --device]
    #[arg(long, value_enum)]
    pub(crate) backend: Option<KernelBackendArg>,
    /// GPU number [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendArg {
    /// GPU if available, otherwise CPU; prints the reason
    Auto,
    /// CPU, all cores
    Cpu,
    /// NVIDIA GPU; an error if there is none
    Cuda,
    /// GPU kernels emulated on the CPU (slow, for tests)
    Emulator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KernelBackendArg {
    /// GPU if available, otherwise the emulator; prints the reason
    Auto,
    /// NVIDIA GPU; an error if there is none
    Cuda,
    /// Emulator on the CPU, with small problem sizes
    Emulator,
}
