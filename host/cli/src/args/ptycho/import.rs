//! The options of `warpstride ptycho import`.

use super::ScanArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Scan in any layout that ptycho reconstruct reads
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Scan file to write (CXI)
    #[arg(short, long, value_name = "SCAN.cxi")]
    pub(crate) output: PathBuf,
    /// Recipe (TOML) from which the [data] options are taken
    #[arg(long, value_name = "R.toml")]
    pub(crate) recipe: Option<PathBuf>,
    /// Set one recipe option, such as data.units.positions=um
    #[arg(long, value_name = "OPTION=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) scan: ScanArgs,
    /// Print errors only
    #[arg(long)]
    pub(crate) quiet: bool,
}
