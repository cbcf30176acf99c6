//! The subcommands of `warpstride series`.

mod backend;
mod demo;
mod ladder;
mod local_buckets;
mod plan;
mod points;
mod progress;
mod resample;
mod rows;
#[cfg(feature = "store")]
mod store;
mod summary;

pub(crate) use demo::demo;

use super::Failure;
use super::args::SeriesCommand;
use ladder::Ladder;
use resample::Resampling;

/// Runs the command.
pub(crate) fn run(command: SeriesCommand) -> Result<(), Failure> {
    match command {
        SeriesCommand::Resample(args) => Resampling::from_args(&args)?.run(),
        SeriesCommand::Ladder(args) => Ladder::from_args(args)?.run(),
        #[cfg(feature = "store")]
        SeriesCommand::Ingest(args) => store::Ingest::from_args(&args)?.run(),
        #[cfg(feature = "store")]
        SeriesCommand::Query(args) => store::StoreQuery::from_args(*args)?.run(),
        #[cfg(feature = "store")]
        SeriesCommand::Info(args) => store::info(&args),
    }
}
