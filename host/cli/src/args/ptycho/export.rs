//! The arguments of `warpstride ptycho export`.

use clap::Args;
use std::path::PathBuf;

/// Parts of a result, each in a file of its own.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Result of a reconstruction
    #[arg(value_name = "RESULT.h5")]
    pub(crate) result: PathBuf,
    /// Complex object: an image, or a stack of modes or slices
    #[arg(long, value_name = "FILE.tif|FILE.npy")]
    pub(crate) object: Option<PathBuf>,
    /// Its modulus
    #[arg(long, value_name = "FILE.tif|FILE.npy")]
    pub(crate) modulus: Option<PathBuf>,
    /// Its phase in radians
    #[arg(long, value_name = "FILE.tif|FILE.npy")]
    pub(crate) phase: Option<PathBuf>,
    /// Complex probe: a stack of modes
    #[arg(long, value_name = "FILE.tif|FILE.npy")]
    pub(crate) probe: Option<PathBuf>,
    /// Positions in metres, recorded ones too, and factors on the frames' intensities
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) positions: Option<PathBuf>,
    /// Print errors only
    #[arg(long)]
    pub(crate) quiet: bool,
}
