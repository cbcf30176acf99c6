//! Arguments of `warpstride demo`.

use clap::Args;
use std::path::PathBuf;

/// Arguments of the demo.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The folder for data, results, pictures and reports; created if it does not exist
    #[arg(short, long, value_name = "FOLDER", default_value = "demo-output")]
    pub(crate) output: PathBuf,
}
