//! How a scan is read, for the commands that read one.

use super::{BeamArgs, LinkArgs, NearFieldArgs, PositionArgs, PrepareArgs};
use clap::Args;

/// What a scan is beyond its file: the table `[data]` of a recipe.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ScanArgs {
    /// Transform the positions of the file: swap, flip-rows, flip-columns, rotate=30deg,
    /// affine=[a,b,c,d], separated by commas, applied in this order; none: as in the file
    #[arg(long, value_name = "LIST")]
    pub(crate) transform_positions: Option<String>,
    #[command(flatten)]
    pub(crate) beam: BeamArgs,
    #[command(flatten)]
    pub(crate) links: LinkArgs,
    #[command(flatten)]
    pub(crate) positions: PositionArgs,
    #[command(flatten)]
    pub(crate) near_field: NearFieldArgs,
    #[command(flatten)]
    pub(crate) prepare: PrepareArgs,
}
