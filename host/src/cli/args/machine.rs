//! Where to compute: the options that several commands have alike.
//!
//! `ptycho reconstruct`, whose back end may come from a checkpoint, and `jacobi`, which takes several devices, have
//! their own.

use clap::{Args, ValueEnum};

/// One machine for a whole calculation.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct MachineTyped {
    /// Where to compute
    #[arg(long, value_enum, default_value_t = BackendWord::Auto, help_heading = "Where to compute")]
    pub(crate) backend: BackendWord,
    /// Number of the GPU [default: 0]
    #[arg(long, value_name = "N", help_heading = "Where to compute")]
    pub(crate) device: Option<usize>,
    /// Threads of the CPU [default: all]
    #[arg(long, value_name = "N", help_heading = "Where to compute")]
    pub(crate) threads: Option<usize>,
}

/// A GPU, or what stands for one: for commands that run kernels to look at them.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct KernelMachineTyped {
    /// Where to run the kernels [default: auto; cuda where --device is given]
    #[arg(long, value_enum)]
    pub(crate) backend: Option<KernelBackendWord>,
    /// Number of the GPU [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendWord {
    /// The GPU where there is one, else the CPU; says which and why
    Auto,
    /// All cores
    Cpu,
    /// An NVIDIA GPU, or an error
    Cuda,
    /// The GPU's kernels, run on the CPU (slow; for tests)
    Emulator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KernelBackendWord {
    /// The GPU where there is one, else the emulator; says so
    Auto,
    /// An NVIDIA GPU, or an error
    Cuda,
    /// The emulator on the CPU, at small sizes
    Emulator,
}
