//! `warpstride selftest`, as typed.

use super::KernelMachineTyped;
use clap::Args;

/// The self-test.
#[derive(Debug, Args)]
pub(crate) struct SelftestTyped {
    #[command(flatten)]
    pub(crate) machine: KernelMachineTyped,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Progress as JSON lines on standard output, one for each case, and no other text there
    #[arg(long, conflicts_with = "json")]
    pub(crate) json_progress: bool,
}
