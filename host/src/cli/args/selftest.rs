//! Arguments of `warpstride selftest`.

use super::KernelBackendArgs;
use clap::Args;

/// Arguments of the self-test.
#[derive(Debug, Args)]
pub(crate) struct SelftestArgs {
    #[command(flatten)]
    pub(crate) backend: KernelBackendArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print progress as JSON lines to standard output, one per case, and no other text
    #[arg(long, conflicts_with = "json")]
    pub(crate) json_progress: bool,
}
