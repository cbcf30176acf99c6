//! The options of `warpstride mri`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum MriCommand {
    /// Say what a file holds, what is left out of it, and how much memory each operator needs
    #[command(after_help = "\
Examples:
  warpstride mri info raw.h5
  warpstride mri info raw.h5 --json
  warpstride mri info raw.h5 --group dataset_2 --select slice=3,repetition=0")]
    Info(MriInfoTyped),
}

#[derive(Debug, Args)]
pub(crate) struct MriInfoTyped {
    /// The samples (ISMRMRD)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The group of the file with data and xml
    #[arg(long, value_name = "NAME", default_value = "dataset")]
    pub(crate) group: String,
    /// Which image, where there are several: slice=2,repetition=all [default: the first]
    #[arg(long, value_name = "COUNTER=N,…")]
    pub(crate) select: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
