//! Arguments of `warpstride selftest`.

use super::KernelBackendArgs;
use clap::Args;
use clap::builder::PossibleValuesParser;
use warpstride::science;

/// Arguments of the self-test.
#[derive(Debug, Args)]
pub(crate) struct SelftestArgs {
    #[command(flatten)]
    pub(crate) backend: KernelBackendArgs,
    /// Test the kernels and engines of this science only; may be given several times
    #[arg(long, value_name = "SCIENCE", value_parser = sciences())]
    pub(crate) only: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print progress as JSON lines to standard output, one per case, and no other text
    #[arg(long, conflicts_with = "json")]
    pub(crate) json_progress: bool,
}

/// The sciences of this build.
fn sciences() -> PossibleValuesParser {
    PossibleValuesParser::new(science::all().into_iter().map(|science| science.name))
}
